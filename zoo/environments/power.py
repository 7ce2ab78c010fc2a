"""Detect whether this machine runs on its battery.

The sources are ``pmset -g batt`` on macOS and the files below ``/sys/class/power_supply`` on Linux.
"""

import dataclasses
import platform
import re
from collections.abc import Mapping
from pathlib import Path

from zoo.environments import machine

SUPPLIES = Path("/sys/class/power_supply")
FILES = ("type", "online", "status", "capacity", "scope")


@dataclasses.dataclass(frozen=True)
class Power:
    """The power source: ``on_battery`` is False if unknown, ``percent`` is None without a battery."""

    on_battery: bool
    percent: int | None

    def __str__(self) -> str:
        charge = "" if self.percent is None else f", charged to {self.percent} %"
        return ("on battery" if self.on_battery else "on mains") + charge


def read() -> Power:
    """Return the power source; an unknown source counts as mains."""
    if platform.system() == "Darwin":
        return of_pmset(machine.run_tool("pmset -g batt", []) or "")
    supplies = {}
    for folder in sorted(SUPPLIES.iterdir()) if SUPPLIES.is_dir() else ():
        texts = {name: machine.read_file(folder / name, []) for name in FILES}  # some are missing
        supplies[folder.name] = {name: text.strip() for name, text in texts.items() if text is not None}
    return of_supplies(supplies)


def of_pmset(text: str) -> Power:
    charge = re.search(r"\b(\d{1,3})%;", text)
    return Power("drawing from 'Battery Power'" in text, int(charge[1]) if charge else None)


def of_supplies(supplies: Mapping[str, Mapping[str, str]]) -> Power:
    """Parse the files of each power supply of Linux; ignore batteries of mice and similar (scope ``Device``)."""
    batteries = [row for row in supplies.values() if row.get("type") == "Battery" and row.get("scope") != "Device"]
    mains = any(row.get("online") == "1" for row in supplies.values() if row.get("type") in ("Mains", "USB"))
    charges = [int(row["capacity"]) for row in batteries if row.get("capacity", "").isdigit()]
    discharging = any(row.get("status") == "Discharging" for row in batteries)
    return Power(discharging and not mains, charges[0] if charges else None)
