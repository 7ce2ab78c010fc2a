"""`zoo serve` with the worker of a real stack: it answers, dies, answers again, and ends at Ctrl-C."""

import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import psutil
import pytest

from tests.support import real_stacks, serving
from tests.support.serving import Server

SETTINGS = {"tf-2.21": ["backend=cpu"], "openvino": ["backend=openvino"], "mlx": ["backend=cpu"]}
RAW = {"content-type": "application/octet-stream"}


@pytest.mark.slow
@pytest.mark.stacks
@pytest.mark.parametrize("stack", SETTINGS)
def test_a_real_worker_is_replaced_when_it_is_killed_and_ends_at_ctrl_c(tmp_path: Path, stack: str) -> None:
    real_stacks.environment(stack)
    with serving.serving(
        tmp_path, ["model=mnist", "weights=zoo", "stack=" + stack, *SETTINGS[stack]], stand_in=False
    ) as server:
        first = _probabilities(server)
        worker = _worker(server)
        worker.kill()
        worker.wait(10)
        answers = [server.post("mnist", data=_digit(), headers=RAW)]
        while answers[-1].status_code == 503:
            assert answers[-1].headers["retry-after"]
            assert len(answers) < 200
            time.sleep(1)
            answers.append(server.post("mnist", data=_digit(), headers=RAW))
        assert answers[-1].status_code == 200, answers[-1].text
        assert _probabilities(server) == pytest.approx(first, abs=1e-6)
        second = _worker(server)
        assert second.pid != worker.pid
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(30) == 0
    assert not psutil.pid_exists(second.pid)


@pytest.mark.slow
@pytest.mark.stacks
def test_requests_that_come_together_get_each_its_own_answer(tmp_path: Path) -> None:
    """OpenVINO computes several batches at once, in requests of four pictures and of one."""
    real_stacks.environment("openvino")
    pictures = list(np.random.default_rng(0).integers(0, 256, (48, 28, 28), np.uint8))
    with serving.serving(
        tmp_path, ["model=mnist", "weights=zoo", "stack=openvino", "backend=openvino"], stand_in=False
    ) as server:
        alone = [_top(server, picture) for picture in pictures]
        with ThreadPoolExecutor(len(pictures)) as clients:
            for _ in range(5):
                together = list(clients.map(lambda picture: _top(server, picture), pictures))
                assert [dict(answer) for answer in together] == [
                    pytest.approx(dict(answer), abs=1e-5) for answer in alone
                ]
    assert len({answer[0] for answer in alone}) > 1


def _top(server: Server, picture: "np.ndarray[tuple[int, ...], np.dtype[np.uint8]]") -> list[tuple[str, float]]:
    answer = server.post("mnist", data=picture.tobytes(), headers=RAW)
    assert answer.status_code == 200, answer.text
    (prediction,) = answer.json()["predictions"]
    return [(each["class"], each["probability"]) for each in prediction["top"]]


def _digit() -> bytes:
    """A one: a light stroke on dark."""
    pixels = np.zeros((28, 28), np.uint8)
    pixels[4:24, 13:16] = 255
    return pixels.tobytes()


def _probabilities(server: Server) -> list[float]:
    instance = np.frombuffer(_digit(), np.uint8).reshape(28, 28).tolist()
    ask = {"instances": [instance], "parameters": {"probabilities": True}}
    answer = server.post("mnist", json=ask)
    assert answer.status_code == 200, answer.text
    (prediction,) = answer.json()["predictions"]
    assert prediction["class"] == "1"
    return list(prediction["probabilities"])


def _worker(server: Server) -> psutil.Process:
    """The one child of the server that is a worker."""
    children = psutil.Process(server.process.pid).children(recursive=True)
    (worker,) = [child for child in children if any(word.endswith("request.json") for word in child.cmdline())]
    return worker
