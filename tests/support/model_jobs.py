"""Commands that train and use each model of the zoo on little data: what a device must be able to compute."""

from collections.abc import Callable
from pathlib import Path

from PIL import Image

from tests.support import CHECKOUT
from tests.support.pictures import stripes

PHOTO = str(CHECKOUT / "assets" / "landscape.jpg")
SENTENCES = "good fine great", "bad poor awful"
Jobs = Callable[[Path], list[list[str]]]


def _digits(name: str, *more: str) -> Jobs:
    train = [
        "train",
        f"model={name}",
        "data=digits",
        "data.train_limit=200",
        "data.test_limit=50",
        "trainer.epochs=1",
    ]
    return lambda folder: [
        [*train, *more],
        ["infer", "run=last", "input=test"],
        ["train", "resume=last", "trainer.epochs=2"],
    ]


def _images(name: str, *more: str) -> Jobs:
    def jobs(folder: Path) -> list[list[str]]:
        images = stripes(folder / "images", 6, 40)
        data = ["data=folder", f"data.root={images}", "model.input_size=64"]
        return [
            ["train", f"model={name}", *more, *data, "trainer.epochs=1", "trainer.batch_size=8"],
            ["infer", "run=last", f"input={images}"],
        ]

    return jobs


def _texts(folder: Path) -> list[list[str]]:
    rows = [f"{SENTENCES[number % 2]} film number {number}\t{number % 2}\n" for number in range(60)]
    (folder / "texts.tsv").write_text("text\tlabel\n" + "".join(rows))
    data = ["data=text_table", f"data.root={folder / 'texts.tsv'}"]
    return [
        ["train", "model=transformer/classifier", *data, "trainer.epochs=1"],
        ["infer", "run=last", "input=a good film"],
    ]


def _writing(folder: Path) -> list[list[str]]:
    (folder / "book.txt").write_text("To be, or not to be, that is the question.\n" * 30)
    sizes = ["model.layers=1", "model.length=16", "model.d_model=16", "model.d_ff=32", "model.heads=2"]
    data = ["data=text_file", f"data.root={folder / 'book.txt'}", "trainer.epochs=1", "trainer.steps=4"]
    return [["train", "model=transformer/lm", *sizes, *data], ["infer", "run=last", "prompt=To be", "length=6"]]


def _painting(folder: Path) -> list[list[str]]:
    pictures = [f"content={PHOTO}", f"style={PHOTO}", "features=random", "size=64"]
    return [["train", "model=style_transfer", *pictures, "steps=2", f"optimizer={name}"] for name in ("adam", "lbfgs")]


def _style_network(folder: Path) -> list[list[str]]:
    images = stripes(folder / "images", 6, 40)
    train = [f"style={PHOTO}", f"photos={images}", "features=random", "trainer.steps=2", "trainer.size=64"]
    # PlaidML 0.7 corrupts its memory at some sizes, among them that of the photo.
    Image.open(PHOTO).resize((320, 212)).save(folder / "photo.png")
    return [["train", "model=style_transfer/fast", *train], ["infer", "run=last", f"input={folder / 'photo.png'}"]]


MODELS: dict[str, Jobs] = {
    "mnist": _digits("mnist"),
    "mnist_conv5": _digits("mnist_conv5"),
    "mnist_dense": _digits("mnist_dense"),
    "mnist_fast": _digits("mnist_fast"),
    "mobilenet": _images("mobilenet", "model.alpha=0.25"),
    "mobilenet_v2": _images("mobilenet_v2", "model.alpha=0.35"),
    "style_transfer": _painting,
    "style_transfer/fast": _style_network,
    "transformer/classifier": _texts,
    "transformer/lm": _writing,
}
