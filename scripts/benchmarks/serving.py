"""Time `zoo serve` with MobileNet on OpenVINO beside its bare runtime in a loop, and beside LitServe.

python scripts/benchmarks/serving.py --rounds 2 --seconds 4      all of it, in turns; about eight minutes
python scripts/benchmarks/serving.py --alphas 1.0 --seconds 10 --rounds 3 --without-litserve

Load comes from wrk (https://github.com/wg/wrk; Debian: apt install wrk). Every request is one picture of 224 x 224
as raw pixels: to the zoo as application/octet-stream, to LitServe, which takes no such body, as Base64 in JSON. The
weights are random: they do not change the speed. Server, runtime and wrk share the cores of this machine. CPU ms is
the processor time of the server and its workers for a request, and CPU share that of the bare loop divided by it: on
a machine that others use too it says more than the speed.
"""

import argparse
import base64
import contextlib
import json
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parent.parent.parent
WORKER = Path(__file__).resolve().parent / "workers" / "serving.py"
ZOO = [sys.executable, "-m", "zoo"]
LITSERVE_WORKER = WORKER.with_name("serving_litserve.py")
LITSERVE = "litserve==0.2.19"
EDGE = 224
SAVE = "import keras; keras.applications.MobileNet(alpha={}, weights=None).save_weights({!r})"
START_S = 180
BARE = "bare runtime"
TITLES = {"zoo": "zoo, requests/s", "litserve": "LitServe, requests/s"}
Row = dict[str, str | float]
Served = tuple[str, psutil.Process]


def weights_of(alpha: float, folder: Path) -> Path:
    """Write random weights of a network and return their file."""
    path = folder / f"mobilenet_{alpha:g}.weights.h5"
    in_stack(["-c", SAVE.format(alpha, str(path))])
    return path


def in_stack(script: list[str], packages: tuple[str, ...] = ()) -> str:
    """Run a script in the stack of OpenVINO; return what it prints."""
    added = [word for package in packages for word in ("--with", package)]
    command = [*ZOO, "run", "backend=openvino", *added, *script]
    answer = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    if answer.returncode:
        raise RuntimeError(answer.stderr.strip() or f"exit status {answer.returncode}")
    return answer.stdout


def bare(alpha: float, precision: str, weights: Path, seconds: float) -> Row:
    """Measure the runtime in a loop."""
    arguments = [str(alpha), precision, str(weights), str(seconds)]
    speed, cost = in_stack([str(WORKER), *arguments]).split()[-2:]
    return {"requests_per_s": float(speed), "cpu_ms": 1000 * float(cost)}


@contextlib.contextmanager
def zoo(alpha: float, precision: str, weights: Path, folder: Path) -> Iterator[Served]:
    """Serve by the zoo; yield the address of the model and the server."""
    port = free_port()
    settings = [f"model.alpha={alpha:g}", f"weights={weights}", f"classes={folder / 'classes.txt'}"]
    settings += ["scale=-1..1", f"precision={precision}", "name=net", f"port={port}"]
    address = f"http://127.0.0.1:{port}"
    with running([*ZOO, "serve", "model=mobilenet", *settings], f"{address}/readyz") as process:
        yield f"{address}/v1/models/net:predict", process


@contextlib.contextmanager
def litserve(alpha: float, precision: str, weights: Path, _: Path) -> Iterator[Served]:
    """Serve by LitServe; yield the address of the model and the server."""
    port = free_port()
    script = [str(LITSERVE_WORKER), f"{alpha:g}", precision, str(weights), str(port)]
    command = [*ZOO, "run", "backend=openvino", "--with", LITSERVE, *script]
    with running(command, f"http://127.0.0.1:{port}/health") as process:
        yield f"http://127.0.0.1:{port}/predict", process


@contextlib.contextmanager
def running(command: list[str], ready: str) -> Iterator[psutil.Process]:
    """Run a server and wait until it says that it is ready; end it afterwards."""
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log)
        try:
            wait_for(ready, process)
            yield psutil.Process(process.pid)
        except RuntimeError:
            log.seek(0)
            sys.stderr.write(log.read().decode(errors="replace")[-3000:])
            raise
        finally:
            started = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(20)
            process.kill()
            process.wait()
            for child in started:  # LitServe's go on without it, and would slow what is timed next
                with contextlib.suppress(psutil.NoSuchProcess):
                    child.kill()


def wait_for(address: str, process: "subprocess.Popen[bytes]") -> None:
    """Wait until an address answers with 200."""
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(urllib.error.URLError, ConnectionError, TimeoutError):
            urllib.request.urlopen(address, timeout=5)  # noqa: S310  (our own, on this machine)
            return
        time.sleep(0.2)
    raise RuntimeError(f"{address} did not become ready")


