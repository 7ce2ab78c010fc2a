"""The timing steps of a certification: benchmarks, and comparison with golden outputs."""

from typing import Any

from zoo.certification.results import Findings
from zoo.certification.work import Work, bench, environment_of

GOLDEN = ("mnist", "mnist_dense", "mnist_conv5", "mnist_fast", "mobilenet")


def golden(work: Work) -> Findings:
    """Compare the outputs of networks with random weights with the golden outputs."""
    names = GOLDEN[:1] + GOLDEN[-1:] if work.quick else GOLDEN
    timed, rows = _networks(work, names, "[1]" if work.quick else "[1,32]", "inference")
    compared = [row for row in rows if row.get("correct") is not None]
    wrong = [f"{row['network']} is off by {row['largest_error']:.2g}" for row in compared if not row["correct"]]
    missing = "" if compared else "golden answers are missing: an installed zoo has none, only a checkout does"
    largest = max((float(row["largest_error"]) for row in compared), default=0.0)
    words = [f"{len(compared)} answers compared, largest error {largest:.2g}", *timed.words]
    problem = "; ".join([*wrong, *filter(None, [timed.problem])]) or missing
    return Findings(words, {"largest_error": largest, **timed.figures}, problem)


def networks(work: Work) -> Findings:
    """Time training steps of networks; on CPUs, skip the largest network, whose steps can take a minute."""
    names = GOLDEN[:1] if work.quick else GOLDEN if work.place.device_kind == "gpu" else GOLDEN[:-1]
    return _networks(work, names, "[32]", "training")[0]


def matmul(work: Work) -> Findings:
    """Time matrix products and convolutions of increasing size on the CPU and the device."""
    small = ("square=[64,256,1024]", "row_column=[10000]", "convolution=[32]", "count=5", "max_s=2")
    # On some working processors, float32 sums of ten million numbers have relative errors of a thousandth.
    long = ("row_column=[100,10000,1000000]", "max_s=3")
    run, rows = bench(work, "bench=matmul", *(small if work.quick else long))
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
    _, timed = bench(work, "model=transformer", *(short if work.quick else long))
    rows = [row for row in timed if row.get("implementation") == "zoo"]
    figures = {f"{row['mode']}_{row['precision']}_s": float(row["median_s"]) for row in rows if row.get("median_s")}
    wrong = [str(row["error"]) for row in rows if row.get("error")]
    words = [f"{name.removesuffix('_s').replace('_', ', ')}: {value:.3g} s" for name, value in figures.items()]
    return Findings(words, figures, "; ".join(wrong))


def _networks(work: Work, names: tuple[str, ...], sizes: str, mode: str) -> tuple[Findings, list[dict[str, Any]]]:
    count = "count=5" if work.quick else "count=20"
    wanted = f"networks=[{','.join(names)}]"
    _, rows = bench(work, "bench=networks", wanted, f"modes=[{mode}]", f"batch_sizes={sizes}", count, "max_s=5")
    words = [f"{row['network']}, {row['mode']}, batch {row['batch_size']}: {row['median_ms']:.3g} ms"
             for row in rows if row.get("median_ms")]  # fmt: skip
    rates = {f"{row['network']}_{row['mode']}_{row['batch_size']}_items_per_s": float(row["items_per_s"])
             for row in rows if row.get("items_per_s")}  # fmt: skip
    wrong = [f"{row['network']}: {row['error']}" for row in rows if row.get("error")]
    return Findings(words, rates, "; ".join(wrong)), rows
