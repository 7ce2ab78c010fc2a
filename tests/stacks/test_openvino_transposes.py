"""Transposes go from OpenVINO's graphs, and no number changes."""

import pytest

from tests.support.conformance import Answers

# What cannot be passed keeps its transposes.
KEPT = {"softmax": 2, "concat": 3, "maximum by names from the end": 1}


@pytest.mark.stacks("openvino")
def test_transposes_cancel_and_no_number_changes(conformance: Answers) -> None:
    graphs = conformance.of("openvino", "transposes")
    assert graphs
    assert {name: error for name, (_, _, error) in graphs.items() if error > 1e-6} == {}
    assert {name: left for name, (_, left, _) in graphs.items()} == {name: KEPT.get(name, 0) for name in graphs}
    assert all(before >= 1 for before, _, _ in graphs.values())
