"""Format numbers for display, with the exact value in the markup."""

from zoo.reports.html import Html, tag

_BYTES = (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3))


def short(value: float | None) -> str:
    """Format a number with four significant digits; integers are complete, None is an empty text."""
    if value is None:
        return ""
    if value == int(value) and abs(value) < 1e12:
        return f"{int(value):,}"
    return f"{value:,.0f}" if 1e3 <= abs(value) < 1e12 else f"{value:.4g}"


def data(value: float | None, shown: str = "") -> Html:
    """Return a number, rounded in the text and exact in the markup."""
    return Html("") if value is None else tag("data", shown or short(value), value=repr(value))


def seconds(value: float | None) -> str:
    """Format a duration: ``3.41 s``, ``12 min 5 s``."""
    if value is None:
        return ""
    if value >= 600:
        return f"{value // 60:,.0f} min {value % 60:.0f} s"
    return f"{value:.2f} s" if value < 100 else f"{value:.0f} s"


def size(value: float | None) -> str:
    """Format a number of bytes: ``766 MB``."""
    if value is None:
        return ""
    unit, scale = next(((unit, scale) for unit, scale in _BYTES if value >= scale), ("bytes", 1.0))
    return f"{value / scale:.3g} {unit}" if value / scale < 100 else f"{value / scale:,.0f} {unit}"


_UNITS = (("_s", seconds), ("_bytes", size))


def named(name: str, value: float | None) -> Html:
    """Format a number whose name contains its unit: ``train_s``, ``peak_memory_bytes``."""
    spoken = next((words for suffix, words in _UNITS if name.endswith(suffix) and not name.endswith("per_s")), short)
    return data(value, spoken(value))


_METRICS = {"map": "mean average precision", "f1": "F1", "mae": "mean absolute error", "r2": "R2"}


def label(name: str) -> str:
    """Return the name of a metric in words: ``validation loss``, ``items per s``."""
    plain = f"validation_{name.removeprefix('val_')}" if name.startswith("val_") else name
    for suffix in ("_s", "_bytes"):
        if plain.endswith(suffix) and not plain.endswith("per_s"):
            plain = plain.removesuffix(suffix)
    plain = plain.replace("_", " ").replace("top5", "top-5 accuracy")
    return " ".join(_METRICS.get(part, part) for part in plain.split(" "))


def heading(name: str) -> str:
    """Return the heading of a column with its unit, such as ``Epoch, s``; sizes have their unit in every cell."""
    unit = next((unit for unit in ("ms", "s") if name.endswith(f"_{unit}") and not name.endswith("per_s")), "")
    words = f"{name.removesuffix('_' + unit).replace('_', ' ')}, {unit}" if unit else label(name)
    return capitalized(words)


def capitalized(text: str) -> str:
    return text[:1].upper() + text[1:]
