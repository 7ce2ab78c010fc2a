"""Ask a server of a picture model for a long time, and kill its worker under load: is every request answered?

python scripts/maintenance/serving_storm.py http://127.0.0.1:8000 photos PID --requests 100000 --kills 20

PID is that of `python -m zoo serve`. Load comes from wrk (Debian: apt install wrk) while memory is watched, and from
a few threads while workers are killed, which know of each request whether an answer came and come again when
Retry-After says so.
"""

import argparse
import http.client
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections import Counter
from pathlib import Path
from urllib.parse import urlsplit

import psutil

ROOT = Path(__file__).resolve().parent.parent.parent
PICTURE = ROOT / "assets" / "landscape.jpg"
CLIENTS, SEGMENT_S, PAUSE_S = 16, 10, 60.0
KINDS = {"raw": "application/octet-stream", "picture": "image/jpeg"}
LUA = """
local bodies, kinds, turn = {}, {}, 0
for number, row in ipairs({%s}) do
  local file = io.open(row[1], "rb")
  bodies[number], kinds[number] = file:read("*all"), row[2]
  file:close()
end
request = function()
  turn = turn + 1
  local which = turn %% 100 == 0 and 2 or 1
  wrk.headers["Content-Type"] = kinds[which]
  return wrk.format("POST", nil, nil, bodies[which])
end
"""


def main(argv: list[str]) -> int:
    """Run the command line; exit 1 where a request was not answered."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("address")
    parser.add_argument("model")
    parser.add_argument("pid", type=int, help="of the server")
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--pixels", type=int, default=224 * 224 * 3, help="bytes of one picture of the network")
    options = parser.parse_args(argv)
    address = f"{options.address}/v1/models/{options.model}:predict"
    server = psutil.Process(options.pid)
    watch_memory(address, server, options.requests, bytes(options.pixels))
    return kill_workers(options.address, options.model, server, options.kills, bytes(options.pixels))


def watch_memory(address: str, server: psutil.Process, wanted: int, pixels: bytes) -> None:
    """Send requests, every hundredth with a photo to be decoded, and print what the processes hold meanwhile."""
    with tempfile.TemporaryDirectory() as name:
        script, raw = Path(name, "storm.lua"), Path(name, "raw")
        raw.write_bytes(pixels)
        rows = [(raw, KINDS["raw"]), (PICTURE, KINDS["picture"])]
        script.write_text(LUA % ", ".join(f'{{"{path}", "{kind}"}}' for path, kind in rows))
        done = 0
        while done < wanted:
            command = [
                "wrk",
                "-t1",
                f"-c{CLIENTS}",
                f"-d{SEGMENT_S}s",
                "--timeout",
                "60s",
                "-s",
                str(script),
                address,
            ]
            text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            count = re.search(r"(\d+) requests in", text)
            wrong = re.search(r"(Non-2xx.*|Socket errors.*)", text)
            done += int(count[1]) if count else 0
            print(
                f"{done:>8,} requests; {memory(server)}; {wrong[1] if wrong else 'all answered with 200'}", flush=True
            )


def memory(server: psutil.Process) -> str:
    """Return what server, workers and decoders hold, in megabytes."""
    sizes = {"server": server.memory_info().rss}
    for child in server.children(recursive=True):
        kind = "worker" if is_worker(child) else "decoders"
        sizes[kind] = sizes.get(kind, 0) + child.memory_info().rss
    return ", ".join(f"{name} {size / 1e6:.1f} MB" for name, size in sizes.items())


def is_worker(process: psutil.Process) -> bool:
    """Whether a child of the server is a worker."""
    try:
        return any(word.endswith("request.json") for word in process.cmdline())
    except psutil.NoSuchProcess:  # it has just ended
        return False


def kill_workers(address: str, model: str, server: psutil.Process, kills: int, pixels: bytes) -> int:
    """Kill every worker again and again while threads ask; print how their requests were answered."""
    codes: Counter[str] = Counter()
    over, lock = threading.Event(), threading.Lock()
    arguments = (address, f"/v1/models/{model}:predict", pixels, over, codes, lock)
    threads = [threading.Thread(target=_ask, args=arguments) for _ in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for number in range(kills):
        _wait_until_ready(address)
        time.sleep(0.5)
        for child in server.children(recursive=True):
            if is_worker(child):
                child.kill()
        time.sleep(0.5)  # so that the server has noticed
        print(f"kill {number + 1}: {dict(codes)}", flush=True)
    _wait_until_ready(address)
    time.sleep(1)
    over.set()
    for thread in threads:
        thread.join()
    lost = sum(count for code, count in codes.items() if code not in ("200", "429", "503"))
    print(
        f"{kills} kills, {sum(codes.values()):,} requests: {dict(codes)}; without an answer: {lost}; {memory(server)}"
    )
    return int(lost > 0)


def _ask(
    address: str, path: str, body: bytes, over: threading.Event, codes: "Counter[str]", lock: threading.Lock
) -> None:
    host = urlsplit(address).netloc
    connection = http.client.HTTPConnection(host, timeout=PAUSE_S * 2)
    while not over.is_set():
        try:
            connection.request("POST", path, body, {"Content-Type": KINDS["raw"]})
            answer = connection.getresponse()
            answer.read()
            code = str(answer.status)
            if answer.getheader("Retry-After"):
                over.wait(float(answer.getheader("Retry-After") or 0))
        except (OSError, http.client.HTTPException) as error:
            code = type(error).__name__
            connection = http.client.HTTPConnection(host, timeout=PAUSE_S * 2)
        with lock:
            codes[code] += 1


def _wait_until_ready(address: str) -> None:
    deadline = time.monotonic() + PAUSE_S
    while time.monotonic() < deadline:
        try:
            urllib.request.urlopen(f"{address}/readyz", timeout=5)  # noqa: S310  (the server that we were given)
            return
        except OSError:
            time.sleep(0.1)
    raise TimeoutError("the worker did not come back")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
