"""Make docs/background/gallery.md and its pictures from the networks that come with the zoo.

    python3 scripts/run.py python scripts/maintenance/gallery.py page --data DATA
    python3 scripts/run.py python scripts/maintenance/gallery.py sheet RUN RUN --data DATA --painting PAINTING

`page` asks every network of `weights=zoo`; DATA holds fashion/ for ten pictures of clothes. `sheet` sets four ways
of painting three photos side by side: optimized, by the run of a network that was trained from another of the zoo's
own, by the run of one from scratch, and in one pass; DATA holds squeezenet/ and style_arbitrary/. The photos are the
drawn landscape and the two that come with scikit-learn (CC BY 2.0, danielbuechele and vultilion): no network was
trained on them.
"""

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

import numpy as np
from PIL import Image

from scripts.maintenance import class_folders
from zoo.config.overrides import Overrides
from zoo.data import array_datasets, datasets
from zoo.data.sources import bundled_photos
from zoo.runs.result import Run
from zoo.tasks import registry
from zoo.weights import zoo_networks
from zoo.weights.zoo_networks import ZooNetwork

PAGE = ROOT / "docs" / "background" / "gallery.md"
PICTURES = ROOT / "docs" / "background" / "gallery"
SIZE = 512
SHEET_SIZE = 400
HEIGHT = 240
GAP = 6
FEATURES = "squeezenet/squeezenet_weights_tf_dim_ordering_tf_kernels_notop.h5"
PROMPT = "ROMEO:"
REVIEWS = (
    "A film to remember, and not only for its end.",
    "Two hours of noise; the plot is a list of explosions.",
    "The actors do what they can, but the script gives them nothing to say.",
)
INTRODUCTION = """# Gallery

This page shows sample output of the networks that are bundled with the zoo (`python -m zoo list weights`).
`scripts/maintenance/gallery.py` generated it. The cards in `assets/weights` state the recipe, data, license and
limits of each network. The figures were measured with the bundled weights on the full test set, on Linux x86_64.
None of the photos was used in training. The zoo draws the landscape. The two photos come with scikit-learn (CC BY
2.0, danielbuechele and vultilion).
"""

SHEET = """## One painting, four methods

![Three photos, and each in the style of The Starry Night with four methods](gallery/sheet.jpg)

From left to right:

1. the photo
2. optimized with SqueezeNet features, 400 pixels
3. a network trained for 400 steps from `zoo/mosaic`, the network of a different painting (ten minutes on a busy CPU)
4. `zoo/starry_night`, trained for 1,500 steps with SqueezeNet features and 1,000 steps with VGG19 features
5. `style_transfer/any` in one pass

The optimized images look best: strokes follow the shapes and swirl in the sky. In one pass, the pagoda and the
flower look good, with richer colors than the painting. The two style networks reproduce the colors, light and
strokes of the painting. Their strokes are uniform. Those of the first also hide small details: windows, petals, the
roof. The second network keeps more of them. Style networks work best for uniform textures, such as the drawn mosaic
and the hatching.
"""


