"""Send one request again and again from several clients: python http_load.py ADDRESS BODY MIME CLIENTS SECONDS

Each client keeps its connection (HTTP/1.1) and waits for the answer before it sends the next request. Writes JSON:
requests a second, milliseconds of a request (median and 99th percentile), failed requests, and the first answer.
"""

import asyncio
import json
import re
import statistics
import sys
import time
import urllib.parse
from pathlib import Path

LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)


async def exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> tuple[int, bytes]:
    """Send a request; return status and body of the answer."""
    writer.write(request)
    await writer.drain()
    head = await reader.readuntil(b"\r\n\r\n")
    length = LENGTH.search(head)
    if length:
        body = await reader.readexactly(int(length[1]))
    else:  # in chunks
        body = b""
        while size := int((await reader.readline()).strip() or b"0", 16):
            body += (await reader.readexactly(size + 2))[:-2]
        await reader.readline()
    return int(head.split(b" ", 2)[1]), body


async def client(host: str, port: int, request: bytes, seconds: float, first: list[bytes]) -> tuple[list[float], int]:
    """Send requests for some seconds; return the seconds of each, and the number of failed ones."""
    reader, writer = await asyncio.open_connection(host, port)
    taken, failed, ends = [], 0, time.perf_counter() + seconds
    while (began := time.perf_counter()) < ends:
        status, body = await exchange(reader, writer, request)
        taken.append(time.perf_counter() - began)
        failed += status != 200
        first.append(body) if not first else None
    writer.close()
    return taken, failed


async def main(address: str, file: str, mime: str, clients: int, seconds: float) -> None:
    """Send and count."""
    parts, body = urllib.parse.urlsplit(address), Path(file).read_bytes()
    lines = [f"POST {parts.path} HTTP/1.1", f"Host: {parts.netloc}", f"Content-Type: {mime}"]
    head = "\r\n".join([*lines, f"Content-Length: {len(body)}", "Connection: keep-alive", "", ""]).encode()
    first: list[bytes] = []
    jobs = [client(str(parts.hostname), int(parts.port or 80), head + body, seconds, first) for _ in range(clients)]
    began = time.perf_counter()
    answers = await asyncio.gather(*jobs)
    passed = time.perf_counter() - began
    times = sorted(each for taken, _ in answers for each in taken)
    print(json.dumps({
        "requests_per_s": len(times) / passed, "p50_ms": 1000 * statistics.median(times),
        "p99_ms": 1000 * times[int(0.99 * (len(times) - 1))], "failed": sum(failed for _, failed in answers),
        "first": first[0].decode("utf-8", "replace"),
    }))  # fmt: skip


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), float(sys.argv[5])))
