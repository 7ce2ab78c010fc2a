"""Mach-O files, dyld's rules, the facts about macOS, and metadata, each on small files made here."""

import os
from pathlib import Path

import pytest

from scripts.linking import dyld, macho, metadata, system, wheels
from tests.support.machos import fat
from tests.support.machos import macho as build

SYSTEM = "/usr/lib/libSystem.B.dylib"
GRAPH = "/System/Library/Frameworks/MetalPerformanceShadersGraph.framework/Versions/A/MetalPerformanceShadersGraph"
FACTS = """\
# A comment.

arm64 /usr/lib/libSystem.B.dylib
looked at 11.3 12.3
11.0 lacks _early
11.0-15.0 (itself)
11.3-12.3 _malloc
12.0 lacks _late
12.1-12.3 _late _new
11.3-11.3 _gone
12.3-15.0 _early

x86_64 /usr/lib/libSystem.B.dylib
10.9-15.0 (itself) _malloc
"""


def slices(path: Path, data: bytes) -> dict[str, macho.Image]:
    path.write_bytes(data)
    assert macho.is_macho(path)
    return macho.read(path)


@pytest.fixture
def facts(tmp_path: Path) -> system.Facts:
    (tmp_path / "facts.txt").write_text(FACTS)
    return system.read(tmp_path / "facts.txt")


class Folder:
    """An environment that a test fills."""

    def __init__(self, root: Path, facts: system.Facts) -> None:
        self.root, self.facts = root / "environment", facts

    def add(self, name: str, data: bytes) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def check(self, arch: str = "arm64", macos: str = "12.0") -> dyld.Findings:
        files = wheels.images(self.root)
        return dyld.Environment(self.root, arch, files, self.facts, system.version(macos)).check()


@pytest.fixture
def folder(tmp_path: Path, facts: system.Facts) -> Folder:
    return Folder(tmp_path, facts)


# -- files


@pytest.mark.parametrize("form", ["chained", "classic"])
def test_what_a_file_binds_and_exports_is_read(tmp_path: Path, form: str) -> None:
    imports = [("_malloc", 1), ("_weak", 2, True), ("_PyLong_Type", macho.FLAT), ("__Znwm", macho.WEAK_LOOKUP)]
    data = build(
        form=form, name="@rpath/liba.dylib", libraries=[SYSTEM, ("@rpath/libb.dylib", "weak")],
        rpaths=["@loader_path/../lib"], imports=imports, sdk=(14, 5),
        exports={"_one": None, "_one_more": None, "_again": (2, "_other"), "_same": (2, "")},
    )  # fmt: skip
    image = slices(tmp_path / "liba.dylib", data)["arm64"]
    assert (image.kind, image.install_name, image.rpaths) == ("dylib", "@rpath/liba.dylib", ["@loader_path/../lib"])
    assert image.libraries == [macho.Library(SYSTEM, "strong"), macho.Library("@rpath/libb.dylib", "weak")]
    assert (image.minimum, image.sdk, image.signature) == ((12, 0), (14, 5), "")
    assert image.imports == {macho.Import(*(*each, False)[:3]) for each in imports}
    assert image.export("_one") == image.export("_one_more") == macho.Export()
    assert image.export("_again") == macho.Export(2, "_other")
    assert image.export("_same") == macho.Export(2, "")
    assert image.export("_on") is image.export("_one_") is image.export("_two") is None


def test_a_file_without_a_trie_exports_its_symbol_table(tmp_path: Path) -> None:
    image = slices(tmp_path / "a.so", build(form="symtab", exports=["_one", "_two"]))["arm64"]
    assert image.export("_two")
    assert image.export("_three") is None


