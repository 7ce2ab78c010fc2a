"""Battery or mains, from what the systems print (forms of public bug reports and of Linux's documentation)."""

import platform
from pathlib import Path

import pytest

from zoo.environments import power
from zoo.environments.power import Power, of_pmset, of_supplies

BATTERY = """Now drawing from 'Battery Power'
 -InternalBattery-0 (id=4653155)\t81%; discharging; 5:25 remaining present: true
"""
CHARGING = """Now drawing from 'AC Power'
 -InternalBattery-0 (id=4653155)\t99%; charging; 0:20 remaining present: true
"""
DESKTOP = "Now drawing from 'AC Power'\n"


@pytest.mark.parametrize(
    ("text", "power"),
    [
        (BATTERY, Power(True, 81)),
        (CHARGING, Power(False, 99)),
        (DESKTOP, Power(False, None)),
        ("", Power(False, None)),
    ],
)
def test_pmset(text: str, power: Power) -> None:
    assert of_pmset(text) == power


BAT0 = {"type": "Battery", "status": "Discharging", "capacity": "55"}
MOUSE = {"type": "Battery", "status": "Discharging", "capacity": "10", "scope": "Device"}


@pytest.mark.parametrize(
    ("supplies", "power"),
    [
        ({}, Power(False, None)),
        ({"AC": {"type": "Mains", "online": "1"}, "BAT0": BAT0 | {"status": "Charging"}}, Power(False, 55)),
        ({"AC": {"type": "Mains", "online": "0"}, "BAT0": BAT0}, Power(True, 55)),
        ({"BAT0": BAT0}, Power(True, 55)),
        ({"hid-mouse": MOUSE}, Power(False, None)),
    ],
)
def test_supplies_of_linux(supplies: dict[str, dict[str, str]], power: Power) -> None:
    assert of_supplies(supplies) == power


def test_words() -> None:
    assert str(Power(True, 81)) == "on battery, charged to 81 %"
    assert str(Power(False, None)) == "on mains"


def test_files_of_linux_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    monkeypatch.setattr(power, "SUPPLIES", tmp_path / "none")
    assert power.read() == Power(False, None)
    monkeypatch.setattr(power, "SUPPLIES", tmp_path)
    for name, files in {"BAT0": BAT0, "mouse": MOUSE}.items():
        (tmp_path / name).mkdir()
        for key, text in files.items():
            (tmp_path / name / key).write_text(f"{text}\n")
    assert power.read() == Power(True, 55)


@pytest.mark.parametrize("printed", [BATTERY, None])
def test_macos_is_asked_by_its_tool(monkeypatch: pytest.MonkeyPatch, printed: str | None) -> None:
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    monkeypatch.setattr(power.machine, "run_tool", lambda command, _: printed if command == "pmset -g batt" else "?")
    assert power.read() == (Power(True, 81) if printed else Power(False, None))
