"""zoo.config.hydra_words: overrides as for Hydra's launchers, and files of experiments."""

import os
from pathlib import Path

import pytest

from zoo.cli.main import main
from zoo.config import hydra_words
from zoo.core import paths
from zoo.core.errors import ZooError


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("seed=1", "seed=1"),
        ("+seed=1", "+seed=1"),
        ("++seed=1", "seed=1"),
        ("hydra/launcher=joblib", "launcher=local"),
        ("hydra/launcher=submitit_slurm", "launcher=slurm"),
        ("hydra/sweeper=basic", "launcher=local"),
        ("hydra.launcher.n_jobs=3", "launcher.jobs=3"),
        ("+hydra.launcher.timeout_min=3", "launcher.minutes=3"),
        ("++hydra.launcher.ray.init.address=a:1", "launcher.address=a:1"),
        ("hydra.sweep.dir=out", "output.root=out"),
        ("hydra.sweep.subdir=a=b", "output.name=a=b"),
    ],
)
def test_words_of_hydra_become_the_zoo_s(word: str, expected: str) -> None:
    assert hydra_words.translated(word) == expected


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("hydra/launcher=rq", r"no hydra/launcher=rq\nIt has basic \(local\), .*submitit_slurm \(slurm\)"),
        ("hydra/sweeper=optuna", r"hydra/sweeper=optuna is not supported\n.*zoo tune --help"),
        ("hydra.launcher.color=red", r"no setting hydra\.launcher\.color: it uses Hydra to compose settings only"),
        ("hydra.n_jobs=3", r"no setting hydra\.n_jobs"),
        ("+hydra.job.chdir=true", r"no setting hydra\.job\.chdir"),
    ],
)
def test_other_words_of_hydra_are_refused(word: str, said: str) -> None:
    with pytest.raises(ZooError, match=said):
        hydra_words.translated(word)


def written(folder: Path, text: str, name: str = "experiment/a.yaml") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return folder


def test_an_experiment_is_read_from_the_named_folder(tmp_path: Path) -> None:
    text = "defaults:\n- _self_\n- override /model: mnist\n- data: digits\n"
    text += "trainer:\n  epochs: 3\nmodel.name: b\nseed: 2\n"
    folder = str(written(tmp_path, text))
    for name in ("a", "a.yaml"):
        settings, rest = hydra_words.experiments(["seed=3", f"+experiment={name}", "x.y=1"], folder)
        assert settings.words == ["model=b", "data=digits", "trainer.epochs=3", "seed=2"]
        assert set(settings.layers.values()) == {"experiment"}
        assert rest == ["seed=3", "x.y=1"]


def test_the_first_folder_that_has_the_file_is_read(tmp_path: Path) -> None:
    first, second = written(tmp_path / "1", "seed: 1\n"), written(tmp_path / "2", "seed: 2\n")
    written(second, "trainer.epochs: 5\n", "other/b.yaml")
    for places in (f"[{first},{second}]", f"['file://{first}', \"{second}\"]"):
        words = ["+experiment=a", "+other=b", f"+hydra.searchpath={places}"]
        settings, rest = hydra_words.experiments(words, None)
        assert (settings.words, rest) == (["seed=1", "trainer.epochs=5"], [])
        assert settings.layers == {"seed": "experiment", "trainer.epochs": "other"}
    settings, _ = hydra_words.experiments(["+experiment=a", f"hydra.searchpath=[{first}]"], str(second))
    assert settings.words == ["seed=2"]


def test_without_a_file_words_stay_as_they_are() -> None:
    words = ["seed=1", "++a=1", "+a.b=1", "+a="]
    assert hydra_words.experiments(words, None)[1] == words
    assert len(hydra_words.experiments(words, None)[0]) == 0


def test_a_folder_of_experiments_that_cannot_be_opened_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, user = written(tmp_path, "seed: 1\n"), os.geteuid()
    words = ["train", "data=digits", "-c", "job", "--config-dir", str(folder), "+experiment=a"]
    assert main(words) == 0  # all modules are imported
    folder.chmod(0)
    try:
        os.seteuid(user or 65534)  # nothing is closed to root
        if not os.access(paths.CONFIGS, os.R_OK, effective_ids=True):
            pytest.skip("the checkout lies in a folder that is closed to other users")
        assert main(words) == 1
    finally:
        os.seteuid(user)
        folder.chmod(0o700)
    shown = capsys.readouterr().err
    assert f"error: Cannot read {folder}/experiment/a.yaml: Permission denied\nCheck that it exists" in shown


@pytest.mark.parametrize(
    ("words", "folder", "said"),
    [
        (["+experiment=b"], True, r"\+experiment=b: there is no .*b\.yaml\nAdd --config-dir DIR, a folder with"),
        (["+experiment=a"], False, r"\+experiment=a: no folder is named"),
        (["seed=1"], True, r"--config-dir .* has no effect without \+GROUP=NAME"),
        (["seed=1", "hydra.searchpath=[/no/such]"], False, r"hydra\.searchpath=\[/no/such\] has no effect without"),
        (["+hydra.searchpath=[/no/such]"], False, r"\+hydra\.searchpath=\[/no/such\] has no effect without"),
        (["+experiment=list"], True, "contains no settings"),
        (["+experiment=text"], True, "contains no settings"),
        (["+experiment=loop"], True, "contains itself"),
        (["+experiment=code"], True, r"model names code to run\nName it on the command line: model=.*my_net"),
        (["+experiment=python"], True, "backend.python names code to run"),
    ],
)
def test_an_experiment_that_cannot_be_read_is_refused(
    tmp_path: Path, words: list[str], folder: bool, said: str
) -> None:
    for name, text in (
        ("a", "seed: 1\n"),
        ("list", "- 1\n"),
        ("text", "defaults: x\n"),
        ("loop", "a: &x\n  b: *x\n"),
        ("code", "defaults:\n- model: ./my_net.py\n"),
        ("python", "backend: {python: /tmp/python}\n"),
    ):
        written(tmp_path, text, f"experiment/{name}.yaml")
    with pytest.raises(ZooError, match=said):
        hydra_words.experiments(words, str(tmp_path) if folder else None)