def test_an_empty_edge_of_a_trie_is_followed(tmp_path: Path) -> None:
    """The linker of older Xcodes writes ``_inflate`` as an empty edge below the node that ``_inflateInit`` shares."""
    leaf = b"\x02\x00\x00\x00"
    trie = b"\x00\x01_inflate\x00\x0c" + b"\x00\x02Init\x00\x16\x00\x1a" + leaf + leaf
    image = macho.Image(tmp_path, "arm64", "dylib", trie=trie)
    assert image.export("_inflateInit") == image.export("_inflate") == macho.Export()
    assert image.export("_inflateEnd") is None


def test_each_slice_of_a_fat_file_is_read(tmp_path: Path) -> None:
    data = fat(("x86_64", build(arch="x86_64", exports=["_x"])), ("arm64", build(exports=["_a"])))
    read = slices(tmp_path / "a.so", data)
    assert set(read) == {"x86_64", "arm64"}
    assert read["x86_64"].export("_x")
    assert not read["x86_64"].export("_a")
    assert {image.signature for image in read.values()} == {""}


def test_a_changed_byte_breaks_the_signature(tmp_path: Path) -> None:
    data = bytearray(build(rpaths=["@loader_path/" + "a" * 9000]))
    data[5000] ^= 1
    assert slices(tmp_path / "a", bytes(data))["arm64"].signature == "page 1 of 3 has been changed"
    assert slices(tmp_path / "b", build(signed=False))["arm64"].signature == "missing"


@pytest.mark.parametrize("form", ["chained", "classic", "symtab"])
def test_no_broken_file_ends_in_a_traceback(tmp_path: Path, form: str) -> None:
    whole = build(form=form, libraries=[SYSTEM], imports=[("_malloc", 1)], exports=["_one"], rpaths=["@loader_path"])
    for length in range(8, len(whole), 3):
        (tmp_path / "a").write_bytes(whole[:length])
        with pytest.raises(macho.MalformedError):
            macho.read(tmp_path / "a")
    for place in range(8, len(whole)):
        (tmp_path / "a").write_bytes(whole[:place] + b"\xff" + whole[place + 1 :])
        read = wheels.images(tmp_path)
        assert read, "a changed byte behind the magic leaves it a Mach-O file"


@pytest.mark.parametrize("data", [b"", b"\xcf\xfa", b"#!/bin/sh\n", b"\xca\xfe\xba\xbe\x00\x00\x00\x41"])
def test_other_files_are_not_read(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a").write_bytes(data)  # The last one is a Java class.
    assert wheels.images(tmp_path) == {}


@pytest.mark.parametrize("trie", [b"\x00\x01\x00\x00", b"\x00\x01_a", b"\xff", b"\x00\x01_a\x00\x7f"])
def test_a_broken_trie_exports_nothing(tmp_path: Path, trie: bytes) -> None:
    assert macho.Image(tmp_path, "arm64", "dylib", trie=trie).export("_a") is None


# -- dyld's rules


def test_what_loads_has_no_problem(folder: Folder) -> None:
    folder.add("lib/liba.dylib", build(name="@rpath/liba.dylib", libraries=[SYSTEM], imports=[("_malloc", 1)],
                                      exports=["_a"]))  # fmt: skip
    imports = [("_a", 1), ("_malloc", 2), ("_PyLong_FromLong", macho.FLAT), ("__Py_NoneStruct", macho.FLAT)]
    folder.add("pkg/mod.so", build(kind="bundle", libraries=["@rpath/liba.dylib", SYSTEM],
                                  rpaths=["@loader_path/../lib"], imports=imports))  # fmt: skip
    findings = folder.check()
    assert findings.problems == []
    assert findings.bound == 5
    assert findings.interpreter == {"_PyLong_FromLong", "__Py_NoneStruct"}
    assert findings.unknown == findings.earlier == set()
    assert findings.system == {(SYSTEM, ""), (SYSTEM, "_malloc")}


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"libraries": ["@rpath/libno.dylib"]}, "library not found: @rpath/libno.dylib"),
        ({"libraries": ["@loader_path/../lib/libno.dylib"]}, "library not found: @loader_path/../lib/libno.dylib"),
        ({"libraries": ["/usr/local/opt/zstd.dylib"]}, "library not found: /usr/local/opt/zstd.dylib"),
        ({"libraries": ["@loader_path/liba.dylib"], "imports": [("_b", 1)]}, "symbol not found: _b in liba.dylib"),
        ({"libraries": [SYSTEM], "imports": [("_late", 1)]}, f"symbol not found: _late in {SYSTEM} of macOS 12.0"),
        ({"libraries": [SYSTEM], "imports": [("_gone", 1)]}, None),
        ({"libraries": [SYSTEM], "imports": [("_a", 2)]}, "_a names library 2 of 1"),
        ({"imports": [("_own", macho.SELF)]}, "symbol not found: _own in itself"),
        ({"imports": [("_own", macho.SELF)], "exports": ["_own"]}, None),
        ({"imports": [("_nowhere", macho.FLAT)]}, "symbol not found: _nowhere in any library that is loaded"),
        ({"libraries": [("@rpath/libno.dylib", "weak")], "imports": [("_b", 1)]}, None),
        ({"libraries": ["@loader_path/liba.dylib"], "imports": [("_b", 1, True)]}, None),
        ({"libraries": [SYSTEM], "imports": [("_late", 1, True)]}, None),
        ({"signed": False}, "code signature: missing"),
        ({"arch": "x86_64"}, "built for x86_64"),
    ],
)
def test_what_does_not_load_is_named(folder: Folder, options: dict, text: str | None) -> None:
    folder.add("liba.dylib", build(name="@rpath/liba.dylib", exports=["_a"]))
    folder.add("mod.so", build(kind="bundle", **options))
    assert folder.check().problems == ([("mod.so", text)] if text else [])


