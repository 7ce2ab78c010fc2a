"""Write the images in TFRecord files as files in one folder a class, which data=folder reads.

    python scripts/images_of_records.py FILE|DIR FOLDER        all files below DIR

Parts in the names of the files stay apart: FOLDER/train, FOLDER/validation, FOLDER/test. A record is a
tf.train.Example with an image (JPEG, PNG, GIF, BMP) and its label, a whole number or a word. Classes get the names in
LABEL.labels.txt, which TensorFlow Datasets writes next to its files.

The format is described in https://www.tensorflow.org/tutorials/load_data/tfrecord, the encoding of a record in
https://protobuf.dev/programming-guides/encoding. The checksum of each length is verified, that of the data is not.
"""

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts import conversions
from zoo.core import console, formats
from zoo.core.errors import ZooError, counted, listed
from zoo.core.paths import user_path
from zoo.data.images import set_parts
from zoo.runs.event_files import masked_crc

NAME = re.compile(r"\.(tfrec|tfrecords?)$|-\d+-of-\d+$")
LABELS = ("label", "labels", "class", "target", "category")
SUFFIXES = {b"\xff\xd8": ".jpg", b"\x89P": ".png", b"GI": ".gif", b"BM": ".bmp", b"RI": ".webp"}
Value = int | bytes
Example = dict[str, list[Value]]


