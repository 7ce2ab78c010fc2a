"""Time `zoo serve` with MobileNet on OpenVINO beside its bare runtime in a loop, and beside LitServe.

python scripts/benchmarks/serving.py                     all of it, in turns; about ten minutes
python scripts/benchmarks/serving.py --alphas 1.0 --seconds 10 --rounds 3 --without-litserve

Load comes from wrk (https://github.com/wg/wrk; Debian: apt install wrk). Every request is one picture of 224 x 224
as raw pixels: to the zoo as application/octet-stream, to LitServe, which does not take that, as a file of a form. The
weights are random: they do not change the speed. Server, runtime and wrk share the cores of this machine.
"""

import argparse
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

ROOT = Path(__file__).resolve().parent.parent.parent
WORKER = Path(__file__).resolve().parent / "workers" / "serving.py"
ZOO = [sys.executable, "-m", "zoo"]
LITSERVE = "litserve==0.2.19"
EDGE = 224
SAVE = "import keras; keras.applications.MobileNet(alpha={}, weights=None).save_weights({!r})"
START_S = 180
Row = dict[str, str | float]


def weights_of(alpha: float, folder: Path) -> Path:
    """Write random weights of a network and return their file."""
    path = folder / f"mobilenet_{alpha:g}.weights.h5"
    in_stack(["-c", SAVE.format(alpha, str(path))])
    return path


def in_stack(script: list[str], packages: tuple[str, ...] = ()) -> str:
    """Run a script in the stack of OpenVINO; return what it prints."""
    added = [word for package in packages for word in ("--with", package)]
    command = [*ZOO, "run", "backend=openvino", *added, *script]
    return subprocess.run(
        command, cwd=ROOT, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ).stdout


def bare(alpha: float, precision: str, weights: Path, seconds: float) -> float:
    """Return pictures a second of the runtime in a loop."""
    return float(in_stack([str(WORKER), "loop", str(alpha), precision, str(weights), str(seconds)]).split()[-1])


@contextlib.contextmanager
def zoo(alpha: float, precision: str, weights: Path, folder: Path) -> Iterator[str]:
    """Serve by the zoo; yield the address of the model."""
    port = free_port()
    settings = [f"model.alpha={alpha:g}", f"weights={weights}", f"classes={folder / 'classes.txt'}"]
    settings += ["scale=-1..1", f"precision={precision}", "name=net", f"port={port}"]
    address = f"http://127.0.0.1:{port}"
    with running([*ZOO, "serve", "model=mobilenet", *settings], f"{address}/readyz"):
        yield f"{address}/v1/models/net:predict"


@contextlib.contextmanager
def litserve(alpha: float, precision: str, weights: Path, _: Path) -> Iterator[str]:
    """Serve by LitServe; yield the address of the model."""
    port = free_port()
    script = [str(WORKER), "litserve", f"{alpha:g}", precision, str(weights), str(port)]
    command = [*ZOO, "run", "backend=openvino", "--with", LITSERVE, *script]
    with running(command, f"http://127.0.0.1:{port}/health"):
        yield f"http://127.0.0.1:{port}/predict"


@contextlib.contextmanager
def running(command: list[str], ready: str) -> Iterator[None]:
    """Run a server and wait until it says that it is ready; end it afterwards."""
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log)
        try:
            wait_for(ready, process)
            yield
        except RuntimeError:
            log.seek(0)
            sys.stderr.write(log.read().decode(errors="replace")[-3000:])
            raise
        finally:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(20)
            process.kill()
            process.wait()


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
        content = (
            b'--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n' + pixels + b"\r\n--x--\r\n"
        )
        mime = "multipart/form-data; boundary=x"
    data, script = folder / f"{kind}.body", folder / f"{kind}.lua"
    data.write_bytes(content)
    lines = ['wrk.method = "POST"', f'local f = io.open({json.dumps(str(data))}, "rb")', 'wrk.body = f:read("*all")']
    script.write_text("\n".join([*lines, "f:close()", f'wrk.headers["Content-Type"] = "{mime}"']))
    return script