def main(arguments: list[str]) -> int:
    """Make what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["page", "sheet"])
    parser.add_argument("runs", nargs="*", metavar="RUN", help="sheet: the fine-tuned network, the one from scratch")
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--painting", type=Path, help="sheet: the painting")
    parser.add_argument("--work", type=Path, help="sheet: folder where what is optimized already is found again")
    parsed = parser.parse_args(arguments)
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        if parsed.what == "page":
            page(work, parsed.data)
        else:
            fine_tuned, from_scratch = parsed.runs
            sheet(work, parsed.data, parsed.painting, (fine_tuned, from_scratch), parsed.work or work)
    return 0


def page(work: Path, data: Path) -> None:
    """Ask every network, and write the page."""
    known = zoo_networks.load_all()
    sections = [INTRODUCTION, "## Figures\n", figures(known), "## Style networks\n"]
    sections += [style_section(work, network) for network in known if network.card.painting]
    sections += ["## Digits\n", digits(work, named(known, "mnist"))]
    sections += ["## Clothes\n", clothes(work, named(known, "fashion"), data / "fashion")]
    sections += ["## Film reviews\n", reviews(work), "## Shakespeare\n", shakespeare(work)]
    sections += [SHEET] if (PICTURES / "sheet.jpg").is_file() else []
    PAGE.write_text("\n".join(sections), encoding="utf-8")
    print(PAGE)


def named(known: list[ZooNetwork], name: str) -> list[ZooNetwork]:
    """Return the networks of a name, one for each model that has it."""
    return [network for network in known if network.card.name == name]


def figures(known: list[ZooNetwork]) -> str:
    """Return the table of all figures."""
    rows = ["| model | weights | numbers | figure | by stack |", "|---|---|---|---|---|"]
    for network in known:
        for metric, each in network.card.figures.items():
            values = ", ".join(f"{stack} {value:.4f}" for stack, value in each.items())
            card = network.card
            rows.append(f"| `{card.model}` | `{network.source}` | {card.parameters:,} | {metric} | {values} |")
    return "\n".join([*rows, "", CHANGE_TOLD, ""])


CHANGE_TOLD = (
    "A style network has no test set. Instead, `change` is the mean difference between the drawn landscape and\n"
    "its restyled version, at 320 pixels, in gray levels. The same `change` on each stack shows that the stacks\n"
    "give the same result."
)


def style_section(work: Path, network: ZooNetwork) -> str:
    """Restyle the photos with a style network; return its section."""
    card = network.card
    assert card.painting is not None  # noqa: S101  (the caller chose those)
    results = restyled(work / card.name, [f"model={card.model}", f"weights={network.source}"])
    target = PICTURES / f"style_{card.name}.jpg"
    write(target, [row([opened(path) for path in results])])
    command = f"python -m zoo infer model={card.model} weights={network.source} input=photo.jpg save=out.png"
    caption = f"{card.about[0].upper()}{card.about[1:]}; learned from {card.painting.about}."
    picture = f"![{caption}](gallery/{target.name})"
    return "\n\n".join(
        [f"### {network.source}", f"```bash\n{command}\n```", picture, " ".join([caption, *card.limits]) + "\n"]
    )


def photos(folder: Path) -> Path:
    """Lay down the three photos; return their folder."""
    folder.mkdir(parents=True)
    for number, path in enumerate([ROOT / "assets" / "landscape.jpg", *bundled_photos()]):
        with Image.open(path) as photo:
            small = photo.convert("RGB")
            small.thumbnail((SIZE, SIZE))
            small.save(folder / f"{number}.png")
    return folder


def restyled(work: Path, network: list[str], style: Path | None = None) -> list[Path]:
    """Restyle the photos in one pass; return the results."""
    given = [f"input={photos(work / 'photos')}", f"save={work / 'results'}", f"output.root={work}", "backend=cpu"]
    registry.dispatch("infer", Overrides.parse([*network, *given, *([f"style={style}"] if style else [])]))
    return sorted((work / "results").glob("*.png"))


def digits(work: Path, networks: list[ZooNetwork]) -> str:
    """Show ten of scikit-learn's digits, and what each network takes them for."""
    scans = array_datasets.prepare(datasets.load_row("digits"))
    images, labels = (np.load(path)[:10] for path in (scans.files["x_test"], scans.files["y_test"]))
    about = "Ten of scikit-learn's scans (CC BY 4.0), 8 x 8 scaled to 28 x 28; not from MNIST."
    strip = [Image.fromarray(each).convert("RGB") for each in images[..., 0]]
    write(PICTURES / "digits.png", [row(strip, 56)])
    table = answered(work / "digits", networks, list(images[..., 0]), [str(label) for label in labels])
    return "\n".join([about, "", f"![{about}](gallery/digits.png)", "", table])


def clothes(work: Path, networks: list[ZooNetwork], data: Path) -> str:
    """Say what each network takes the first ten pictures of Fashion-MNIST's test set for; they are not carried."""
    class_folders.write(data, work / "fashion", "test", 10)
    paths = sorted((work / "fashion" / "test").rglob("*.png"), key=lambda path: path.stem)
    images = [np.asarray(Image.open(path)) for path in paths]
    table = answered(work / "clothes", networks, images, [path.parent.name for path in paths])
    return f"The first ten images of the Fashion-MNIST test set, in order.\n\n{table}"


def answered(folder: Path, networks: list[ZooNetwork], images: list[Any], labels: list[str]) -> str:
    """Ask networks about pictures; return a table of the answers."""
    (folder / "input").mkdir(parents=True)
    for number, pixels in enumerate(images):
        Image.fromarray(pixels).save(folder / "input" / f"{number}.png")
    columns = [asked(network, folder) for network in networks]
    head = "| | " + " | ".join(f"`{each.card.model} {each.source}`" for each in networks) + " |"
    rows = [head, "|---" * (len(networks) + 1) + "|"]
    for number, label in enumerate(labels):
        rows.append(f"| {label} | " + " | ".join(answer(each[number], label) for each in columns) + " |")
    return "\n".join([*rows, ""])


