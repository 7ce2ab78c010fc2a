"""Calculate how a training scales over machines, from the time of a step and the bytes that are added up in it.

python scripts/benchmarks/scaling_model.py --step-ms 120 --bytes 1900000 [--collectives 54] [--latency-us 50]

Assumed: every machine takes batches of the size whose step was measured (so N machines take N times as much a step);
gradients are added up in a ring, 2 (N - 1) / N of the bytes through every link and 2 (N - 1) messages one after the
other (Patarasuk and Yuan 2009, https://doi.org/10.1016/j.jpdc.2008.09.002); synchronized normalization adds its small
collectives, whose cost is their latency; none of it happens while gradients are still computed; a link carries
``--lost`` less than its nominal rate; all machines are equally fast, and reading data costs no more than on one.
"""

import argparse
import sys

NODES = (2, 4, 8, 16, 32, 64)
GIGABITS = (1.0, 10.0, 100.0)


def reduce_s(nodes: int, size: int, gigabits: float, latency_s: float, lost: float) -> float:
    """Return the seconds of adding up so many bytes over machines in a ring.

    Args:
        nodes: number of machines.
        size: bytes in each.
        gigabits: nominal rate of a link in Gbit/s.
        latency_s: of a message, in seconds.
        lost: share of the rate that is not reached.
    """
    rate = gigabits * 1e9 / 8 * (1 - lost)
    return 2 * (nodes - 1) * (size / nodes / rate + latency_s)


def efficiency(step_s: float, nodes: int, size: int, gigabits: float, collectives: int = 0,
               latency_s: float = 50e-6, lost: float = 0.1) -> float:  # fmt: skip
    """Return the share of N times the speed of one machine that N machines reach.

    Args:
        step_s: seconds of a step on one machine.
        nodes: number of machines.
        size: bytes that are added up in a step.
        gigabits: nominal rate of a link in Gbit/s.
        collectives: further, small ones in a step.
        latency_s: of a message, in seconds.
        lost: share of the rate that is not reached.
    """
    small = collectives * reduce_s(nodes, 0, gigabits, latency_s, lost)
    return step_s / (step_s + reduce_s(nodes, size, gigabits, latency_s, lost) + small)


def table(step_s: float, size: int, collectives: int, latency_s: float, lost: float) -> list[str]:
    """Return the rows of a Markdown table: speed-up and efficiency by rate and number of machines."""
    rows = [
        "| Gbit/s | " + " | ".join(f"{nodes} machines" for nodes in NODES) + " |",
        "|---" * (len(NODES) + 1) + "|",
    ]
    for gigabits in GIGABITS:
        shares = [efficiency(step_s, nodes, size, gigabits, collectives, latency_s, lost) for nodes in NODES]
        cells = [f"{nodes * share:.1f} x ({share:.0%})" for nodes, share in zip(NODES, shares, strict=True)]
        rows.append(f"| {gigabits:g} | " + " | ".join(cells) + " |")
    return rows


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--step-ms", type=float, required=True, help="milliseconds of a step on one machine")
    parser.add_argument("--bytes", type=int, required=True, help="added up in a step")
    parser.add_argument("--collectives", type=int, default=0, help="further, small ones in a step")
    parser.add_argument("--latency-us", type=float, default=50.0, help="microseconds of a message")
    parser.add_argument("--lost", type=float, default=0.1, help="share of the nominal rate that is not reached")
    options = parser.parse_args()
    rows = table(options.step_ms / 1e3, options.bytes, options.collectives, options.latency_us / 1e6, options.lost)
    print("\n".join(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
