"""Gather the photos that the zoo's own style networks learn from, out of Debian packages and scikit-image.

    apt-get download gnome-backgrounds lomiri-wallpapers-16.04 lomiri-wallpapers-20.04 mate-backgrounds \\
        plasma-workspace-wallpapers ukui-wallpapers
    for package in *.deb; do dpkg -x "$package" packages; done
    pip download --no-deps scikit-image && unzip -q scikit_image-*.whl -d packages
    python3 scripts/run.py python scripts/maintenance/training_photos.py packages DATA/photos
    python3 scripts/run.py python scripts/maintenance/training_photos.py packages DATA/photos_and_tiles --tiles

They were made for other purposes, under the licenses that their packages name (usr/share/doc/*/copyright); none comes
with the zoo. Each is scaled to 640 pixels along its longer side. `--tiles` adds the four quarters of each, scaled to
1,280 pixels before: crops of them show as few objects as a part of the large photos that networks restyle later.
"""

import sys
from pathlib import Path

from PIL import Image

EDGE = 640
# Parts of paths below the folder of the packages; the first file that has one, in the order of their paths, is taken.
WALLPAPERS = [
    "Bridge_by_Sander", "Dragonfly_by", "Fossa_by", "Infinite-Sea", "Kleiber_by", "Picture_0B", "Picture_1A",
    "Wine_by", "aitzgorri", "free_by", "friends_by", "greentock", "life_by", "picosdeeuropa", "seeding_by",
    "sunset_by", "umang_by", "2004default", "firstgeneration", "nature/Aqua", "nature/Blinds", "nature/Dune",
    "nature/FreshFlower", "nature/Garden", "nature/GreenMeadow", "nature/LadyBird", "nature/RainDrops",
    "nature/Storm", "nature/TwoWings", "nature/Wood", "nature/YellowFlower", "abstract/Elephants.jpg",
    "Autumn/contents/images", "BytheWater/contents/images", "ColorfulCups/contents/images",
    "EveningGlow/contents/images", "FallenLeaf/contents/images", "OneStandsOut/contents/images",
    "Path/contents/images", "DarkestHour/contents/images", "Kite/contents/images", "summer_1am/contents/images",
    "Grey/contents/images", "ColdRipple/contents/images", "goldfish", "calla", "the-mouse", "rhythm", "string",
]  # fmt: skip
SAMPLE = "skimage/data/"
SAMPLES = [f"{SAMPLE}{name}" for name in ("astronaut", "chelsea", "coffee", "rocket", "motorcycle_left")]
SUFFIXES = (".jpg", ".jpeg", ".png")


def main(arguments: list[str]) -> int:
    """Write all photos into a folder; return 1 where some are missing."""
    tiles = arguments[2:] == ["--tiles"]
    if len(arguments) != 2 + tiles or arguments[0].startswith("-"):
        print(__doc__)
        return 0 if arguments in (["-h"], ["--help"]) else 2
    source, target = map(Path, arguments[:2])
    files = sorted(path for path in source.rglob("*") if path.is_file() and path.suffix.lower() in SUFFIXES)
    target.mkdir(parents=True, exist_ok=True)
    missing = [name for name in [*WALLPAPERS, *SAMPLES] if not take(name, files, target, tiles)]
    print(f"{len(WALLPAPERS) + len(SAMPLES) - len(missing)} photos in {target}")
    print("".join(f"Missing: {name}\n" for name in missing), end="")
    return 1 if missing else 0


def take(name: str, files: list[Path], target: Path, tiles: bool) -> bool:
    """Scale the photo of a name, and write its quarters if asked; return whether there is one."""
    match = next((path for path in files if name in path.as_posix()), None)
    if match is None:
        return False
    photo = Image.open(match).convert("RGB")
    short = name.removeprefix(SAMPLE).removesuffix(".jpg").replace("/", "_")
    if tiles:
        photo.thumbnail((2 * EDGE, 2 * EDGE), Image.Resampling.LANCZOS)
        wide, high = photo.width // 2, photo.height // 2
        for number in range(4):
            left, top = number % 2 * wide, number // 2 * high
            tile = photo.crop((left, top, left + wide, top + high))
            tile.save(target / f"{short}_{number}.jpg", quality=92)
    photo.thumbnail((EDGE, EDGE))
    photo.save(target / f"{short}.jpg", quality=92)
    return True


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