def test_processors_of_intel_take_files_without_a_signature(folder: Folder) -> None:
    folder.add("mod.so", build(arch="x86_64", signed=False, libraries=[SYSTEM], imports=[("_malloc", 1)]))
    assert folder.check("x86_64").problems == []


def test_a_file_that_is_cut_off_is_a_problem(folder: Folder) -> None:
    folder.add("mod.so", build()[:60])
    ((name, text),) = folder.check().problems
    assert name == "mod.so"
    assert text.startswith("malformed: ")


def test_search_paths_of_what_loaded_an_image_count(folder: Folder) -> None:
    folder.add("lib/libb.dylib", build(name="@rpath/libb.dylib", exports=["_b"]))
    folder.add(
        "inner/liba.dylib", build(name="@rpath/liba.dylib", libraries=["@rpath/libb.dylib"], imports=[("_b", 1)])
    )
    assert [text for _, text in folder.check().problems] == []
    folder.add("lib/libb.dylib", build(name="@rpath/other.dylib", exports=["_b"]))
    assert [text for _, text in folder.check().problems] == ["library not found: @rpath/libb.dylib"]
    folder.add("mod.so", build(libraries=["@loader_path/inner/liba.dylib"], rpaths=["@loader_path/lib"]))
    assert folder.check().problems == []


def test_a_library_that_was_loaded_before_counts_by_its_install_name(folder: Folder) -> None:
    folder.add("plugin.dylib", build(libraries=["@rpath/libtf.dylib"], imports=[("_tf", 1)]))
    folder.add("tf/libtf.dylib", build(name="@rpath/libtf.dylib", exports=["_tf"]))
    findings = folder.check()
    assert findings.problems == []
    assert findings.earlier == {("plugin.dylib", "@rpath/libtf.dylib")}
    folder.add("tf/libtf.dylib", build(name="@rpath/libtf.3.dylib", exports=["_tf"]))
    assert folder.check().problems == [("plugin.dylib", "library not found: @rpath/libtf.dylib")]


def test_an_executable_finds_what_lies_beside_it(folder: Folder) -> None:
    folder.add("bin/tool", build(kind="executable", libraries=["@executable_path/../lib/liba.dylib"]))
    folder.add("lib/liba.dylib", build(name="@rpath/liba.dylib"))
    assert folder.check().problems == []
    os.rename(folder.root / "bin", folder.root / "deep")
    (folder.root / "deep").rename(folder.root / "lib" / "bin")
    assert folder.check().problems == [("lib/bin/tool", "library not found: @executable_path/../lib/liba.dylib")]


