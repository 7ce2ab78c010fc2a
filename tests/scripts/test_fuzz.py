"""No parser is escaped by a damaged file; scripts/maintenance/fuzz.py does the same by the ten thousand."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support import parsers
from zoo.runs import event_log

# Where a single case takes longer, fewer of them.
SLOW = settings(max_examples=8, deadline=20_000, suppress_health_check=list(HealthCheck), derandomize=True)
FEW = settings(max_examples=60, deadline=3000, suppress_health_check=list(HealthCheck), derandomize=True)


@pytest.mark.parametrize("name", parsers.PARSERS)
def test_good_files_are_taken(name: str, tmp_path: Path) -> None:
    """Otherwise everything that follows would be refused at the door."""
    parser = parsers.PARSERS[name]
    needs_more = name in ("manifest", "checkpoint", "vocabulary")  # the files beside, which are not there
    for content in parser.seeds:
        assert parsers.survives(parser, content, tmp_path) == "taken" or needs_more


@pytest.mark.parametrize("name", parsers.PARSERS)
def test_damaged_files_are_taken_or_refused(name: str, tmp_path: Path) -> None:
    parser = parsers.PARSERS[name]

    @(SLOW if parser.seconds > 1 else FEW)
    @given(st.randoms(use_true_random=False), st.sampled_from(parser.seeds))
    def check(draw: object, seed: bytes) -> None:
        assert parsers.survives(parser, parsers.damaged(seed, draw, parser.binary), tmp_path) in ("taken", "refused")

    check()


@pytest.mark.parametrize("name", parsers.PARSERS)
def test_noise_is_taken_or_refused(name: str, tmp_path: Path) -> None:
    parser = parsers.PARSERS[name]

    @(SLOW if parser.seconds > 1 else FEW)
    @given(st.binary(max_size=300))
    def check(content: bytes) -> None:
        assert parsers.survives(parser, content, tmp_path) in ("taken", "refused")

    check()


@FEW
@given(st.lists(st.integers(1, 9), max_size=12), st.integers(0, 400))
def test_a_torn_log_gives_the_epochs_before_the_tear(epochs: list[int], cut: int) -> None:
    import json
    import tempfile

    lines = [json.dumps({"event": "epoch", "epoch": number}).encode() + b"\n" for number in epochs]
    content = b"".join(lines)[:cut]
    whole = [number for number, end in zip(epochs, _ends(lines), strict=True) if end - 1 <= len(content)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "events.jsonl")
        path.write_bytes(content)
        assert [row.epoch for row in event_log.epochs(path)] == sorted(set(whole))


def _ends(lines: list[bytes]) -> list[int]:
    return [sum(len(line) for line in lines[: number + 1]) for number in range(len(lines))]
