"""The results of a run: metrics, learning curves, predictions, confusion matrix, images, texts and timings."""

from collections.abc import Iterable
from itertools import pairwise
from math import sqrt
from pathlib import Path

from zoo.execution import diagnosis
from zoo.reports import images
from zoo.reports.bars import shares
from zoo.reports.charts import Axis, Mark, Series, lines
from zoo.reports.html import Child, Html, folded, join, table, tag
from zoo.reports.units import capitalized, data, heading, label, named, seconds, short, size
from zoo.runs import untrusted
from zoo.runs.untrusted import Untrusted, number_in

MOST_PREDICTIONS = 20
MOST_CLASSES = 40
# Images that this page draws itself.
DRAWN = {"curves.png", "confusion.png"}
PICTURES = {
    "mistakes": "The worst mistakes, with true and predicted values", "scatter": "Predicted over true numbers",
    "contact": "Input images with their predictions", "sheet": "Content, style and result",
    "losses": "Losses by step", "content": "Content image", "style": "Style image", "result": "Result",
    "progress": "Progress of the optimization",
}  # fmt: skip
TITLES = {"train_s": "training time", "infer_s": "inference time", "total_s": "total time", "seconds": "total time"}
Row = dict[str, str]


def headline(record: Untrusted) -> Html:
    shown, training = _ordered(record), of_training(record)
    cards = [
        tag("div", tag("dt", title(name, training)), tag("dd", named(name, value)), class_="card")
        for name, value in shown[:12]
    ]
    words = [tag("li", text) for text in record.words("summary")]
    return join([
        _right(record), tag("dl", cards, class_="cards") if cards else None, tag("ul", words) if words else None,
        _linear(record), *_promises(record), _failure(record),
    ])  # fmt: skip


def _right(record: Untrusted) -> Html | None:
    """Show the number of correct test items, and the 95 % confidence interval of the accuracy (Wilson)."""
    accuracy, items = record.number("metrics", "test_accuracy"), record.number("data", "test_items")
    if accuracy is None or items is None or not 0 <= accuracy <= 1 or not 1 <= items < 1e12:
        return None
    spread = 1.96**2 / items
    middle, half = accuracy + spread / 2, sqrt(spread * (accuracy * (1 - accuracy) + spread / 4))
    digits = 0 if items < 200 else 1
    low, high = (f"{100 * max(0.0, middle + side) / (1 + spread):.{digits}f} %" for side in (-half, half))
    words = f"{round(accuracy * items):,} of {items:,.0f} test items right; with {items:,.0f} items, "
    return tag("p", tag("strong", f"{words}the true accuracy is between {low} and {high} (95 % confidence)."))


def _linear(record: Untrusted) -> Html | None:
    """Compare the network with a linear classifier of the texts, or a linear probe."""
    baseline, verdict = record.part("linear_baseline"), record.text("linear_probe", "verdict")
    accuracy, spent = baseline.number("test_accuracy"), baseline.number("seconds")
    if accuracy is None:
        return tag("p", verdict) if verdict else None
    after = [" after ", data(spent, seconds(spent))] if spent is not None else None
    figure = data(accuracy, f"{accuracy:.4f}")
    return tag("p", f"Linear baseline ({baseline.text('name')}): test accuracy ", figure, after)


def title(name: str, training: bool = False) -> str:
    """Return a metric's name for cards; ``training`` means that loss and accuracy are of the training data."""
    words = TITLES.get(name, label(name))
    return capitalized(f"training {words}" if training and name in ("loss", "accuracy") else words)


def of_training(record: Untrusted) -> bool:
    """Return True if loss and accuracy are of the training data; style and scored texts have only a loss."""
    return record.number("metrics", "accuracy") is not None


def _ordered(record: Untrusted) -> list[tuple[str, float]]:
    metrics = record.numbers("metrics")
    tested = [pair for pair in metrics if pair[0].startswith("test")]
    spent = [*((name, record.number("phases", name)) for name in ("train_s", "infer_s")),
             ("total_s", record.number("seconds")),
             ("peak_memory_bytes", record.number("peak_memory_bytes"))]  # fmt: skip
    rest = sorted((pair for pair in metrics if pair not in tested), key=lambda pair: pair[0] in ("loss", "accuracy"))
    return [*tested, *((name, value) for name, value in spent if value is not None), *rest]


def _promises(record: Untrusted) -> list[Html]:
    said = [
        tag("p", f"The recipe expects {label(name)} of {words} ", data(row.number(key)), ": ",
            tag("strong", "reached" if row.part("met").value is True else "MISSED"))
        for name, row in record.items("expected")
        for key, words in (("at_least", "at least"), ("at_most", "at most"))
        if row.number(key) is not None
    ]  # fmt: skip
    because = record.words("expected_not_applicable", "because")
    if because:
        said.append(tag("p", f"The expected result of the recipe does not apply to this run: {', '.join(because)}"))
    return [*said, *(tag("p", words) for words in record.words("reference", "compared"))]


