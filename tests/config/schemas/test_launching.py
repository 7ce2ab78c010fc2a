"""zoo.config.schemas.launching: launchers are the modules of their folder, and machines have processes."""

import pytest

from zoo.config.overrides import Overrides
from zoo.config.schemas import launching
from zoo.core.errors import ZooError
from zoo.tasks import registry


def test_launchers_are_the_modules_of_their_folder() -> None:
    assert launching.launcher_names() == ["local", "ray", "slurm", "ssh"]


@pytest.mark.parametrize(("processes", "nodes", "valid"), [(1, 1, True), (2, 2, True), (1, 2, False)])
def test_every_machine_has_a_process(processes: int, nodes: int, valid: bool) -> None:
    (problem,) = launching.Distributed(processes=processes, nodes=nodes).checks()
    assert (problem is None) is valid
    assert valid or problem == f"distributed.nodes must be at most distributed.processes, {processes}, got {nodes}"


@pytest.mark.parametrize(("port", "valid"), [(1024, True), (65_535, True), (1023, False), (65_536, False)])
def test_a_port_is_one_that_users_may_open(port: int, valid: bool) -> None:
    given = Overrides.of({"model": "mnist", "distributed.processes": 2, "distributed.port": port})
    if valid:
        assert registry.compose_settings("train", given).distributed.port == port
        return
    with pytest.raises(ZooError, match=r"distributed\.port must be from 1,024 to 65,535"):
        registry.compose_settings("train", given)
