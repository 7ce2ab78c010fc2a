import os
import subprocess
import sys

import pytest

from zoo.environments import machine, variables

# Like the maps of a network: allocated, written and freed in each step.
STEPS = """
import resource
for _ in range(20):
    bytearray(48 << 20)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt)
"""


def faults(more: dict[str, str]) -> int:
    plain = {name: value for name, value in os.environ.items() if name not in variables.ALLOCATOR}
    command = [sys.executable, "-c", STEPS]
    return int(subprocess.run(command, env=plain | more, capture_output=True, text=True, check=True).stdout)


@pytest.mark.skipif(not machine.probe().glibc, reason="this system has no GNU libc")
def test_a_step_gets_the_memory_of_the_step_before() -> None:
    assert faults(variables.ALLOCATOR) < faults({}) / 5


def test_a_script_gets_the_allocator_of_workers_unless_its_user_chose_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GLIBC_TUNABLES", raising=False)
    assert variables.for_script({})[0]["GLIBC_TUNABLES"] == variables.ALLOCATOR["GLIBC_TUNABLES"]
    monkeypatch.setenv("GLIBC_TUNABLES", "glibc.malloc.check=1")
    assert variables.for_script({})[0]["GLIBC_TUNABLES"] == "glibc.malloc.check=1"