def _failure(record: Untrusted) -> Html | None:
    message, remedy = record.text("error", "message"), record.text("error", "remedy")
    if not message:
        return None
    blocks = [tag("pre", text) for text in (message, remedy) if text]
    return tag("div", tag("p", tag("strong", "Error")), blocks, class_="failure")


def log_end(record: Untrusted, folder: Path) -> Html | None:
    if record.text("exit") in ("completed", "") or not untrusted.own_file(folder, "worker.log", 1 << 40):
        return None
    text = diagnosis.log_tail(folder)
    return folded("Last lines of worker.log", tag("pre", text, tabindex=0)) if text else None


def history(folder: Path) -> list[Row]:
    return untrusted.table(folder, "history.csv", 20_000)


def points(rows: Iterable[Row], name: str) -> list[tuple[float, float]]:
    pairs = [(number_in(row.get("epoch")), number_in(row.get(name))) for row in rows]
    return [(x, y) for x, y in pairs if x is not None and y is not None]


def validation(rows: list[Row], name: str) -> list[tuple[float, float]]:
    """Return ``loss`` or ``accuracy`` of the validation data by epoch; a language model counts tokens."""
    return points(rows, f"val_{name}") or points(rows, f"val_token_{name}")


def curves(folder: Path) -> Html | None:
    """Draw loss and accuracy by epoch, with the best epoch marked, and a table of the numbers."""
    rows = history(folder)
    if not rows:
        return None
    loss = all(y > 0 for name in ("loss", "val_loss") for _, y in points(rows, name))
    second = next((name for name in ("map", "mae") if points(rows, f"val_{name}")), "accuracy")
    drawn = [_panel(rows, "loss", Axis("loss", log=loss)), _panel(rows, second, Axis(label(second))), _terms(rows)]
    return join([tag("div", [panel for panel in drawn if panel], class_="pair"), _numbers(rows)])


# Drawn in separate panels, or not useful as a curve.
KNOWN = {
    "epoch", "loss", "accuracy", "val_loss", "val_map", "val_mae", "val_accuracy", "val_token_accuracy",
    "learning_rate", "epoch_s",
    "items_per_s", "peak_memory_bytes", "best", "steps", "stage",
}  # fmt: skip


def _terms(rows: list[Row]) -> Html:
    terms = {name: points(rows, name) for name in list(rows[0])[:20] if name not in KNOWN}
    terms = {name: each for name, each in terms.items() if len({y for _, y in each}) > 1}
    log = all(y > 0 and not name.endswith(("accuracy", "top5")) for name, each in terms.items() for _, y in each)
    series = [Series(label(name), each) for name, each in terms.items()]
    return lines(series, Axis("epoch", whole=True), Axis("value", log=log), "Other metrics by epoch")


def _panel(rows: list[Row], name: str, axis: Axis) -> Html:
    trained = Series("training (mean over the epoch)", points(rows, name))
    series = [trained, Series("validation", validation(rows, name))]
    kept = [row for row in rows if row.get("best") == "True"][-1:]
    marks = [Mark(x, y, "best epoch") for x, y in validation(kept, name)]
    stages = points(rows, "stage")
    marks += [Mark(x - 0.5, None, f"stage {y:g}") for (_, before), (x, y) in pairwise(stages) if y != before]
    return lines(series, Axis("epoch", whole=True), axis, f"{capitalized(label(name))} by epoch", marks)


def _numbers(rows: list[Row]) -> Html:
    shown = rows[-untrusted.MOST_ROWS :]
    words = "Table of all epochs" if len(shown) == len(rows) else f"Table of the last {len(shown)} epochs"
    return folded(words, _table(words, shown, list(rows[0])[:12]))


def _table(words: str, rows: list[Row], names: list[str]) -> Html:
    cells = [[_cell(row, name) for name in names] for row in rows]
    return table(words, [heading(name) for name in names], cells, range(1, len(names)))


def _cell(row: Row, name: str) -> Child:
    value = number_in(row.get(name))
    if value is None:
        return {"True": "yes", "False": ""}.get(row.get(name, ""), row.get(name, ""))
    if name == "probability":
        return data(value, f"{value:.4f}")
    return data(value, size(value) if name.endswith("_bytes") else short(value))


def predictions(folder: Path) -> Html | None:
    """Show the first predictions, each with a thumbnail of the input."""
    rows = untrusted.table(folder, "predictions.csv", 100_000)
    if not rows:
        return None
    headings = [name for name in rows[0] if not name.startswith("p_")][:8]
    small = images.thumbnails(folder, "inputs.npy", MOST_PREDICTIONS)
    shown = rows[:MOST_PREDICTIONS]
    beside = len(small) == len(shown)
    cells: list[list[Child]] = [
        [*([small[index]] if beside else []), *(_cell(row, name) for name in headings)]
        for index, row in enumerate(shown)
    ]
    words = f"The first {len(shown)} of {len(rows):,} predictions" if len(rows) > len(shown) else "All predictions"
    return table(words, [*(["Image"] if beside else []), *map(heading, headings)], cells)