def load(address: str, script: Path, clients: int, seconds: float) -> Row:
    """Send requests from so many clients; return requests a second, median and 99th percentile, and errors."""
    command = ["wrk", "-t1", f"-c{clients}", f"-d{seconds:g}s", "--timeout", "30s", "--latency", "-s", str(script)]
    text = subprocess.run([*command, address], check=True, capture_output=True, text=True).stdout
    errors = re.search(r"Non-2xx or 3xx responses: (\d+)", text)
    lost = re.search(r"Socket errors: (.*)", text)
    return {
        "requests_per_s": float(re.search(r"Requests/sec:\s+([\d.]+)", text)[1]),  # type: ignore[index]
        "p50_ms": _milliseconds(text, "50%"),
        "p99_ms": _milliseconds(text, "99%"),
        "errors": (errors[1] if errors else "0") + (f" ({lost[1]})" if lost else ""),
    }


def _milliseconds(text: str, share: str) -> float:
    match = re.search(rf"{share}\s+([\d.]+)(us|ms|s)\b", text)
    assert match  # noqa: S101  (wrk prints it)
    return float(match[1]) * {"us": 0.001, "ms": 1.0, "s": 1000.0}[match[2]]


def measure(options: argparse.Namespace, folder: Path) -> list[Row]:
    """Measure all that was asked for, in turns; print each row as it comes."""
    servers = {"zoo": zoo} if options.without_litserve else {"zoo": zoo, "litserve": litserve}
    scripts = {name: body(name, folder) for name in servers}
    rows: list[Row] = []
    for alpha in options.alphas:
        weights = weights_of(alpha, folder)
        for precision in options.precisions:
            for number in range(options.rounds):
                about: Row = {"alpha": alpha, "precision": precision, "round": number}
                alone = bare(alpha, precision, weights, options.seconds)
                rows.append(about | {"server": "bare runtime", "requests_per_s": alone})
                _show(rows[-1])
                for name, server in servers.items():
                    with server(alpha, precision, weights, folder) as address:
                        load(address, scripts[name], 8, 2)
                        for clients in options.clients:
                            row = load(address, scripts[name], clients, options.seconds)
                            share = {"share": float(row["requests_per_s"]) / alone}
                            rows.append(about | {"server": name, "clients": clients} | row | share)
                            _show(rows[-1])
    return rows


def _show(row: Row) -> None:
    cells = (f"{key}={value:.4g}" if isinstance(value, float) else f"{key}={value}" for key, value in row.items())
    print(" ".join(cells), flush=True)


def summary(rows: list[Row]) -> str:
    """Return a table in Markdown with the medians of all rounds."""
    lines = ["| network | server | clients | requests/s | share | p50 ms | p99 ms |", "|---|---|---|---|---|---|---|"]
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        key = (f"{row['alpha']} {row['precision']}", str(row["server"]), str(row.get("clients", "-")))
        groups.setdefault(key, []).append(row)
    for names, group in groups.items():
        cells = [_median(group, name, digits) for name, digits in _COLUMNS]
        lines.append(f"| {' | '.join([*names, *cells])} |")
    return "\n".join(lines)


_COLUMNS = (("requests_per_s", 0), ("share", 2), ("p50_ms", 1), ("p99_ms", 1))


def _median(group: list[Row], name: str, digits: int) -> str:
    values = [float(row[name]) for row in group if name in row]
    return f"{statistics.median(values):.{digits}f}" if values else "-"


def main(argv: list[str]) -> int:
    """Run the command line and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--alphas", type=float, nargs="+", default=[0.25, 1.0], help="widths of MobileNet")
    parser.add_argument("--precisions", nargs="+", default=["float32", "bfloat16"])
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8, 64])
    parser.add_argument("--seconds", type=float, default=6, help="of each measurement")
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