def main(arguments: list[str] | None = None) -> int:
    """Write the images and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", metavar="FILE|DIR", help="a TFRecord file, or a folder of such files")
    parser.add_argument("target", metavar="FOLDER", help="a new folder for the images")
    parser.add_argument("--image", metavar="NAME", help="the feature that contains the image (default: found)")
    parser.add_argument("--label", metavar="NAME", help="the feature that contains the label (default: found)")
    given = parser.parse_args(arguments)
    target = user_path(given.target)
    return conversions.run(lambda: convert(given.source, target, given.image, given.label), [given.source])


def convert(source: str, target: Path, image: str | None, label: str | None) -> None:
    """Write the images of a file or folder into a new folder."""
    conversions.refuse_existing(target)
    with conversions.new(target, parents=True) as folder:
        counts = write(conversions.existing(source), folder, image, label)
    unlabeled = counts.pop("", 0)
    for name, count in sorted(counts.items()):
        console.say(f"{target / name}: {counted(count, 'image')}")
    if unlabeled:
        console.warn(f"{counted(unlabeled, 'image')} without a label: not written")
    console.say(f"To train: python -m zoo train model=mobilenet data=folder data.root={target}")


def write(source: Path, target: Path, image: str | None, label: str | None) -> Counter[str]:
    """Write all images; return their numbers by folder, and of images without a label by an empty name."""
    names_of = () if source.is_file() else conversions.names_below(source)
    below = [conversions.existing(source / name) for name in sorted(names_of) if NAME.search(name)]
    below = [source] if source.is_file() else below
    if not below:
        raise ZooError(f"{source} has no TFRecord file", "Name such a file, or a folder with some.")
    tops = {file.relative_to(source).parts[0] for file in below if file.parent != source} if source.is_dir() else set()
    copies = sorted(top for top in tops if any((source / top).rglob("*train*")))
    if len(copies) > 1:
        raise ZooError(
            f"{source} has training files in {listed(copies)}: one set in several sizes?", "Name one folder."
        )
    counts: Counter[str] = Counter()
    features: list[str] = []
    for file in below:
        part, names = part_of(file.relative_to(source.parent)), dict[str, list[str]]()
        for number, record in enumerate(records(file), 1):
            where = f"{file}, record {number}"
            example = parsed(where, record)
            key = image or image_of(example)
            if key is None or not isinstance(content := (example.get(key) or [0])[0], bytes):
                raise ZooError(f"{where}: no feature is an image: {shown(example)}", "Name it with --image.")
            wanted = label or label_of(example, key)
            values = example.get(wanted, []) if wanted else []
            features = features or [shown(example)]
            if len(values) != 1:
                counts[""] += 1
                continue
            if wanted not in names:
                listing = file.parent / f"{wanted}.labels.txt"
                names[str(wanted)] = conversions.text_of(listing).split("\n") if listing.is_file() else []
            folder = Path(part) / class_of(where, values[0], names[str(wanted)])
            (target / folder).mkdir(parents=True, exist_ok=True)
            counts[str(folder)] += 1
            suffix = SUFFIXES.get(content[:2], ".img")
            (target / folder / f"{file.name.replace('.', '_')}-{number:06}{suffix}").write_bytes(content)
    if not features:
        raise ZooError(f"{source} has no records", "Check that it is complete.")
    if not +Counter({name: count for name, count in counts.items() if name}):
        raise ZooError(f"{source} has no image with a label: {listed(features)}", "Name the label with --label.")
    return counts


def part_of(path: Path) -> str:
    """Return the part in the name of a file, or of a folder above it; an empty text without one."""
    words = (word for name in reversed(path.parts) for word in re.split(r"[^a-z]+", name.lower()))
    return next((set_parts.WORDS[word] for word in words if word in set_parts.WORDS), "")


def image_of(example: Example) -> str | None:
    """Return the name of the feature that is one encoded image, first one called so."""
    named = [name for name, values in example.items() if len(values) == 1 and is_image(values[0])]
    return min(named, key=lambda name: "image" not in name.lower(), default=None)


def is_image(value: Value) -> bool:
    kind = formats.find(head=value[: formats.HEAD_BYTES]) if isinstance(value, bytes) else None
    return kind is not None and kind.group == "image"


def label_of(example: Example, image: str) -> str | None:
    """Return the name of the feature that is the label: a word before a number, as in image/class/text."""
    named = [
        name
        for name, values in example.items()
        if name != image and len(values) == 1 and {*LABELS} & {*re.split(r"[^a-z]+", name.lower())}
    ]
    return min(named, key=lambda name: (not name.endswith("text"), "label" not in name.lower()), default=None)


def class_of(where: str, value: Value, names: list[str]) -> str:
    if isinstance(value, int):
        name = names[value] if 0 <= value < len(names) and names[value] else str(value)
    else:
        name = value.decode("utf-8", "replace")
    conversions.refuse_name(name, f"{where}: the class")
    return name


def shown(example: Example) -> str:
    kinds = (
        f"{name} ({len(values)} {type(values[0]).__name__ if values else 'numbers'})"
        for name, values in example.items()
    )
    return listed(sorted(kinds))


def records(file: Path) -> Iterator[bytes]:
    """Yield the content of each record: 8 bytes of length, 4 of its checksum, the content, 4 of its checksum."""
    with file.open("rb") as stream:
        while head := stream.read(12):
            size = int.from_bytes(head[:8], "little")
            if len(head) < 12 or masked_crc(head[:8]) != head[8:]:
                raise ZooError(f"{file} is not a TFRecord file, or is damaged", "Files packed by gzip: unpack them.")
            if size > file.stat().st_size or len(content := stream.read(size + 4)) < size + 4:
                raise ZooError(f"{file} is truncated", "Download it again.")
            yield content[:-4]


def parsed(where: str, record: bytes) -> Example:
    """Return the features of a tf.train.Example with bytes or whole numbers; those with fractions are empty."""
    example: Example = {}
    try:
        for features in of_field(record, 1):
            for entry in of_field(features, 1):
                name = next(of_field(entry, 1)).decode("utf-8")
                example[name] = []
                for feature in of_field(entry, 2):
                    example[name] += [value for values in of_field(feature, 1) for value in of_field(values, 1)]
                    example[name] += [value for values in of_field(feature, 3) for value in numbers(values)]
    except (ValueError, IndexError, StopIteration) as error:
        raise ZooError(f"{where} is not a tf.train.Example", "Other records are not read.") from error
    return example


def of_field(message: bytes, wanted: int) -> Iterator[bytes]:
    """Yield the contents of a field of a message in the encoding of protocol buffers."""
    return (value for number, value in fields(message) if number == wanted and isinstance(value, bytes))


def numbers(values: bytes) -> Iterator[int]:
    """Yield the whole numbers of a list, packed in one field or one field each."""
    for _, value in fields(values):
        at = 0
        while isinstance(value, bytes) and at < len(value):
            number, at = varint(value, at)
            yield number
        if isinstance(value, int):
            yield value


def fields(message: bytes) -> Iterator[tuple[int, Value]]:
    at = 0
    while at < len(message):
        key, at = varint(message, at)
        if key & 7 == 0:
            number, at = varint(message, at)
            yield key >> 3, number
            continue
        size, at = varint(message, at) if key & 7 == 2 else ({1: 8, 5: 4}[key & 7] if key & 7 in (1, 5) else -1, at)
        if not 0 <= size <= len(message) - at:
            raise ValueError("a field is longer than its message")
        yield key >> 3, message[at : at + size]
        at += size


def varint(message: bytes, at: int) -> tuple[int, int]:
    """Return a whole number, which may be negative, and where the next one begins."""
    value = shift = 0
    while True:
        value |= (message[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if not message[at - 1] & 128:
            return value - (1 << 64) * (value >> 63 & 1), at
        if shift > 63:
            raise ValueError("a number has more than 64 bits")


if __name__ == "__main__":
    sys.exit(main())