def confusion(folder: Path) -> Html | None:
    """Show the confusion matrix with recall, precision and F1 by class, or its image if there are many classes."""
    rows = untrusted.table(folder, "confusion.csv", MOST_CLASSES + 1)
    if not rows:
        labels = untrusted.table(folder, "labels.csv", untrusted.MOST_ROWS)
        drawn = _table("Figures of each label", labels, list(labels[0])[:8]) if labels else None
        return join([drawn, _mistakes(folder)])
    if len(rows) > MOST_CLASSES:
        return join([images.shown(folder, "confusion.png", "Confusion matrix"), _mistakes(folder)])
    first, *classes = list(rows[0])
    counts = [[number_in(row.get(name)) or 0.0 for name in classes] for row in rows]
    taken = [sum(column) for column in zip(*counts, strict=True)]
    cells: list[list[Child]] = [
        [row.get(first, ""), *(_share(value, sum(line), row.get(first) == name) for value, name in
            zip(line, classes, strict=True)), *_figures(line, taken, classes, row.get(first, ""))]
        for row, line in zip(rows, counts, strict=True)
    ]  # fmt: skip
    headings = ["True class", *classes, "Recall", "Precision", "F1"]
    words = "Number of items by true class (rows) and predicted class (columns)"
    drawn = table(words, headings, cells, range(1, len(headings)))
    return join([tag("div", drawn, class_="confusion"), _mistakes(folder)])


def errors_title(folder: Path) -> str:
    kinds = {"labels.csv": "Labels", "scatter.png": "Largest errors"}
    names = untrusted.names(folder, ".csv", ".png")
    return next((title for name, title in kinds.items() if name in names), "Confusion matrix")


def _figures(line: list[float], taken: list[float], classes: list[str], true: str) -> list[Html]:
    if true not in classes or sum(line) <= 0:
        return [data(None, "")] * 3
    place = classes.index(true)
    right, items = line[place], sum(line)
    shares = [right / items, right / max(1.0, taken[place]), 2 * right / max(1.0, items + taken[place])]
    return [data(share, f"{share:.3f}") for share in shares]


def _mistakes(folder: Path) -> Html | None:
    rows = untrusted.table(folder, "mistakes.csv", MOST_PREDICTIONS)
    if not rows:
        return None
    headings = list(rows[0])[:8]
    what = "largest errors" if "error" in headings else "most confident mistakes"
    words = f"The {len(rows)} {what}" if len(rows) > 1 else "The only mistake"
    return folded(words, table(words, headings, [[_cell(row, name) for name in headings] for row in rows]))


def _share(value: float, total: float, right: bool) -> Html:
    """Return a count, shaded by its share of the row; correct and wrong predictions have different colors."""
    share = min(1.0, max(0.0, value / total)) if total > 0 else 0.0
    strength = 0 if value <= 0 else max(1, round(10 * share**0.5))
    return tag("span", data(value), class_=f"{'hit' if right else 'miss'} s{strength}")


def pictures(folder: Path) -> Html | None:
    files = [name for name in untrusted.names(folder, *images.SUFFIXES) if name not in DRAWN][:24]
    files.sort(key=lambda name: name == "losses.png")  # the result first
    captions = [next((caption for part, caption in PICTURES.items() if part in name.lower()), "Image of this run:")
                for name in files]  # fmt: skip
    return join(images.shown(folder, *each) for each in zip(files, captions, strict=True)) if files else None


def texts(folder: Path) -> Html | None:
    files = [(name, untrusted.text_file(folder, name)) for name in untrusted.names(folder, ".txt")[:8]]
    drawn = [tag("figure", tag("pre", text, tabindex=0), tag("figcaption", tag("code", name)))
             for name, text in files if text.strip()]  # fmt: skip
    return join(drawn) if drawn else None


def phases(record: Untrusted) -> list[tuple[str, float]]:
    """Return the seconds of each phase in order of execution; unknown phases come last."""
    order = ("environment", "data", "import", "probes", "build", "compile", "train", "infer", "evaluate")
    named_seconds = [(name.removesuffix("_s"), value) for name, value in record.numbers("phases") if value >= 0]
    return sorted(named_seconds, key=lambda pair: order.index(pair[0]) if pair[0] in order else len(order))


def time(record: Untrusted) -> Html | None:
    rows = phases(record)
    if not rows:
        return None
    total, whole = sum(value for _, value in rows), record.number("seconds")
    cells = [
        [name, data(value, seconds(value)), f"{100 * value / total:.0f} %" if total else ""] for name, value in rows
    ]
    if whole is not None and whole > total:
        cells.append(["other", data(whole - total, seconds(whole - total)), ""])
    drawn = shares([("", rows)], "Phases in order of execution", "s")
    return tag("div", table("Time of each phase", ["Phase", "Time", "Share"], cells, (1, 2)), drawn,
               class_="pair")  # fmt: skip