@pytest.mark.parametrize(
    "middle",
    [
        {"libraries": [("@loader_path/liba.dylib", "reexport")]},
        {"libraries": ["@loader_path/liba.dylib"], "exports": {"_a": (1, "")}},
        {"libraries": ["@loader_path/liba.dylib"], "exports": {"_a": (1, "_first")}},
    ],
)
def test_what_a_library_exports_of_another_is_found(folder: Folder, middle: dict) -> None:
    folder.add("liba.dylib", build(name="@rpath/liba.dylib", exports=["_a", "_first"]))
    folder.add("middle.dylib", build(name="@rpath/middle.dylib", **middle))
    folder.add("mod.so", build(libraries=["@loader_path/middle.dylib"], imports=[("_a", 1)]))
    assert folder.check().problems == []
    folder.add("liba.dylib", build(name="@rpath/liba.dylib", exports=["_b"]))
    assert folder.check().problems == [("mod.so", "symbol not found: _a in middle.dylib")]


def test_libraries_that_export_each_other_again_end(folder: Folder) -> None:
    for one, other in ("ab", "ba"):
        folder.add(f"lib{one}.dylib", build(name=f"@rpath/lib{one}.dylib",
                                           libraries=[(f"@loader_path/lib{other}.dylib", "reexport")]))  # fmt: skip
    folder.add("mod.so", build(libraries=["@loader_path/liba.dylib"], imports=[("_no", 1)]))
    assert folder.check().problems == [("mod.so", "symbol not found: _no in liba.dylib")]


def test_a_symbol_without_a_library_is_looked_for_in_all(folder: Folder) -> None:
    folder.add("mod.so", build(imports=[("_a", macho.FLAT)]))
    folder.add("liba.dylib", build(name="@rpath/liba.dylib", exports=["_a"]))
    findings = folder.check()
    assert findings.problems == []
    assert findings.earlier == {("mod.so", "_a")}
    folder.add("mod.so", build(libraries=[SYSTEM], imports=[("_malloc", macho.WEAK_LOOKUP)]))
    assert folder.check().system == {(SYSTEM, ""), (SYSTEM, "_malloc")}


def test_what_nobody_knows_is_counted_and_not_claimed(folder: Folder) -> None:
    folder.add("mod.so", build(libraries=[SYSTEM, "/usr/lib/libother.dylib"],
                              imports=[("_malloc", 1), ("_other", 2), ("_x", macho.FLAT)]))  # fmt: skip
    findings = folder.check(macos="14.0")
    assert findings.problems == []
    unknown = {(SYSTEM, "_malloc"), ("/usr/lib/libother.dylib", ""), ("/usr/lib/libother.dylib", "_other")}
    assert findings.unknown == {*unknown, ("any library", "_x")}


# -- facts


@pytest.mark.parametrize(
    ("symbol", "version", "state"),
    [
        ("_malloc", "11.3", "present"), ("_malloc", "12.0", "present"), ("_malloc", "12.3", "present"),
        ("_malloc", "11.0", "unknown"), ("_malloc", "13.0", "unknown"),
        ("_new", "12.1", "present"), ("_new", "12.0", "unknown"),
        ("_new", "11.3", "absent"), ("_new", "11.0", "absent"),
        ("_gone", "11.3", "present"), ("_gone", "12.0", "unknown"), ("_gone", "12.3", "absent"),
        ("_gone", "13.0", "absent"),
        ("_never", "11.3", "unknown"), ("_never", "12.0", "unknown"),
        ("_early", "11.0", "absent"), ("_early", "10.15", "absent"), ("_early", "12.0", "unknown"),
        ("", "12.0", "present"), ("", "26.0", "unknown"),
    ],
)  # fmt: skip
def test_a_symbol_is_there_between_where_it_was_seen(
    facts: system.Facts, symbol: str, version: str, state: str
) -> None:
    assert facts["arm64", SYSTEM].state(symbol, system.version(version)) == state


