"""The page of a run: its structure, its figures, and that nothing in a run folder can become markup or break it."""

import csv
import itertools
import json
import os
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from zoo.core.errors import ZooError
from zoo.reports import charts, html
from zoo.reports import page as report_page

Tree = dict[str, Any]
TAGS = (
    " html head meta title style body header main footer nav section p h1 h2 h3 ul li a dl dt dd div span strong "
    "code pre table caption thead tbody tr th td data figure figcaption img details summary "
    "svg g line text polyline polygon circle rect "
)
VOID = {"br", "img", "meta"}
HOSTILE = "</title></style><script>alert(1)</script><img src=x onerror=alert(1)>\"' onload='x' \x00\u202e\ud800 & &amp;"


class Page(HTMLParser):
    """A page as a program reads it: tags with their attributes, exact figures, headings, text by tag."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.figures: list[tuple[str, float]] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(attrs) == len(dict(attrs)), "an attribute stands twice"
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open:
            assert not data.strip()
            return
        self.texts.append((self.open[-1], data))
        if self.open[-1] == "data":
            self.figures.append((data, float(self.tags[-1][1]["value"] or "nan")))

    def all(self, name: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.tags if tag == name]

    def text(self, name: str) -> list[str]:
        return [text for tag, text in self.texts if tag == name]

    @property
    def values(self) -> set[float]:
        return {value for _, value in self.figures}


def record() -> Tree:
    """A record such as a training leaves, with figures that are easily found again."""
    return {
        "exit": "completed", "verb": "train", "model": "mnist", "backend": "cpu", "device_kind": "cpu",
        "seconds": 12.125, "started": "2026-11-21T19:15:56+00:00", "finished": "2026-11-21T19:16:08+00:00",
        "zoo_version": "0.1.0", "reasons": ["cpu computes on the processor"], "git_commit": "4" * 40,
        "peak_memory_bytes": 765898752,
        "command": ["python", "-m", "zoo", "train", "model=mnist", "data.root=/a b/$(c)"],
        "config": {"preset": "full", "seed": 1, "trainer": {"epochs": 3, "jit": False}, "data": {"root": None}},
        "data": {"name": "digits", "sha256": "8" * 64, "train_items": 1294, "test_items": 359,
                 "class_names": ["0", "1"], "source": "https://example.org/digits", "licence": "CC BY 4.0"},
        "device": {"name": "/device:CPU:0", "device_kind": "cpu", "proof": "matmul", "description": ""},
        "expected": {"test_accuracy": {"at_least": 0.97, "met": True}},
        "machine": {"os": "linux", "os_version": "Debian", "os_build": "6.1", "arch": "x86_64", "chip": "Xeon",
                    "cores": 2, "memory_bytes": 25325268992, "gpus": [{"name": "H100"}], "notes": []},
        "metrics": {"test_accuracy": 0.9860724233983287, "test_loss": 0.0617615551905874, "parameters": 34826},
        "phases": {"environment_s": 0.0, "import_s": 4.322, "train_s": 3.4134, "compile_s": 0.9356},
        "probes": [{"name": "dense_relu", "ok": True, "largest_error": 5.25e-07, "tolerance": 0.0001, "seconds": 0.2,
                    "skipped": None, "issue": None}],
        "stack": {"name": "tf-2.21", "framework": "tensorflow", "platform": "linux-x86_64", "stand_in_for": None,
                  "lock_sha256": "9" * 64},
        "versions": {"keras": "3.15.1", "numpy": "2.5.5", "six": "1.17.0"},
        "artifacts": [],
    }  # fmt: skip


HISTORY = [
    {"epoch": 1, "loss": 1.5, "accuracy": 0.5, "val_loss": 0.75, "val_accuracy": 0.875, "best": True},
    {"epoch": 2, "loss": 0.5, "accuracy": 0.9, "val_loss": 0.25, "val_accuracy": 0.9375, "best": True},
    {"epoch": 3, "loss": 0.25, "accuracy": 0.95, "val_loss": 0.5, "val_accuracy": 0.90625, "best": False},
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run folder with everything in it that a page can show."""
    run_folder = tmp_path / "2026-11-21_19-15-56_mnist_cpu"
    run_folder.mkdir()
    save(run_folder, record())
    rows(run_folder / "history.csv", HISTORY)
    rows(run_folder / "confusion.csv", [{"true": "0", "0": 30, "1": 2}, {"true": "1", "0": 1, "1": 41}])
    rows(
        run_folder / "predictions.csv",
        [{"input": "a.png", "class": "1", "probability": 0.71875, "p_0": 0.28, "p_1": 0.72}],
    )
    np.save(run_folder / "inputs.npy", np.full((1, 28, 28, 1), 7, np.uint8))
    Image.new("RGB", (40, 30), "red").save(run_folder / "mistakes.png")
    (run_folder / "generated.txt").write_text("Once upon a <b>time</b>", encoding="utf-8")
    return run_folder


