"""The table of the zoo and its peers, through its command line, with small commands in place of the rows."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support import CHECKOUT, scripts

SCRIPT = CHECKOUT / "scripts" / "benchmarks" / "peers.py"
ratios = scripts.load("benchmarks/ratios")


def answering(**figures: float) -> list[str]:
    """Return a command whose last line of output has these figures."""
    return [sys.executable, "-c", f"print('working'); print({json.dumps(json.dumps(figures))})"]


def row(zoo: list[str], peers: dict[str, list[str]], **more: Any) -> dict[str, Any]:
    return {"what": "work", "how": "fake", "unit": "s", "zoo": zoo, "peers": peers, **more}


def peers(folder: Path, rows: dict[str, Any], *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run the script with these rows."""
    return subprocess.run(command(folder, rows, *arguments), capture_output=True, text=True, check=False, cwd=folder)


def command(folder: Path, rows: dict[str, Any], *arguments: str) -> list[str]:
    (folder / "rows.json").write_text(json.dumps(rows))
    words = [sys.executable, str(SCRIPT), "--definitions", str(folder / "rows.json"), "--data", str(folder)]
    return [*words, *arguments]


def measured(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]


def test_the_best_peer_that_is_as_accurate_is_compared_in_each_round(tmp_path: Path) -> None:
    rows = {
        "a": row(
            answering(speed=2.0, accuracy=0.9),
            {
                "slow": answering(speed=6.0, accuracy=0.9), "fast": answering(speed=3.0, accuracy=0.897),
                "wrong": answering(speed=1.0, accuracy=0.5),
            },
        )
    }  # fmt: skip
    done = peers(tmp_path, rows, "--rounds", "2", "--output", "out.json")
    assert done.returncode == 0, done.stderr
    (line,) = [text for text in done.stdout.splitlines() if text.startswith("| work")]
    assert line.startswith("| work (fake) | 2.0 (2.0 to 2.0) s, accuracy 0.9000")
    assert "| fast: 3.0 (3.0 to 3.0) s" in line
    assert "| 1.50 (1.50 to 1.50) |" in line
    assert "- a, wrong does not count, because it is less accurate: 1.0" in done.stdout
    assert "- a, slow: 6.0 (6.0 to 6.0) s" in done.stdout
    written = ratios.read(tmp_path / "out.json")
    assert {each["against"]: each["times_as_fast"] for each in written} == {"slow": 3.0, "fast": 1.5}
    assert ratios.main([str(tmp_path / "out.json"), "--check", str(tmp_path / "out.json")]) == 0
    assert [each["way"] for each in measured(tmp_path)][:4] == ["slow", "fast", "wrong", "zoo"]
    assert [each["way"] for each in measured(tmp_path)][4:] == ["fast", "wrong", "zoo", "slow"]


def test_processor_seconds_include_those_of_children(tmp_path: Path) -> None:
    busy = "import time\nwhile time.process_time() < 0.5: pass"
    child = [sys.executable, "-c", f"import subprocess, sys; subprocess.run([sys.executable, '-c', {busy!r}])"]
    done = peers(tmp_path, {"a": row(child, {"idle": ["sleep", "0.2"]})}, "--rounds", "1", "--output", "out.json")
    assert done.returncode == 0, done.stderr
    cpu = {each["way"]: each["cpu_s"] for each in measured(tmp_path)}
    assert cpu["zoo"] >= 0.5
    assert cpu["idle"] < 0.2
    assert all(each["speed"] >= 0.2 for each in measured(tmp_path))


def test_a_run_continues_where_it_stopped(tmp_path: Path) -> None:
    note = ["sh", "-c", "echo x >> count"]
    rows = {"a": row(note, {"peer": note}), "b": row(note, {"peer": note})}
    for rounds, count in ((1, 2), (3, 6), (3, 6)):
        done = peers(tmp_path, rows, "a", "--rounds", str(rounds), "--output", "out.json")
        assert done.returncode == 0, done.stderr
        assert len((tmp_path / "count").read_text().split()) == count
    assert "a: all rounds are in out.jsonl" in done.stderr
    assert peers(tmp_path, rows, "a", "--rounds", "1", "--again", "--output", "out.json").returncode == 0
    assert len(measured(tmp_path)) == 2
    assert peers(tmp_path, rows, "--rounds", "1", "--output", "out.json").returncode == 0
    assert {each["row"] for each in measured(tmp_path)} == {"a", "b"}


