"""The timing steps of a certification: benchmarks, and comparison with golden outputs."""

from typing import Any

from zoo.certification.results import Findings
from zoo.certification.work import Work, bench, environment_of, rows_of, run_of
from zoo.runs.result import Run

GOLDEN = ("mnist", "mnist_dense", "mnist_conv5", "mobilenet")


def golden(work: Work) -> Findings:
    """Compare the outputs of networks with random weights with the golden outputs."""
    sizes = "[1]" if work.quick else "[1,32]"
    names = GOLDEN[:1] + GOLDEN[-1:] if work.quick else GOLDEN
    rows = rows_of(_networks(work, names, sizes, "inference"))
    compared = [row for row in rows if row.get("correct") is not None]
    wrong = [f"{row['network']} is off by {row['largest_error']:.2g}" for row in compared if not row["correct"]]
    wrong += [f"{row['network']}: {row['error']}" for row in rows if row.get("error")]
    missing = "" if compared else "golden answers are missing: an installed zoo has none, only a checkout does"
    largest = max((float(row["largest_error"]) for row in compared), default=0.0)
    words = [f"{len(compared)} answers compared, largest error {largest:.2g}", *_speeds(rows)]
    return Findings(words, {"largest_error": largest, **_rates(rows)}, "; ".join(wrong) or missing)


def networks(work: Work) -> Findings:
    """Time training steps of networks; on CPUs, skip the largest network, whose steps can take a minute."""
    names = GOLDEN[:1] if work.quick else GOLDEN if work.place.device_kind == "gpu" else GOLDEN[:-1]
    rows = rows_of(_networks(work, names, "[32]", "training"))
    wrong = [f"{row['network']}: {row['error']}" for row in rows if row.get("error")]
    return Findings(_speeds(rows), _rates(rows), "; ".join(wrong))


def matmul(work: Work) -> Findings:
    """Time matrix products and convolutions of increasing size on the CPU and the device."""
    small = ("square=[64,256,1024]", "row_column=[10000]", "convolution=[32]", "count=5", "max_s=2")
    # On some working processors, float32 sums of ten million numbers have relative errors of a thousandth.
    long = ("row_column=[100,10000,1000000]", "max_s=3")
    run = bench(work, "matmul", *(small if work.quick else long))
    rows = rows_of(run)
    best: dict[str, float] = {}
    for row in rows:
        name = f"{row['operation']}_{row['size']}_{row['device_kind']}_gflop_per_s"
        if row.get("gflop_per_s") and row["device"] != "numpy":
            best[name] = max(best.get(name, 0.0), float(row["gflop_per_s"]))
    wrong = [f"{row['operation']} {row['size']} on {row['device']} is off by {row['largest_error']:.2g}"
             for row in rows if row.get("correct") is False and row["device"] != "numpy"]  # fmt: skip
    return Findings(list(run.record.get("summary", []))[:6], best, "; ".join(wrong))


def encoder(work: Work) -> Findings:
    short = ("length=128", "passes=2", "repeats=2", "compiled=false", "modes=[evaluation]", "precisions=[float32]")
    bfloat16 = ",bfloat16" if environment_of(work).versions.get("keras", "").startswith("3.") else ""
    long = ("repeats=1", "compiled=false", f"precisions=[float32{bfloat16}]")
    run = run_of("bench", work, "model=transformer", *(short if work.quick else long))
    rows = [row for row in rows_of(run) if row.get("implementation") == "zoo"]
    figures = {f"{row['mode']}_{row['precision']}_s": float(row["median_s"]) for row in rows if row.get("median_s")}
    wrong = [str(row["error"]) for row in rows if row.get("error")]
    words = [f"{name.removesuffix('_s').replace('_', ', ')}: {value:.3g} s" for name, value in figures.items()]
    return Findings(words, figures, "; ".join(wrong))


def _networks(work: Work, names: tuple[str, ...], sizes: str, mode: str) -> Run:
    count = "count=5" if work.quick else "count=20"
    wanted = f"networks=[{','.join(names)}]"
    return bench(work, "networks", wanted, f"modes=[{mode}]", f"batch_sizes={sizes}", count, "max_s=5")


def _speeds(rows: list[dict[str, Any]]) -> list[str]:
    return [f"{row['network']}, {row['mode']}, batch {row['batch_size']}: {row['median_ms']:.3g} ms"
            for row in rows if row.get("median_ms")]  # fmt: skip


def _rates(rows: list[dict[str, Any]]) -> dict[str, float]:
    return {f"{row['network']}_{row['mode']}_{row['batch_size']}_items_per_s": float(row["items_per_s"])
            for row in rows if row.get("items_per_s")}  # fmt: skip
