"""Every model by `backend=mps` on a stand-in for Apple's GPU that enforces its rules; only the kernels are missing.

The command line runs as on a Mac (:mod:`tests.support.stand_in_mac`), and the worker in the Linux environment of the
stack, in `tests/support/workers/strict_mps.py`. The operations that each model calls are held against their record,
so that a new one is noticed: `scripts/operations.py` says whether each Mac stack has them.
"""

from pathlib import Path

import pytest

from scripts import operations
from scripts.linking import record, torch_operations
from tests.environments.test_rehearsal import Mac
from tests.support import real_stacks
from tests.support.model_jobs import MODELS, Jobs
from zoo.core import paths

pytestmark = [pytest.mark.stacks("torch"), pytest.mark.slow]


@pytest.mark.parametrize("model", MODELS)
def test_it_runs_by_the_rules_of_mps_and_calls_no_operation_that_is_not_listed(model: str, tmp_path: Path) -> None:
    _run(model, MODELS[model], tmp_path)


def test_without_operations_on_lists_the_weights_are_updated_one_by_one(tmp_path: Path) -> None:
    site = next(real_stacks.python("torch").parent.parent.glob("lib/python*/site-packages"))
    text = (site / torch_operations.LIST).read_text("utf-8")
    older = tmp_path / "older.yaml"
    # As in PyTorch 2.1 and 2.2, whose lists name these kernels for the processor only.
    older.write_text(text.replace("CompositeExplicitAutograd: foreach_", "CPU: foreach_"))
    calls = _run(operations.ONE_BY_ONE, MODELS["mnist"], tmp_path, STRICT_MPS_LIST=str(older))
    assert not [name for name in calls if name.startswith(operations.LISTS)]


def _run(model: str, jobs: Jobs, folder: Path, **variables: str) -> record.Calls:
    """Run the commands on the stand-in, and return the operations that they called."""
    mac, calls = Mac("m4", "arm64", folder / "mac"), folder / "operations.txt"
    passed = ["STRICT_MPS_OPERATIONS", *variables]
    mac.variables |= variables | {
        "STRICT_MPS": str(real_stacks.python("torch")), "STRICT_MPS_OPERATIONS": str(calls),
        "ZOO_WORKER_ENV": ",".join(passed), "ZOO_CACHE": str(paths.cache_dir()),
    }  # fmt: skip
    for job in jobs(folder):
        code, shown = mac.zoo(*job, "backend=mps")
        assert code == 0, shown
        device = mac.record()["device"]
        assert (device["name"], device["device_kind"]) == ("mps:0", "gpu")
    seen = record.parse(calls.read_text())
    problem = record.unlisted("torch", model, seen)
    assert not problem, problem
    return seen
