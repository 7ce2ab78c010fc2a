"""Nothing that names a person or a machine comes into an archive, wherever in the records it stands."""

import getpass
import json
import platform
import socket
import zipfile
from pathlib import Path

import pytest

from tests.support import evidence_sample as sample
from zoo.certification import archive, privacy
from zoo.certification.privacy import Cleaner
from zoo.certification.results import FAILED

USER, FULL, HOST, SERIAL = "jdoering", "Juliane Döring", "julianes-macbook.fritz.box", "C02XK0AAJG5H"
HOME = Path("/Users/jdoering")


@pytest.fixture
def somebody(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user, a host, a home and a serial number that can be looked for."""
    monkeypatch.setattr(getpass, "getuser", lambda: USER)
    monkeypatch.setattr(platform, "node", lambda: HOST)
    monkeypatch.setattr(socket, "gethostname", lambda: HOST)
    monkeypatch.setattr(privacy, "_serials", lambda: {SERIAL})
    monkeypatch.setattr(privacy, "_user_names", lambda: {USER, FULL, *FULL.split()})
    monkeypatch.setenv("HOME", str(HOME))


PLANTED = (
    f"cannot open {HOME}/My zoo/runs/x: of {FULL} on {HOST}, serial number: {SERIAL}, "
    f"mail {USER}@example.org at 192.168.178.23, /private/var/folders/ab/{USER}/T/x, "
    "GPU-5f2c8d34-9e1b-4f3a-8a77-0123456789ab, a4:83:e7:12:34:56, C:\\Users\\jdoering\\x"
)
SECRETS = (
    USER,
    "Juliane",
    "Döring",
    "julianes-macbook",
    SERIAL,
    "My zoo",
    "192.168",
    "5f2c8d34",
    "a4:83:e7",
    "example.org",
)


@pytest.mark.usefixtures("somebody")
def test_names_paths_and_numbers_do_not_come_into_an_archive(tmp_path: Path) -> None:
    state = sample.certification()
    state.steps[4].problem = PLANTED
    state.steps[4].words = [PLANTED]
    state.steps[sample.number_of(state, "golden")].record = "broken"
    run = tmp_path / "runs" / "broken"
    run.mkdir(parents=True)
    record = sample.training() | {
        "exit": "failed", "error": {"message": PLANTED, "remedy": PLANTED}, "adjusted": {PLANTED: PLANTED},
        "artifacts": [{"path": PLANTED}], "judgement": {"notes": PLANTED},
        "stack": {"name": "tf-2.19", "environment": PLANTED},
        "probes": [{"name": "x", "ok": True, "skipped": PLANTED}], "interruptions": [{"at": PLANTED}],
    }  # fmt: skip
    record["config"]["data"]["root"] = f"{HOME}/Données d'été/mnist"
    record["config"]["output"] = {"root": PLANTED}
    record["command"] += [f"data.root={HOME}/x", f"output.root={HOME}/y", f"content={PLANTED}"]
    record["machine"] |= {"notes": [PLANTED], "serial": SERIAL}
    (run / "run.json").write_text(json.dumps(record), encoding="utf-8")
    (run / "worker.log").write_text(f"Traceback\n{PLANTED}\n", encoding="utf-8")
    (run / "events.jsonl").write_text(json.dumps({"event": "epoch", "epoch": 1, "loss": 1.0, "note": PLANTED}) + "\n")
    (run / "results.json").write_text(json.dumps([{"network": "mnist", "error": PLANTED, "machine": PLANTED}]))
    path = archive.write(tmp_path / archive.name_of(state), archive.members(tmp_path, state, Cleaner()))
    assert state.steps[sample.number_of(state, "golden")].state == FAILED
    with zipfile.ZipFile(path) as file:
        content = {name: file.read(name).decode("utf-8") for name in file.namelist()}
    assert {"runs/broken.json", "logs/broken.txt"} <= content.keys()
    leaks = [(name, secret) for name, text in content.items() for secret in SECRETS if secret.lower() in text.lower()]
    assert leaks == []
    assert "Traceback" in content["logs/broken.txt"]


@pytest.mark.parametrize(
    "text",
    ["/job:localhost/replica:0/task:0/device:CPU:0", "loss 0.5/1.0", "macOS 13.6.7 (22G720)", "n/a", "127.0.0.1",
     "tensorflow 2.19.1", "python -m zoo train model=transformer/lm", "Apple M1, 8 cores"],
)  # fmt: skip
def test_what_names_nobody_stays(text: str) -> None:
    assert Cleaner([("jdoering", "USER")]).text(text) == text


def test_a_name_is_no_part_of_another_word() -> None:
    cleaner = Cleaner([("ann", "USER")])
    assert cleaner.text("Ann saw a cannon of ann-2") == "USER saw a cannon of USER-2"


def test_only_listed_fields_of_a_record_are_taken() -> None:
    kept = Cleaner([]).record(
        {"verb": "train", "artifacts": ["x"], "something new": "y", "finished": "2026-11-22T01:02"}
    )
    assert kept == {"verb": "train", "finished": "2026-11-22"}


def test_this_machine_has_secrets() -> None:
    words = {word for _, word in privacy.secrets()}
    assert "FOLDER" in words


def test_a_version_of_four_numbers_is_no_address() -> None:
    cleaner = Cleaner([])
    assert cleaner.text("jax 0.12.0.1 at 192.168.1.20") == "jax 0.12.0.1 at IP"
    versions = {"opencv": "4.10.0.84", "jax": "0.12.0.1", "torch": "2.15.0+cpu", "odd": "/home/somebody/x"}
    kept = cleaner.record({"versions": versions})["versions"]
    assert kept == versions | {"odd": "PATH"}