def test_facts_are_written_as_they_are_read(facts: system.Facts, tmp_path: Path) -> None:
    again = tmp_path / "again.txt"
    again.write_text("\n".join(system.lines(facts)))
    assert system.read(again) == facts
    facts["arm64", SYSTEM].add("_malloc", (10, 9))
    assert facts["arm64", SYSTEM].seen["_malloc"] == ((10, 9), (12, 3))


@pytest.mark.parametrize(
    ("arch", "library", "symbol", "version", "state"),
    [
        ("x86_64", SYSTEM, "____chkstk_darwin", "10.13", "absent"),
        ("x86_64", SYSTEM, "____chkstk_darwin", "10.14", "present"),
        ("arm64", GRAPH, "_OBJC_CLASS_$_MPSGraphRandomOpDescriptor", "12.0", "absent"),
        ("arm64", GRAPH, "_OBJC_CLASS_$_MPSGraphRandomOpDescriptor", "12.1", "present"),
        ("arm64", SYSTEM, "_malloc", "26.0", "present"),
    ],
)
def test_facts_of_the_project(arch: str, library: str, symbol: str, version: str, state: str) -> None:
    assert system.read()[arch, library].state(symbol, system.version(version)) == state


# -- metadata


def wheel(folder: Path, name: str, version: str, *lines: str) -> None:
    place = folder / f"{name}-{version}.dist-info"
    place.mkdir(parents=True)
    (place / "METADATA").write_text("\n".join([f"Name: {name}", f"Version: {version}", *lines]) + "\n\n")


def test_requirements_are_held_against_the_lock(tmp_path: Path) -> None:
    wheel(tmp_path, "alpha", "1.0", "Requires-Python: >=3.8", "Requires-Dist: beta>=2",
          'Requires-Dist: gone; sys_platform == "linux"', 'Requires-Dist: mac; sys_platform == "darwin"',
          'Requires-Dist: gpu; extra == "gpu"', "Requires-Dist: left-out")  # fmt: skip
    wheel(tmp_path, "beta", "1.5", "Requires-Python: <3.11", "Requires-Dist: alpha[gpu]")
    wheel(tmp_path, "stray", "9.9")
    pins = {"alpha": "1.0", "beta": "1.5", "stray": "9.8"}
    environment = metadata.markers("macos-arm64", "3.12")
    assert metadata.problems(tmp_path, ["alpha", "delta==3"], pins, environment, ["left-out"]) == [
        ("alpha", "needs beta>=2, the lock has 1.5"),
        ("alpha", 'needs gpu; extra == "gpu", which is not in the lock'),
        ("alpha", 'needs mac; sys_platform == "darwin", which is not in the lock'),
        ("beta", "needs Python <3.11"),
        ("stray", "version 9.9, the lock has 9.8"),
        ("the stack", "needs delta==3, which is not in the lock"),
    ]


def test_sources_that_need_a_compiler_are_named(tmp_path: Path) -> None:
    import tarfile
    import zipfile

    for name in ("pkg/src/_c.c", "pkg/tests/test.c", "pkg/pure.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    with tarfile.open(tmp_path / "pkg.tar.gz", "w:gz") as packed:
        packed.add(tmp_path / "pkg", "pkg-1")
    with zipfile.ZipFile(tmp_path / "pkg.zip", "w") as whole:
        whole.writestr("pkg-1/pure.py", "")
        whole.writestr("pkg-1/fast.pyx", "")
    assert metadata.compiled(wheels.Source("pkg", "1", tmp_path / "pkg.tar.gz")) == ["pkg-1/src/_c.c"]
    assert metadata.compiled(wheels.Source("pkg", "1", tmp_path / "pkg.zip")) == ["pkg-1/fast.pyx"]