def asked(network: ZooNetwork, folder: Path) -> list[dict[str, Any]]:
    """Return what a network answers to the pictures of a folder, in the order of their names."""
    given = [f"model={network.card.model}", f"weights={network.source}", f"input={folder / 'input'}"]
    run = registry.dispatch("infer", Overrides.parse([*given, f"output.root={folder}", "backend=cpu"]))
    return sorted(run.predictions, key=lambda each: str(each["input"]))


def answer(prediction: dict[str, Any], label: str) -> str:
    """Return an answer in words, bold where it is wrong."""
    said = str(prediction["class"])
    right = said.replace("/", " or ") == label
    return f"{said if right else f'**{said}**'} {float(prediction['probability']):.2f}"


def reviews(work: Path) -> str:
    """Ask the classifier of film reviews."""
    rows = ["| review | prediction |", "|---|---|"]
    for text in REVIEWS:
        run = infer_text(work, "classifier", [f"input={text}"])
        said = run.predictions[0]
        rows.append(f"| {text} | {said['class']} {float(said['probability']):.2f} |")
    return "\n".join([*rows, ""])


def shakespeare(work: Path) -> str:
    """Let the language model write."""
    settings = [f"prompt={PROMPT}", "length=300", "top_p=0.9", "seed=1"]
    run = infer_text(work, "lm", settings)
    written = (run.folder / "generated.txt").read_text(encoding="utf-8").strip()
    command = " ".join(["python -m zoo infer model=transformer/lm weights=zoo", f'prompt="{PROMPT}"', *settings[1:]])
    return f"```bash\n{command}\n```\n\n```text\n{written}\n```\n"


def infer_text(work: Path, model: str, settings: list[str]) -> Run:
    """Use a network of texts."""
    given = [f"model=transformer/{model}", "weights=zoo", f"output.root={work}", "backend=cpu"]
    return registry.dispatch("infer", Overrides.parse([*given, *settings]))


def sheet(work: Path, data: Path, painting: Path, runs: tuple[str, str], kept: Path) -> None:
    """Set four ways of painting three photos side by side, a row for each photo."""
    shown = sorted(photos(work / "shown").glob("*.png"))
    ways = [shown, optimized(kept / "optimized", shown, painting, data / FEATURES)]
    fast = "model=style_transfer/fast"
    ways += [restyled(work / f"network{number}", [fast, f"run={run}"]) for number, run in enumerate(runs)]
    any_painting = ["model=style_transfer/any", f"weights={data / 'style_arbitrary'}"]
    ways.append(restyled(work / "any", any_painting, painting))
    rows = [row([opened(way[number]) for way in ways], 200) for number in range(len(shown))]
    write(PICTURES / "sheet.jpg", rows, quality=80)


def optimized(work: Path, shown: list[Path], painting: Path, features: Path) -> list[Path]:
    """Optimize each photo; return the results."""
    results = [work / f"{path.stem}.png" for path in shown]
    work.mkdir(parents=True, exist_ok=True)
    for path, result in zip(shown, results, strict=True):
        given = [f"content={path}", f"style={painting}", f"feature_weights={features}", f"save={result}"]
        if not result.is_file():
            registry.dispatch(
                "train",
                Overrides.parse(
                    ["model=style_transfer", *given, f"size={SHEET_SIZE}", f"output.root={work}", "backend=cpu"]
                ),
            )
    return results


def opened(path: Path) -> Image.Image:
    """Open a picture in true colors."""
    with Image.open(path) as picture:
        return picture.convert("RGB")


def row(pictures: list[Image.Image], height: int = HEIGHT) -> Image.Image:
    """Return pictures of one height side by side."""
    sized = [picture.resize((round(picture.width * height / picture.height), height)) for picture in pictures]
    canvas = Image.new("RGB", (sum(each.width + GAP for each in sized) - GAP, height), "white")
    left = 0
    for each in sized:
        canvas.paste(each, (left, 0))
        left += each.width + GAP
    return canvas


def write(path: Path, rows: list[Image.Image], quality: int = 85) -> None:
    """Write rows of pictures, one below the other."""
    canvas = Image.new(
        "RGB", (max(each.width for each in rows), sum(each.height + GAP for each in rows) - GAP), "white"
    )
    top = 0
    for each in rows:
        canvas.paste(each, (0, top))
        top += each.height + GAP
    canvas.save(path, quality=quality)
    print(f"{path}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