def test_a_peer_that_fails_is_reported_with_its_last_lines(tmp_path: Path) -> None:
    broken = ["sh", "-c", "echo one; echo 'no such kernel' >&2; exit 3"]
    rows = {"a": row(answering(speed=1.0), {"broken": broken, "works": answering(speed=2.0)})}
    done = peers(tmp_path, rows, "--rounds", "2", "--output", "out.json")
    assert done.returncode == 1
    assert "error: a, broken: sh -c" in done.stderr
    assert done.stderr.count("no such kernel") == 2  # in the command and in its output, once
    assert "Traceback" not in done.stderr
    assert "- a, broken failed: no such kernel" in done.stdout
    assert "| works: 2.0 (2.0 to 2.0) s | 2.00" in done.stdout
    absent = peers(tmp_path, {"a": row(["/no/such/program"], {})}, "--rounds", "1")
    assert absent.returncode == 1
    assert "- a was not measured: cannot start /no/such/program: No such file or directory" in absent.stdout


def test_a_row_without_its_data_is_listed_and_not_measured(tmp_path: Path) -> None:
    (tmp_path / "there").touch()
    rows = {
        "a": row(answering(speed=1.0), {"peer": answering(speed=2.0)}, needs=["there"]),
        "b": row(["false"], {"peer": ["false"]}, needs=["there", "text/set"]),
    }
    done = peers(tmp_path, rows, "--rounds", "1", "--output", "out.json")
    assert done.returncode == 0, done.stderr
    assert f"- b was not measured: text/set missing in {tmp_path}" in done.stdout
    assert {each["row"] for each in measured(tmp_path)} == {"a"}


def test_targets_count_for_zoo_and_peers(tmp_path: Path) -> None:
    zoo, low = answering(speed=1.0, accuracy=0.98), answering(speed=2.0, accuracy=0.989)
    done = peers(tmp_path, {"a": row(zoo, {"peer": low}, target=0.99)}, "--rounds", "1")
    assert "| none counts |" in done.stdout
    assert "a: the zoo does not reach the target 0.99" in done.stdout
    done = peers(tmp_path, {"a": row(zoo, {"peer": low})}, "--rounds", "1")
    assert "- a, peer is more accurate than the zoo." in done.stdout


def test_unknown_rows_and_the_list(tmp_path: Path) -> None:
    rows = {"a": row(["true"], {"peer": ["true"]}, seconds=7)}
    done = peers(tmp_path, rows, "c")
    assert done.returncode == 2
    assert "unknown row: c. Rows: a" in done.stderr
    assert peers(tmp_path, rows, "--list").stdout.split() == ["a", "7", "s", "a", "round", "work:", "peer"]
    (tmp_path / "rows.json").write_text("[")
    words = [sys.executable, str(SCRIPT), "--definitions", str(tmp_path / "rows.json")]
    broken = subprocess.run(words, capture_output=True, text=True, check=False)
    assert broken.returncode == 2
    assert "has no rows" in broken.stderr
    builtin = subprocess.run([sys.executable, str(SCRIPT), "--list"], capture_output=True, text=True, check=False)
    assert {"mnist", "photos-float32", "reviews", "serving"} <= {
        text.split()[0] for text in builtin.stdout.splitlines()
    }


def test_an_interrupted_run_keeps_its_measurements_and_ends_its_commands(tmp_path: Path) -> None:
    slow = ["sh", "-c", "echo $$ > pid; sleep 60"]
    rows = {"a": row(answering(speed=1.0), {"peer": answering(speed=2.0)}), "b": row(slow, {"peer": slow})}
    words = command(tmp_path, rows, "--rounds", "1", "--output", "out.json")
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    deadline = time.monotonic() + 60
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text().strip():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    shown, log = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Interrupted. The same command continues from out.jsonl." in log
    assert "Traceback" not in log
    assert "| 2.00 (2.00 to 2.00) |" in shown
    assert "- b was not measured: no round was finished" in shown
    assert len(ratios.read(tmp_path / "out.json")) == 1
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
