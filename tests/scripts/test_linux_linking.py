"""ELF files, the rules of Linux's dynamic linker, and code for GPUs, each on small files made here."""

import hashlib
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from scripts.linking import elf, linux
from tests.support.elves import elf as build
from tests.support.elves import fat_binary
from zoo.core import download
from zoo.environments import uv_client

GOOD = build(needed=["libc.so.6"], versions={"libc.so.6": ["GLIBC_2.2.5", "GLIBC_2.17"]})


def read(path: Path, data: bytes) -> elf.Image:
    path.write_bytes(data)
    assert elf.is_elf(path)
    return elf.read(path)


Check = Callable[..., linux.Findings]


@pytest.fixture
def check(tmp_path: Path) -> Check:
    """Check files by their places in site-packages, as if they were in one wheel."""

    def of(files: dict[str, bytes], tag: str = "manylinux_2_28_x86_64.whl", glibc: str = "2.28") -> linux.Findings:
        images = {name: read(tmp_path / "file", data) for name, data in files.items()}
        return linux.check([linux.Wheel("alpha", tag, images)], "x86_64", glibc)

    return of


def test_what_the_dynamic_linker_needs_is_read(tmp_path: Path) -> None:
    image = read(
        tmp_path / "lib.so",
        build(
            name="libone.so.1", needed=["libtwo.so", "libc.so.6"], search="$ORIGIN/../two:/opt",
            versions={"libc.so.6": ["GLIBC_2.17", "GLIBC_2.40"], "libtwo.so": ["TWO_1"]}, weak=["GLIBC_2.40"],
            defined=["libone.so.1", "ONE_2"], code=[("cubin", 75), ("lto", 99), ("ptx", 90), ("cubin", 120)],
        ),
    )  # fmt: skip
    assert image == elf.Image(
        "x86_64", "libone.so.1", ["libtwo.so", "libc.so.6"], ["$ORIGIN/../two", "/opt"],
        {"libc.so.6": ["GLIBC_2.17"], "libtwo.so": ["TWO_1"]}, ["libone.so.1", "ONE_2"], [75, 120], [90],
    )  # fmt: skip


@pytest.mark.parametrize("data", [b"\x7fELF", b"\x7fELF\x01\x01" + bytes(80), GOOD[:70], GOOD[:200]])
def test_a_damaged_file_is_named_as_such(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(elf.MalformedError):
        read(tmp_path / "lib.so", data)


def test_bytes_that_only_look_like_a_fat_binary_are_passed_over() -> None:
    chance = elf.FAT_MAGIC + b"\xff" * 8
    assert elf.fat_binaries(b"abc" + chance + b"abc" + fat_binary([("cubin", 86)])) == ({86}, set())


def test_libraries_are_found_by_search_path_then_by_name(check: Check) -> None:
    findings = check({
        "one/a.so": build(needed=["libb.so", "libc.so.6", "libcuda.so.1", "libd.so.2"], search="$ORIGIN/../two"),
        "two/libb.so": build(name="libb.so"),
        "far/libd.so": build(name="libd.so.2"),
    })  # fmt: skip
    assert (findings.problems, findings.needed, findings.system, findings.by_name) == ([], 4, 2, {"libd.so.2"})
    findings = check({"a.so": build(needed=["libmlx5.so.1"])})
    assert findings.problems == [("a.so", "library not found: libmlx5.so.1")]


def test_a_library_must_have_the_versions_that_others_need(check: Check) -> None:
    needs = build(needed=["libb.so"], versions={"libb.so": ["B_1", "B_2"]}, search="${ORIGIN}")
    assert check({"a.so": needs, "libb.so": build(defined=["B_1", "B_2"])}).problems == []
    assert check({"a.so": needs, "libb.so": build(defined=["B_1"])}).problems == [
        ("a.so", "libb.so has no symbols of version B_2")
    ]
    assert check({"a.so": needs, "libb.so": build()}).problems == []  # without versions, the linker asks for none


def test_a_newer_glibc_than_the_tag_or_the_lock_promises_is_a_problem(check: Check) -> None:
    files = {"a.so": build(versions={"libc.so.6": ["GLIBC_2.17", "GLIBC_2.27"], "libstdc++.so.6": ["GLIBCXX_3.4.9"]})}
    findings = check(files)
    assert (findings.problems, findings.highest) == ([], {"GLIBC": "2.27", "GLIBCXX": "3.4.9"})
    expected = [("a.so", "needs glibc 2.27, promised is 2.17")]
    assert check(files, tag="manylinux2014_x86_64.manylinux_2_17_x86_64.whl").problems == expected
    assert check(files, glibc="2.17").problems == expected


def test_a_file_for_another_processor_is_a_problem(check: Check) -> None:
    assert check({"a.so": build(machine=183)}).problems == [("a.so", "built for arm64")]
    assert check({"kernel.cubin": build(machine=elf.CUDA_MACHINE)}).problems == []


def test_code_runs_on_its_generation_and_ptx_on_all_that_are_newer() -> None:
    image = elf.Image("x86_64", cubins=[60, 80], ptx=[89])
    ways = {capability: linux.code(image, capability) for capability in (50, 60, 61, 75, 80, 86, 89, 90, 120)}
    assert ways == {50: "", 60: "own", 61: "own", 75: "", 80: "own", 86: "own", 89: "own", 90: "PTX", 120: "PTX"}
    wheel = linux.Wheel("alpha", "any.whl", {"a.so": image, "b.so": elf.Image("x86_64")})
    assert linux.gpus([wheel], 120) == {"own": [], "PTX": ["a.so"], "": []}


def test_wheels_are_read_once_and_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = tmp_path / "alpha-1.0-py3-none-manylinux_2_28_x86_64.whl"
    with zipfile.ZipFile(wheel, "w") as packed:
        packed.writestr("alpha-1.0.data/platlib/alpha/mod.so", GOOD)
        packed.writestr("alpha/__init__.py", "")
    sha256 = hashlib.sha256(wheel.read_bytes()).hexdigest()
    lock, cache = tmp_path / "lock", tmp_path / "cache"
    lock.write_text(f"alpha==1.0 --hash=sha256:{sha256}\n")
    fetched = []

    def run(arguments: list[str], extra: Mapping[str, str]) -> uv_client.CompletedCommand:
        row = f'{{url = "https://x/{wheel.name}", hashes = {{sha256 = "{sha256}"}}}}'
        table = Path(arguments[arguments.index("-o") + 1])
        table.write_text(f'[[packages]]\nname = "alpha"\nwheels = [{row}]\n')
        return uv_client.CompletedCommand(0, [])

    def fetch(name: str, urls: list[str], checksum: str, folder: Path, size: int | None) -> Path:
        fetched.append((urls, checksum))
        return wheel.rename(folder / name)

    monkeypatch.setattr(uv_client, "run", run)
    monkeypatch.setattr(download, "fetch", fetch)
    for _ in range(2):
        (each,) = linux.wheels(lock, "x86_64-unknown-linux-gnu", "3.12", cache)
        assert (each.name, each.tag, [*each.files]) == ("alpha", "manylinux_2_28_x86_64.whl", ["alpha/mod.so"])
    assert fetched == [([f"https://x/{wheel.name}"], sha256)]
    assert not list(cache.glob("*.whl"))