def free_port() -> int:
    """Return a TCP port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def body(kind: str, folder: Path) -> Path:
    """Write a script for wrk that sends one picture; return it."""
    pixels = bytes((7 * number + number // 977) % 256 for number in range(EDGE * EDGE * 3))
    content, mime = pixels, "application/octet-stream"
    if kind == "litserve":
        content, mime = json.dumps({"b64": base64.b64encode(pixels).decode()}).encode(), "application/json"
    data, script = folder / f"{kind}.body", folder / f"{kind}.lua"
    data.write_bytes(content)
    lines = ['wrk.method = "POST"', f'local f = io.open({json.dumps(str(data))}, "rb")', 'wrk.body = f:read("*all")']
    script.write_text("\n".join([*lines, "f:close()", f'wrk.headers["Content-Type"] = "{mime}"']))
    return script


def load(served: Served, script: Path, clients: int, seconds: float) -> Row:
    """Send requests from so many clients; return what wrk says, and what a request took of the processors."""
    command = ["wrk", "-t1", f"-c{clients}", f"-d{seconds:g}s", "--timeout", "30s", "--latency", "-s", str(script)]
    before = processor_seconds(served[1])
    text = subprocess.run([*command, served[0]], check=True, capture_output=True, text=True).stdout
    spent = processor_seconds(served[1]) - before
    count = int(re.search(r"(\d+) requests in", text)[1])  # type: ignore[index]
    errors = re.search(r"Non-2xx or 3xx responses: (\d+)", text)
    lost = re.search(r"Socket errors: (.*)", text)
    if errors:
        raise RuntimeError(f"{served[0]} answered {errors[1]} of {count} requests with errors")
    return {
        "requests_per_s": float(re.search(r"Requests/sec:\s+([\d.]+)", text)[1]),  # type: ignore[index]
        "p50_ms": _milliseconds(text, "50%"),
        "p99_ms": _milliseconds(text, "99%"),
        "cpu_ms": 1000 * spent / max(1, count),
        "lost": lost[1] if lost else "none",
    }


def processor_seconds(process: psutil.Process) -> float:
    """Return the processor time of a server and all that it started; wrk is no part of it."""
    times = [each.cpu_times() for each in [process, *process.children(recursive=True)]]
    return sum(each.user + each.system for each in times)


def _milliseconds(text: str, share: str) -> float:
    match = re.search(rf"{share}\s+([\d.]+)(us|ms|s)\b", text)
    assert match  # noqa: S101  (wrk prints it)
    return float(match[1]) * {"us": 0.001, "ms": 1.0, "s": 1000.0}[match[2]]


def measure(options: argparse.Namespace, folder: Path) -> list[Row]:
    """Measure all that was asked for, in turns; print each row as it comes."""
    servers = {"zoo": zoo} if options.without_litserve else {"zoo": zoo, "litserve": litserve}
    scripts = {name: body(name, folder) for name in servers}
    rows: list[Row] = []
    networks = [(alpha, precision) for alpha in options.alphas for precision in options.precisions]
    weights = {alpha: weights_of(alpha, folder) for alpha in options.alphas}
    for number in range(options.rounds):
        for alpha, precision in networks:
            about: Row = {"alpha": alpha, "precision": precision, "round": number}
            try:
                alone = bare(alpha, precision, weights[alpha], options.seconds)
            except RuntimeError as error:  # not every processor has every precision
                print(f"alpha={alpha:g} precision={precision} was not measured: {error}", file=sys.stderr)
                continue
            rows.append(about | {"server": BARE} | alone)
            _show(rows[-1])
            for name, server in servers.items():
                with server(alpha, precision, weights[alpha], folder) as served:
                    load(served, scripts[name], 8, 2)
                    for clients in options.clients:
                        row = load(served, scripts[name], clients, options.seconds)
                        share = {"share": float(row["requests_per_s"]) / float(alone["requests_per_s"])}
                        share["cpu_share"] = float(alone["cpu_ms"]) / float(row["cpu_ms"])
                        rows.append(about | {"server": name, "clients": clients} | row | share)
                        _show(rows[-1])
    return rows


def _show(row: Row) -> None:
    cells = (f"{key}={value:.4g}" if isinstance(value, float) else f"{key}={value}" for key, value in row.items())
    print(" ".join(cells), flush=True)


def summary(rows: list[Row]) -> str:
    """Return the table of docs/background/benchmarks.md, with the medians of all rounds."""
    servers = [name for name in (*TITLES,) if any(row["server"] == name for row in rows)]
    heads = ["MobileNet on OpenVINO", "clients", "bare runtime"]
    heads += [f"{TITLES[name]} | share | p50, p99 ms | CPU share" for name in servers]
    lines = [f"| {' | '.join(heads)} |", "|---" * (3 + 4 * len(servers)) + "|"]
    networks = list(dict.fromkeys((row["alpha"], row["precision"]) for row in rows))
    clients = sorted({int(row["clients"]) for row in rows if "clients" in row})
    for alpha, precision in networks:
        own = [row for row in rows if (row["alpha"], row["precision"]) == (alpha, precision)]
        bare_speed = _median([row for row in own if row["server"] == BARE], "requests_per_s", 0)
        for count in clients:
            cells = [f"{alpha}, {precision}", str(count), bare_speed]
            for name in servers:
                group = [row for row in own if row["server"] == name and row["clients"] == count]
                times = f"{_median(group, 'p50_ms', 0)}, {_median(group, 'p99_ms', 0)}"
                cells += [_median(group, "requests_per_s", 0), _median(group, "share", 2), times]
                cells.append(_median(group, "cpu_share", 2))
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _median(group: list[Row], name: str, digits: int) -> str:
    return f"{statistics.median(float(row[name]) for row in group):,.{digits}f}"


def main(argv: list[str]) -> int:
    """Run the command line and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--alphas", type=float, nargs="+", default=[0.25, 1.0], help="widths of MobileNet")
    parser.add_argument("--precisions", nargs="+", default=["float32", "bfloat16"])
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8, 64])
    parser.add_argument("--seconds", type=float, default=10, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--without-litserve", action="store_true", help="do not install and time LitServe")
    options = parser.parse_args(argv)
    if shutil.which("wrk") is None:
        print("wrk is missing: apt install wrk", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "classes.txt").write_text("".join(f"class {number}\n" for number in range(1000)))
        print(summary(measure(options, folder)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