def save(folder: Path, content: Any) -> None:
    (folder / "run.json").write_text(json.dumps(content), encoding="utf-8")


def rows(path: Path, content: list[dict[str, Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as out:
        writer = csv.DictWriter(out, list(content[0]))
        writer.writeheader()
        writer.writerows(content)


def read(*folders: Path) -> Page:
    text = report_page.page(list(folders))
    text.encode("utf-8")
    page = Page(text)
    assert not page.open
    return page


def test_the_figures_are_those_of_the_record(folder: Path) -> None:
    page = read(folder)
    content = record()
    wanted = [
        *content["metrics"].values(),
        *content["phases"].values(),
        content["seconds"],
        content["peak_memory_bytes"],
        0.97,
    ]
    assert set(wanted) <= page.values
    assert {value for row in HISTORY for value in list(row.values())[:5]} <= page.values
    assert {30, 2, 1, 41, 0.71875, 5.25e-07} <= page.values
    shown = [text for text, value in page.figures if value == content["metrics"]["test_accuracy"]]
    assert shown == ["0.9861"]


def test_the_curves_mark_where_a_stage_begins(folder: Path) -> None:
    assert "stage 2" not in read(folder).text("text")
    rows(folder / "history.csv", [row | {"stage": stage} for row, stage in zip(HISTORY, (1, 1, 2), strict=True)])
    assert read(folder).text("text").count("stage 2") == 2  # of the losses and of the accuracies


def test_shares_stand_on_an_axis_that_is_not_logarithmic(folder: Path) -> None:
    rows(folder / "history.csv", [row | {"val_top5": 0.5 + row["epoch"] / 10} for row in HISTORY])
    assert "0.65" in read(folder).text("text")


def test_the_accuracy_of_a_language_model_has_its_validation(folder: Path) -> None:
    names = {"val_accuracy": "val_token_accuracy"}
    rows(folder / "history.csv", [{names.get(name, name): value for name, value in row.items()} for row in HISTORY])
    for page in (read(folder), read(folder, folder)):
        drawn = [str(svg["aria-label"]) for svg in page.all("svg") if "aria-label" in svg]
        (accuracy,) = {label for label in drawn if label.startswith("Accuracy")}
        assert "validation: from 0.875 to 0.9062" in accuracy
        assert not any(label.startswith("Other metrics") for label in drawn)
    assert any(label.startswith("Validation accuracy") for label in drawn)


def test_a_style_run_shows_the_picture_before_the_curve(folder: Path) -> None:
    (folder / "mistakes.png").unlink()
    for name in ("losses.png", "sheet.jpg"):
        Image.new("RGB", (40, 30), "red").save(folder / name)
    shown = [str(image["alt"]) for image in read(folder).all("img") if image.get("class") != "tiny"]
    assert shown == ["Content, style and result", "Losses by step"]


def test_every_known_fact_has_its_name(folder: Path) -> None:
    """What the record lacks is left out, so a key that is read under a wrong name shows as a missing fact."""
    names = set(read(folder).text("dt"))
    assert {"System", "Processor", "Architecture", "Cores", "Memory", "GPU"} <= names
    assert {"Stack", "Main packages", "Platform", "SHA-256 of the lock"} <= names
    assert {"Device", "Kind", "Required", "Verification", "Choice of backend"} <= names
    assert {"Name", "Items", "Classes", "Source", "License", "SHA-256 of the files"} <= names
    assert {"Seed", "zoo version", "Commit", "Started", "Finished"} <= names


def test_everything_that_is_known_is_told(folder: Path) -> None:
    said = " ".join(text for _, text in read(folder).texts)
    for words in ("mnist on cpu", "tf-2.21", "keras 3.15.1", "/device:CPU:0", "Xeon", "H100", "reached", "measured",
                  "Recorded evidence of mnist on cpu", "1,294 for training", "python -m zoo train model=mnist",
                  "'data.root=/a b/$(c)'", "8" * 64, "9" * 64, "4" * 40, "Once upon a <b>time</b>"):  # fmt: skip
        assert words in said, words


def test_a_promise_is_told_in_its_direction_or_why_it_does_not_apply(folder: Path) -> None:
    save(folder, record() | {"expected": {"val_loss": {"at_most": 1.88, "met": True}}})
    page = read(folder)
    assert "of at most" in " ".join(text for _, text in page.texts)
    assert 1.88 in page.values
    because = ["trainer.epochs=1 (recipe: 12)"]
    save(folder, record() | {"expected": {}, "expected_not_applicable": {"expected": {}, "because": because}})
    said = " ".join(text for _, text in read(folder).texts)
    assert "The expected result of the recipe does not apply to this run: trainer.epochs=1 (recipe: 12)" in said


def test_the_linear_baseline_of_a_text_run_is_told(folder: Path) -> None:
    save(folder, record() | {"linear_baseline": {"name": "TF-IDF", "test_accuracy": 0.82334, "seconds": 1.5}})
    page = read(folder)
    assert "Linear baseline (TF-IDF): test accuracy 0.8233 after 1.50 s" in "".join(text for _, text in page.texts)
    assert 0.82334 in page.values


def test_the_linear_probe_of_an_image_run_is_told(folder: Path) -> None:
    save(folder, record() | {"linear_probe": {"kept": True, "verdict": "Kept: linear probe & <more>"}})
    assert "Kept: linear probe & <more>" in read(folder).text("p")


def test_figures_of_the_training_data_are_told_from_others(folder: Path) -> None:
    save(folder, record() | {"metrics": {"accuracy": 1.0, "loss": 0.08, "val_loss": 0.5}})
    assert {"Training accuracy", "Training loss", "Validation loss"} <= set(read(folder).text("dt"))
    assert {"Training accuracy", "Training loss", "Validation loss"} <= set(read(folder, folder).text("th"))
    save(folder, record() | {"metrics": {"loss": 0.08, "perplexity": 1.1}})
    assert {"Loss", "Perplexity"} <= set(read(folder).text("dt"))


def test_the_structure_is_one_that_screen_readers_follow(folder: Path) -> None:
    for page in (read(folder), read(folder, folder)):
        assert page.all("html") == [{"lang": "en"}]
        levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch("h[1-6]", tag)]
        assert levels[0] == 1
        assert levels.count(1) == 1
        assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
        names = [tag for tag, _ in page.tags]
        assert names.count("caption") == names.count("table") > 3
        assert all(image.get("alt") for image in page.all("img"))
        assert all(svg.get("aria-label") or svg.get("aria-hidden") for svg in page.all("svg"))
        assert all(head.get("scope") for head in page.all("th"))
        ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
        assert len(ids) == len(set(ids))
        assert {str(a["href"])[1:] for a in page.all("a") if str(a["href"]).startswith("#")} <= set(ids)
        labelled = {each["aria-labelledby"] for each in page.all("section")}
        assert labelled <= set(ids)


def test_nothing_is_loaded_and_nothing_runs(folder: Path) -> None:
    page = read(folder)
    inert(page)
    (policy,) = [str(meta["content"]) for meta in page.all("meta") if meta.get("http-equiv")]
    assert "default-src 'none'" in policy
    assert not any("style" in attributes for _, attributes in page.tags), "the policy would not let it count"


def inert(page: Page) -> None:
    """No script, no handler, no address but of the page itself, of data, and behind links to be clicked."""
    for tag, attributes in page.tags:
        assert f" {tag} " in TAGS, tag
        for key, value in attributes.items():
            assert not key.startswith("on"), key
            if key == "src":
                assert str(value).startswith("data:image/")
            if key == "href":
                assert re.match(r"#|https?://", str(value)), value


def poisoned(value: Any) -> Any:
    """The same tree with every text hostile."""
    if isinstance(value, dict):
        return {key: poisoned(item) for key, item in value.items()}
    if isinstance(value, list):
        return [poisoned(item) for item in value]
    return HOSTILE if isinstance(value, str) else value


def test_hostile_text_stays_text(folder: Path) -> None:
    content = poisoned(record()) | {"exit": "failed", "error": {"message": HOSTILE, "remedy": HOSTILE}}
    content["metrics"][HOSTILE] = 1.0
    content["versions"][HOSTILE] = HOSTILE
    content["config"][HOSTILE] = {HOSTILE: HOSTILE}
    content["artifacts"] = [{"path": HOSTILE, "bytes": 1, "sha256": HOSTILE}, {"path": "../../etc/passwd"}]
    save(folder, content)
    for name in ("history.csv", "predictions.csv", "confusion.csv"):
        rows(folder / name, [{"epoch": HOSTILE[:60], HOSTILE[:70]: HOSTILE[:60], "true": HOSTILE[:60]}] * 2)
    (folder / "worker.log").write_text(HOSTILE, encoding="utf-8", errors="replace")
    (folder / "<script>alert(1)<.txt").write_text("x", encoding="utf-8")
    for page in (read(folder), read(folder, folder)):
        inert(page)
        assert any("<script>alert(1)</script>" in text for _, text in page.texts)
        assert not re.search("[\x00\u202e\ud800]", "".join(text for _, text in page.texts))


@pytest.mark.parametrize(
    "path", [("metrics",), ("phases",), ("probes",), ("machine",), ("stack",), ("device",), ("data",), ("config",),
             ("versions",), ("artifacts",), ("expected",), ("reasons",), ("command",), ("metrics", "test_loss"),
             ("machine", "gpus"), ("seconds",), ("model",), ("error",), ("started",), ("peak_memory_bytes",)],
    ids=".".join,
)  # fmt: skip
@pytest.mark.parametrize(
    "value", [None, [], {}, "text", 7, -1.5, float("nan"), float("inf"), 10**400, [[["x"]]], {"a": {"b": []}}, True],
    ids=repr,
)  # fmt: skip
def test_values_of_the_wrong_kind_break_nothing(folder: Path, path: tuple[str, ...], value: Any) -> None:
    content = record()
    inner = content
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    save(folder, content)
    inert(read(folder))


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inside: st.lists(inside, max_size=4) | st.dictionaries(st.text(), inside, max_size=4),
    max_leaves=12,
)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(parts=st.dictionaries(st.sampled_from(sorted(record())), JSON, max_size=8))
def test_whatever_the_record_says_the_page_is_whole(folder: Path, parts: Tree) -> None:
    save(folder, record() | parts | {"exit": "completed"})
    inert(read(folder))


@settings(max_examples=200, deadline=None)
@given(text=st.text())
def test_text_comes_back_as_it_was_or_marked_as_unshown(text: str) -> None:
    page = Page(f'<p title="{html.escape(text)}">{html.escape(text)}</p>')
    assert len(page.tags) == 1
    back = "".join(said for _, said in page.texts)
    assert len(back) == len(text)
    assert all(left == right or right == "\ufffd" for left, right in zip(text, back, strict=True))


def test_a_record_with_little_in_it_is_a_page_too(tmp_path: Path) -> None:
    save(tmp_path, {"exit": "running"})
    inert(read(tmp_path))


@pytest.mark.parametrize("content", ["", "[1]", "{", "[" * 100_000, '{"exit": "sleeping"}', "\xff"])
def test_a_damaged_record_is_told(tmp_path: Path, content: str) -> None:
    (tmp_path / "run.json").write_bytes(content.encode("latin-1"))
    with pytest.raises(ZooError):
        report_page.page([tmp_path])


def test_an_endless_record_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "run.json").open("wb") as out:
        out.truncate(10**10)
    with pytest.raises(ZooError, match="10,000,000,000 bytes"):
        report_page.page([tmp_path])


