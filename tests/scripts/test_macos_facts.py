"""scripts/maintenance/macos_facts.py on small binaries and stubs."""

from pathlib import Path
from types import ModuleType

import pytest

from scripts.linking import macho, system
from tests.support import scripts
from tests.support.machos import macho as build
from zoo.core.errors import ZooError

LIBRARY, INNER = (
    "/System/Library/Frameworks/MPS.framework/Versions/A/MPS",
    "/System/Library/Frameworks/MPS.framework/Versions/A/Frameworks/MPSCore.framework/Versions/A/MPSCore",
)
STUB = """\
--- !tapi-tbd
tbd-version:     4
targets:         [ x86_64-macos, arm64e-macos, arm64-ios ]
install-name:    '{name}'
{more}
exports:
  - targets:         [ x86_64-macos, arm64e-macos ]
    symbols:         [ {symbols} ]
    objc-classes:    [ {classes} ]
  - targets:         [ x86_64-macos ]
    weak-symbols:    [ _intel ]
  - targets:         [ arm64-ios ]
    symbols:         [ _phone ]
...
"""
FOUNDATION = "/System/Library/Frameworks/Foundation.framework/Versions/C/Foundation"
AGAIN = "reexported-libraries:\n  - targets: [ x86_64-macos, arm64e-macos ]\n    libraries: [ '{name}' ]"


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setattr(system, "FACTS", tmp_path / "facts.txt")
    monkeypatch.setattr(system, "read", lambda path=None, read=system.read: read(path or tmp_path / "facts.txt"))
    module: ModuleType = scripts.load("maintenance/macos_facts")
    return module


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    """The folder of two environments, with three binaries in all."""
    wanted = [("_one", 1), ("_OBJC_CLASS_$_Two", 1), ("_never", 1), ("_weak", 1, True), ("_phone", 1)]
    files = {
        "a/new.so": build(libraries=[LIBRARY], imports=wanted, sdk=(14, 5)),
        "a/old.so": build(libraries=[LIBRARY], imports=[("_one", 1)], sdk=(12, 3)),
        "b/preview.so": build(libraries=[LIBRARY], imports=[("_one", 1), ("_flat", macho.FLAT)], sdk=(16, 0)),
    }
    for name, data in files.items():
        path = tmp_path / "wheels" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return tmp_path / "wheels"


def stub(path: Path, name: str = LIBRARY, symbols: str = "_one", classes: str = "", more: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(STUB.format(name=name, symbols=symbols, classes=classes, more=more))
    return path


def spans(arch: str = "arm64") -> dict[str, tuple[str, str]]:
    seen = system.read()[arch, LIBRARY].seen
    return {symbol: (system.text(first), system.text(last)) for symbol, (first, last) in seen.items()}


def test_binaries_show_what_their_sdk_had(script: ModuleType, wheels: Path) -> None:
    assert script.main([str(wheels)]) == 0
    expected = dict.fromkeys(("_OBJC_CLASS_$_Two", "_never", "_phone"), ("14.5", "14.5"))
    assert spans() == {**expected, "_one": ("12.3", "14.5"), "": ("12.3", "14.5")}
    assert system.read()["arm64", LIBRARY].looked_at == set()


def test_stubs_show_what_was_there_and_what_was_not(script: ModuleType, wheels: Path, tmp_path: Path) -> None:
    old = stub(tmp_path / "11/MPS.tbd", more=AGAIN.format(name=INNER))
    inner = stub(tmp_path / "11/MPSCore.tbd", INNER, "_flat", "Two")
    stub(tmp_path / "11/Foundation.tbd", FOUNDATION, more=AGAIN.format(name="/usr/lib/libobjc.A.dylib"))
    alone = stub(tmp_path / "15/MPS.tbd", more=AGAIN.format(name=INNER))
    arguments = [str(wheels), "--stubs", f"11.3={old.parent}", f"15.0={alone}"]
    assert script.main(arguments) == 0
    assert spans()["_OBJC_CLASS_$_Two"] == ("11.3", "14.5")
    assert spans()["_flat"] == ("11.3", "11.3")
    assert spans()["_one"] == ("11.3", "15.0")
    assert spans()["_phone"] == ("14.5", "14.5")
    facts = system.read()["arm64", LIBRARY]
    assert facts.looked_at == {(11, 3)}, "without the stub of a part, what is missing may be there"
    assert facts.state("_never", (11, 3)) == "absent"
    assert inner.exists()
    assert ("x86_64", LIBRARY) not in system.read()


def test_a_framework_in_an_umbrella_belongs_to_it(script: ModuleType, wheels: Path, tmp_path: Path) -> None:
    folder = stub(tmp_path / "11/MPS.tbd").parent
    stub(folder / "MPSCore.tbd", INNER, "_flat", "Two")
    assert script.main([str(wheels), "--stubs", f"11.3={folder}"]) == 0
    assert spans()["_OBJC_CLASS_$_Two"][0] == "11.3"
    # Stubs of which even Foundation's does not say what it exports again may hide symbols.
    assert system.read()["arm64", LIBRARY].looked_at == set()
    stub(folder / "Foundation.tbd", FOUNDATION, more=AGAIN.format(name="/usr/lib/libobjc.A.dylib"))
    assert script.main([str(wheels), "--stubs", f"11.3={folder}"]) == 0
    assert system.read()["arm64", LIBRARY].looked_at == {(11, 3)}


def test_known_facts_stay(script: ModuleType, wheels: Path, tmp_path: Path) -> None:
    known = f"\narm64 {LIBRARY}\nlooked at 11.0\n10.14 lacks _one\n11.0-11.0 _one\n"
    (tmp_path / "facts.txt").write_text(f"{known}\narm64 /usr/lib/a.dylib\n11.0-12.0 _a\n")
    assert script.main([str(wheels)]) == 0
    facts = system.read()
    assert spans()["_one"] == ("11.0", "14.5")
    assert facts["arm64", LIBRARY].lacking == {(10, 14): {"_one"}}
    assert facts["arm64", "/usr/lib/a.dylib"].seen == {"_a": ((11, 0), (12, 0))}
    assert (tmp_path / "facts.txt").read_text().startswith("# When symbols of macOS were seen")


def test_stubs_of_other_forms_are_refused(script: ModuleType, tmp_path: Path) -> None:
    old = stub(tmp_path / "old.tbd")
    old.write_text("--- !tapi-tbd-v3\narchs: [ x86_64 ]\ninstall-name: /usr/lib/a.dylib\n...\n")
    with pytest.raises(ZooError, match="old form"):
        script.stubs(old, "arm64")
    new = tmp_path / "new.tbd"
    new.write_text('{"tapi_tbd_version": 5}')
    with pytest.raises(ZooError, match="version 5"):
        script.stubs(new, "arm64")
