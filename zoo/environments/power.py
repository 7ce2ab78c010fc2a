"""Tell whether this machine runs on its battery.

On macOS ``pmset -g batt`` tells, on Linux the files below ``/sys/class/power_supply``.
"""

import dataclasses
import platform
import re
from collections.abc import Mapping
from pathlib import Path

from zoo.environments import machine

PMSET = "pmset -g batt"
SUPPLIES = Path("/sys/class/power_supply")


@dataclasses.dataclass(frozen=True)
class Power:
    """What feeds this machine.

    Attributes:
        on_battery: false where it hangs on the mains, and where nobody can tell.
        percent: charge of the battery; None without one.
    """

    on_battery: bool
    percent: int | None

    def __str__(self) -> str:
        charge = "" if self.percent is None else f", charged to {self.percent} %"
        return ("on battery" if self.on_battery else "on mains") + charge


def read() -> Power:
    """Ask the system; a system that does not tell counts as one on the mains."""
    if platform.system() == "Darwin":
        return of_pmset(machine.run_tool(PMSET, []) or "")
    return of_supplies(_supplies())


def of_pmset(text: str) -> Power:
    """Read what ``pmset -g batt`` prints."""
    charge = re.search(r"\b(\d{1,3})%;", text)
    return Power("drawing from 'Battery Power'" in text, int(charge[1]) if charge else None)


def of_supplies(supplies: Mapping[str, Mapping[str, str]]) -> Power:
    """Read power supplies as Linux has them: name -> file -> content.

    Batteries of mice and the like (``scope`` is ``Device``) do not feed the machine.
    """
    batteries = [row for row in supplies.values() if row.get("type") == "Battery" and row.get("scope") != "Device"]
    mains = any(row.get("online") == "1" for row in supplies.values() if row.get("type") in ("Mains", "USB"))
    charges = [int(row["capacity"]) for row in batteries if row.get("capacity", "").isdigit()]
    discharging = any(row.get("status") == "Discharging" for row in batteries)
    return Power(discharging and not mains, charges[0] if charges else None)


def _supplies() -> dict[str, dict[str, str]]:
    folders = sorted(SUPPLIES.iterdir()) if SUPPLIES.is_dir() else []
    return {folder.name: _files(folder) for folder in folders}


def _files(folder: Path) -> dict[str, str]:
    texts = {}
    for name in ("type", "online", "status", "capacity", "scope"):
        try:
            texts[name] = (folder / name).read_text(encoding="utf-8", errors="replace").strip()
        except OSError:  # not every supply has every file
            continue
    return texts