def test_damaged_files_beside_the_record_break_nothing(folder: Path) -> None:
    for name in ("history.csv", "predictions.csv", "confusion.csv", "inputs.npy", "mistakes.png", "a.gif"):
        (folder / name).write_bytes(b'\x00\xff"\n,,,,\n' * 50)
    (folder / "wide.csv").write_text("x" * 300_000)
    page = read(folder)
    inert(page)
    assert any("not shown" in text for text in page.text("p"))


def test_what_lies_outside_the_folder_is_not_taken_in(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("input,class\nthe secret,1\n")
    for name in ("predictions.csv", "generated.txt", "history.csv"):
        (folder / name).unlink()
        (folder / name).symlink_to(tmp_path / "secret")
    (folder / "confusion.csv").unlink()
    os.mkfifo(folder / "confusion.csv")
    content = record()
    content["artifacts"] = [{"path": "../secret", "bytes": 1, "sha256": "0"}, {"path": "generated.txt"}]
    save(folder, content)
    assert "the secret" not in report_page.page([folder])


def test_huge_pictures_are_made_smaller_and_impossible_ones_left_out(folder: Path) -> None:
    noise = np.random.default_rng(1).integers(0, 256, (1200, 1700, 3), dtype=np.uint8)
    Image.fromarray(noise).save(folder / "mistakes.png")
    Image.new("1", (9_500, 9_500)).save(folder / "bomb.png")
    page = read(folder)
    (picture,) = [image for image in page.all("img") if image.get("class") != "tiny"]
    assert picture["width"] == "1600"
    assert any("bomb.png: not shown" in text for text in page.text("p"))


def test_changed_files_are_told(folder: Path) -> None:
    content = record()
    content["artifacts"] = [{"path": "history.csv", "bytes": 9, "sha256": "0" * 64}, {"path": "gone", "bytes": 1}]
    save(folder, content)
    said = read(folder).text("td")
    assert "CHANGED since the run" in said
    assert "missing" in said


def test_a_foreign_command_is_not_offered(folder: Path) -> None:
    save(folder, record() | {"command": ["rm", "-rf", "/"]})
    assert "rm -rf" not in report_page.page([folder])


def test_runs_that_cannot_be_compared_are_said_to_be(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(folder, other)
    content = record()
    content["machine"]["chip"] = "M1"
    content["config"]["trainer"]["epochs"] = 99
    content["metrics"]["test_accuracy"] = 0.5
    save(other, content)
    page = read(folder, other)
    inert(page)
    assert "Different machine" in page.text("strong")
    assert "Different data" not in page.text("strong")
    assert "trainer.epochs" in page.text("th")
    assert {0.5, 0.9860724233983287} <= page.values


def test_runs_are_labelled_by_what_varies_and_the_best_is_named(folder: Path, tmp_path: Path) -> None:
    folders = []
    for number, (rate, accuracy) in enumerate(((0.001, 0.9), (0.01, 0.95), (0.1, 0.5)), 1):
        shutil.copytree(folder, tmp_path / f"00{number}")
        content = record()
        content["config"]["trainer"]["learning_rate"] = rate
        content["metrics"]["test_accuracy"] = accuracy
        content["data"] = content["data"] | {"test_items": 359}
        save(tmp_path / f"00{number}", content)
        folders.append(tmp_path / f"00{number}")
    page = read(*folders)
    assert {"001: learning_rate=0.001", "002: learning_rate=0.01", "003: learning_rate=0.1"} <= set(page.text("h2"))
    (said,) = [text for text in page.text("strong") if text.startswith("Best run")]
    assert said.startswith("Best run: 002: learning_rate=0.01, with a test accuracy of 0.95; the next has 0.9.")
    assert "With 359 test items, a difference below 0.032 can be chance." in said


def test_runs_of_one_name_are_told_apart_by_the_folders_above_them(folder: Path, tmp_path: Path) -> None:
    for machine in ("mini", "studio"):
        shutil.copytree(folder, tmp_path / machine / "mnist")
    names = {"mini/mnist", "studio/mnist"}
    assert names <= set(read(tmp_path / "mini" / "mnist", tmp_path / "studio" / "mnist").text("h2"))


def test_reported_figures_stand_apart(folder: Path) -> None:
    save(folder, record() | {"model": "mnist_conv5", "backend": "cuda-mac"})
    page = read(folder)
    assert any("not measured with zoo" in text for text in page.text("caption"))
    assert "reported" in page.text("span")
    save(folder, record() | {"model": "transformer"})
    assert any("not measured with zoo" in text for text in read(folder).text("caption"))


def test_figures_of_one_network_are_not_shown_beside_another(folder: Path) -> None:
    save(folder, record() | {"model": "transformer/classifier"})
    assert not any("not measured with zoo" in text for text in read(folder).text("caption"))


@pytest.mark.parametrize("log", [False, True])
def test_a_line_goes_through_its_points(log: bool) -> None:
    points = [(1.0, 1.0), (10.0, 100.0), (100.0, 10_000.0)]
    drawn = charts.lines([charts.Series("s", points)], charts.Axis("x", log), charts.Axis("y", log), "words")
    page = Page(str(drawn))
    (line,) = page.all("polyline")
    places = [tuple(map(float, pair.split(","))) for pair in str(line["points"]).split()]
    (x0, y0), (x1, y1), (x2, y2) = places
    share = 0.5 if log else 9 / 99
    assert (x1 - x0) / (x2 - x0) == pytest.approx(share, abs=0.01)
    assert (y1 - y0) / (y2 - y0) == pytest.approx(0.5 if log else 99 / 9999, abs=0.01)
    assert 0 < y2 < y0 < charts.HEIGHT


@pytest.mark.parametrize(("low", "high"), [(1.6, 2.6), (0.05, 0.06), (0.9, 8.0), (1.3, 900.0), (11_000.0, 14_000.0)])
def test_a_logarithmic_axis_has_some_different_numbers(low: float, high: float) -> None:
    series = [charts.Series("s", [(1.0, low), (2.0, high)])]
    page = Page(str(charts.lines(series, charts.Axis("x", whole=True), charts.Axis("y", log=True), "words")))
    ends = [each.get("text-anchor") == "end" for each in page.all("text")]
    beside = [text for text, end in zip(page.text("text"), ends, strict=True) if end]
    assert 3 <= len(set(beside)) == len(beside) <= 12


@pytest.mark.parametrize(("low", "high"), [(0.5, 0.9), (0.904, 0.911), (0.99, 0.9999), (1e6, 2e6)])
def test_long_numbers_leave_room_for_the_label_of_their_axis(low: float, high: float) -> None:
    series = [charts.Series("s", [(1.0, low), (2.0, high)])]
    page = Page(str(charts.lines(series, charts.Axis("epoch"), charts.Axis("accuracy"), "words")))
    for text, each in zip(page.text("text"), page.all("text"), strict=True):
        if each.get("text-anchor") == "end":
            assert float(str(each["x"])) - 7.7 * len(text) > 16  # the label ends at 16; a figure is 7.6 wide


@settings(max_examples=100, deadline=None)
@given(
    values=st.lists(st.tuples(*[st.floats(-1e30, 1e30, allow_nan=False)] * 2), max_size=6),
    logs=st.tuples(st.booleans(), st.booleans()),
)
def test_any_points_can_be_drawn(values: list[tuple[float, float]], logs: tuple[bool, bool]) -> None:
    axes = charts.Axis("x", logs[0]), charts.Axis("y", logs[1])
    page = Page(str(charts.lines([charts.Series("s", values)], *axes, "words")))
    for line in page.all("polyline"):
        for pair in str(line["points"]).split():
            x, y = map(float, pair.split(","))
            assert 0 <= x <= charts.WIDTH
            assert 0 <= y <= charts.HEIGHT


@pytest.fixture(scope="session")
def chromium() -> str:
    path_to_chromium = next(
        (path for name in ("chromium", "google-chrome", "chrome") if (path := shutil.which(name))), None
    )
    if path_to_chromium is None:
        pytest.skip("no Chromium here to open the page in")
    return path_to_chromium


@pytest.mark.parametrize("width", [360, 1200])
def test_a_browser_shows_it_without_a_complaint(chromium: str, folder: Path, tmp_path: Path, width: int) -> None:
    file, picture = tmp_path / "page.html", tmp_path / "page.png"
    file.write_text(report_page.page([folder, folder]), encoding="utf-8")
    command = [
        chromium, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}",
        "--enable-logging=stderr", f"--window-size={width},1400", f"--screenshot={picture}", file.as_uri(),
    ]  # fmt: skip
    answer = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert answer.returncode == 0, answer.stderr
    assert "CONSOLE" not in answer.stderr, answer.stderr
    with Image.open(picture) as shot:
        assert len(shot.convert("RGB").getcolors(1 << 24) or []) > 50, "the style or the charts are missing"


def test_tables_fit_on_a_printed_page(chromium: str, folder: Path, tmp_path: Path) -> None:
    """A4 has 718 pixels between the usual margins; a window stands for it, where the rules of print always count."""
    likeliest = {"input": "holiday/DSC_2026-11-21.jpg", "class": "soft-coated_wheaten_terrier", "probability": 0.7}
    others = {"class_2": "Norwegian_elkhound", "probability_2": 0.2, "class_3": "Bouvier_de_Flandres"}
    rows(folder / "predictions.csv", [likeliest | others | {"probability_3": 0.1, "class_4": "Sneaker"}])
    page = re.sub("<meta http-equiv[^>]*>", "", report_page.page([folder])).replace("@media print", "@media all")
    right_edge = "(each) => Math.ceil(each.getBoundingClientRect().right)"
    script = f"document.title = Math.max(...[...document.querySelectorAll('table')].map({right_edge}))"
    file = tmp_path / "page.html"
    file.write_text(page.replace("</body>", f"<script>{script}</script></body>"), encoding="utf-8")
    command = [
        chromium, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=718,1000",
        f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", file.as_uri(),
    ]  # fmt: skip
    answer = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    right = re.search(r"<title>(\d+)</title>", answer.stdout)
    assert right, answer.stderr
    assert 100 < int(right[1]) <= 718


def luminance(colour: str) -> float:
    """Relative luminance of ``#rrggbb`` as WCAG 2 defines it."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    dark, light = sorted([luminance(one), luminance(other)])
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark", "paper"])
def test_text_and_lines_stand_out_from_what_is_behind_them(scheme: str) -> None:
    blocks = re.findall(r":root \{(.*?)\}", report_page.STYLE.read_text(encoding="utf-8"), re.S)
    colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", blocks[["light", "dark", "paper"].index(scheme)]))
    texts = [("ink", "paper"), ("ink", "card"), ("soft", "paper"), ("soft", "card"), ("link", "paper")]
    texts += [(name, f"{name}-bg") for name in ("good", "bad", "note")]
    for one, other in texts:
        assert contrast(colours[one], colours[other]) >= 4.5, (one, other)
    for number in range(charts.COLOURS):
        assert contrast(colours[f"c{number}"], colours["paper"]) >= 3


@pytest.mark.parametrize(
    ("accuracy", "items", "words"),
    [
        (1.0, 12, "12 of 12 test items right; with 12 items, the true accuracy is between 76 % and 100 %"),
        (0.5, 10, "5 of 10 test items right; with 10 items, the true accuracy is between 24 % and 76 %"),
        (0.9912, 10_000, "between 98.9 % and 99.3 %"),
    ],
)
def test_the_accuracy_comes_with_its_uncertainty(folder: Path, accuracy: float, items: int, words: str) -> None:
    """The limits are those of scipy's ``binomtest(right, items).proportion_ci(method="wilson")``."""
    changed = record()
    changed["metrics"]["test_accuracy"], changed["data"]["test_items"] = accuracy, items
    save(folder, changed)
    assert any(words in text for text in Page(report_page.page([folder])).text("strong"))


def test_what_few_read_is_folded_away(folder: Path) -> None:
    text = report_page.page([folder])
    for name in ("device", "machine", "stack", "files"):
        assert "</h2><details><summary>Show</summary>" in text[text.index(f'id="{name}"') :][:400]
