"""Complete an export for model hubs: weights as safetensors, labels, and a README with front matter and figures."""

import json
from pathlib import Path

from zoo.core import console
from zoo.core.files import atomic_write, write_json
from zoo.runs.records import Json
from zoo.tasks import summaries
from zoo.weights import io

# Kinds of models that plain Keras can load, and their names on hubs.
TASKS = {"images": "image-classification", "pictures": "image-to-image"}
# The names that hubs expect: their viewers read these files.
WEIGHTS, CONFIG, PREPROCESSING, CARD = "model.safetensors", "config.json", "preprocessing.json", "README.md"
FILL = "license: unknown  # fill in before you publish, for example apache-2.0"
METRICS = {"test_accuracy": "accuracy", "test_top5": "top-5 accuracy", "val_accuracy": "validation accuracy"}
TYPES = {"accuracy": "accuracy", "macro F1": "f1"}
UPLOAD = (
    "Upload this folder with `hf upload USER/NAME .`, from the package `huggingface_hub`. For Kaggle, use the "
    "function `model_upload` of the package `kagglehub`. Load `model.keras` as above: paths that start with `hf://` "
    "need different files."
)


def complete(folder: Path, row: Json, kind: str, record: Json, license_: str, versions: Json) -> None:
    """Complete the folder of an export; ``record`` is that of the training run, empty without one."""
    stored = folder / "weights.npz"
    io.write(folder / WEIGHTS, io.read(stored))
    stored.unlink()
    config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    labels = {str(number): name for number, name in enumerate(config.get("classes", []))}
    names = {"id2label": labels, "label2id": {name: int(number) for number, name in labels.items()}} if labels else {}
    write_json(folder / CONFIG, config | {"keras_version": versions.get("keras")} | names)
    write_json(folder / PREPROCESSING, config["preprocessing"])
    front = _front(config, kind, record, license_)
    body = (folder / CARD).read_text(encoding="utf-8")
    sections = {
        "Data": _data(record.get("data") or {}),
        "Figures": _figures(row, record),
        "Limits": _limits(kind, labels, record.get("judgement") or {}),
        "Versions": _versions(record, versions),
        "Upload": [UPLOAD],
    }
    parts = [f"## {title}\n\n" + "\n".join(map(console.escape_controls, lines)) for title, lines in sections.items()]
    atomic_write(folder / CARD, "\n\n".join([front + body.strip(), *parts]) + "\n")


def _measured(record: Json) -> Json:
    metrics = record.get("metrics") or {}
    measured = {name: metrics[key] for key, name in METRICS.items() if key in metrics}
    judged = record.get("judgement") or {}
    return measured | ({"macro F1": judged["macro_f1"]} if judged.get("part") == "test" else {})


def _front(config: Json, kind: str, record: Json, license_: str) -> str:
    import yaml  # slow to import

    front: Json = {"license": license_, "library_name": "keras", "pipeline_tag": TASKS[kind], "tags": ["keras"]}
    name = (record.get("data") or {}).get("name")
    figures = [(each, value) for each, value in _measured(record).items() if each in TYPES]
    measured = [{"type": TYPES[each], "name": each, "value": round(value, 4)} for each, value in figures]
    if name and measured:
        row = {"task": {"type": TASKS[kind]}, "dataset": {"name": name, "type": name}, "metrics": measured}
        front["model-index"] = [{"name": config["model"], "results": [row]}]
    text = yaml.safe_dump(front, sort_keys=False, allow_unicode=True)
    return f"---\n{text.replace('license: unknown', FILL, 1)}---\n\n"


def _data(data: Json) -> list[str]:
    if not data.get("name"):
        return ["The record names no training data: fill in what the model was trained on."]
    sizes = [
        f"{data[f'{part}_items']:,} ({part})" for part in ("train", "validation", "test") if f"{part}_items" in data
    ]
    lines = [f"- data set `{data['name']}`: {', '.join(sizes) or 'sizes unknown'}"]
    if data.get("published"):  # the source of the user's own data is a path on this machine
        lines.append(f"- source: {data['source']}")
    return [*lines, f"- license of the data: {data.get('licence') or 'unknown'}"]


def _figures(row: Json, record: Json) -> list[str]:
    table = [f"| {name} | {value:.4f} |" for name, value in _measured(record).items()]
    files = f"| largest difference from the trained model | {row['difference']:.2g} |"
    return ["| figure | value |", "|---|---|", *table, files]


def _limits(kind: str, labels: Json, judgement: Json) -> list[str]:
    lines = ["- Images of other kinds than the training data can give worse results."]
    if kind == "pictures":
        lines.append("- The license of the painting also applies.")
    if labels:
        lines.append(f"- It answers with one of {len(labels):,} classes, even if an image shows none of them.")
    if judgement:
        worst = sorted(judgement["accuracy_by_class"].items(), key=lambda pair: pair[1])[:3]
        lines.append("- lowest accuracy of a class: " + ", ".join(f"{name} {share:.2f}" for name, share in worst))
        lines += [f"- {line}" for line in summaries.no_better(judgement, "images", balanced=True)]
    return lines


def _versions(record: Json, versions: Json) -> list[str]:
    trained = {"zoo": record.get("zoo_version"), **(record.get("versions") or {})}
    named = {"exported with": versions} | ({"trained with": trained} if record else {})
    keys = ("zoo", "keras", "tensorflow", "torch", "jax", "mlx", "numpy", "python")
    return [
        f"- {what}: {', '.join(f'{key} {row[key]}' for key in keys if key in row)}" for what, row in named.items()
    ]
