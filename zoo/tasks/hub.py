"""Complete an export for model hubs: weights as safetensors, labels, and a README with front matter and figures."""

import json
from pathlib import Path

from zoo.core import console
from zoo.core.files import atomic_write, write_json
from zoo.protocol.targets import CLASSES, KINDS
from zoo.runs.records import Json
from zoo.tasks import summaries
from zoo.weights import io

# Kinds of models that plain Keras can load, and their names on hubs.
TASKS = {"images": "image-classification", "pictures": "image-to-image"}
FILL = "license: unknown  # fill in before you publish, for example apache-2.0"
VERSIONS = ("zoo", "keras", "tensorflow", "torch", "jax", "mlx", "numpy", "python")
UPLOAD = (
    "Upload this folder with `hf upload USER/NAME .`, from the package `huggingface_hub`. For Kaggle, use the "
    "function `model_upload` of the package `kagglehub`. Load `model.keras` as above: paths that start with `hf://` "
    "need different files."
)


def complete(folder: Path, row: Json, kind: str, record: Json, license_: str, versions: Json) -> None:
    """Complete the folder of an export; ``record`` describes the training run and is empty without one."""
    import yaml  # slow to import

    stored, card = folder / "weights.npz", folder / "README.md"
    io.write(folder / "model.safetensors", io.read(stored))
    stored.unlink()
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    classes, data, judged = config.get("classes", []), record.get("data") or {}, record.get("judgement") or {}
    if classes:
        config |= {"id2label": dict(enumerate(classes)), "label2id": {name: n for n, name in enumerate(classes)}}
        write_json(folder / "config.json", config)
    write_json(folder / "preprocessing.json", config["preprocessing"])
    results, target = record.get("metrics") or {}, judged.get("target", CLASSES)
    figures = {"accuracy": results.get("test_accuracy"), "f1": judged.get("macro_f1")}
    if target != CLASSES:
        figures = {name: results.get(f"test_{key}") for key, name in KINDS[target].names.items()}
    measured = {name: value for name, value in figures.items() if value is not None}
    front: Json = {"license": license_, "library_name": "keras", "pipeline_tag": TASKS[kind], "tags": ["keras"]}
    if "accuracy" in measured and data.get("name"):
        metrics = [{"type": name, "value": round(value, 4)} for name, value in measured.items()]
        result = {"task": {"type": TASKS[kind]}, "dataset": {"name": data["name"], "type": data["name"]}}
        front["model-index"] = [{"name": config["model"], "results": [result | {"metrics": metrics}]}]
    text = yaml.safe_dump(front, sort_keys=False, allow_unicode=True).replace("license: unknown", FILL, 1)
    shown = [f"- {'macro F1' if name == 'f1' else name}: {value:.4f}" for name, value in measured.items()]
    trained = (
        _versions("trained with", {"zoo": record.get("zoo_version")} | record.get("versions", {})) if record else []
    )
    sections = {
        "Data": _data(data),
        "Figures": [*shown, f"- largest difference from the trained model: {row['difference']:.2g}"],
        "Limits": _limits(kind, classes, judged, target),
        "Versions": _versions("exported with", versions) + trained,
        "Upload": [UPLOAD],
    }
    parts = [f"## {title}\n\n" + "\n".join(map(console.escape_controls, lines)) for title, lines in sections.items()]
    body = card.read_text(encoding="utf-8").strip()
    atomic_write(card, "\n\n".join([f"---\n{text}---", body, *parts]) + "\n")


def _data(data: Json) -> list[str]:
    if not data.get("name"):
        return ["The record names no training data: fill in what the model was trained on."]
    parts = [part for part in ("train", "validation", "test") if f"{part}_items" in data]
    sizes = ", ".join(f"{data[f'{part}_items']:,} ({part})" for part in parts)
    # Any other source is a path on this machine.
    source = [f"- source: {data['source']}"] if str(data.get("source")).startswith("https://") else []
    license_ = f"- license of the data: {data.get('licence', 'unknown')}"
    return [f"- data set `{data['name']}`: {sizes}", *source, license_]


def _limits(kind: str, classes: list[str], judged: Json, target: str) -> list[str]:
    lines = ["- Images of other kinds than the training data can give worse results."]
    if kind == "pictures":
        return [*lines, "- The license of the painting also applies."]
    if target != CLASSES:
        return lines
    lines.append(f"- It answers with one of {len(classes):,} classes, even if an image shows none of them.")
    if judged:
        worst = sorted(judged["accuracy_by_class"].items(), key=lambda pair: pair[1])[:3]
        lines.append("- lowest accuracy of a class: " + ", ".join(f"{name} {share:.2f}" for name, share in worst))
        lines += [f"- {line}" for line in summaries.no_better(judged, "images", balanced=True)]
    return lines


def _versions(what: str, versions: Json) -> list[str]:
    return [f"- {what}: {', '.join(f'{name} {versions[name]}' for name in VERSIONS if versions.get(name))}"]
