"""The steps of a certification: functions that run a public feature of the zoo and return findings."""

import json
from pathlib import Path

from zoo.certification.results import Findings
from zoo.certification.work import Do, Work, bench, environment_of, has_operations, run_of
from zoo.config import search_space
from zoo.config.overrides import Overrides
from zoo.core import paths, schema
from zoo.core.errors import INTERRUPTED, ZooError
from zoo.tasks import search_settings, tune, validate

FIRST_EPOCHS = Path(__file__).with_name("first_epoch.json")
# Time limit of a training run on slow hardware, so that all steps of a machine end within an hour.
LONGEST_MINUTES = 1.5


def environment(work: Work) -> Findings:
    built = environment_of(work)
    known = ("keras", "tensorflow", "torch", "jax", "openvino", "plaidml")
    names = [f"{name} {built.versions[name]}" for name in known if name in built.versions]
    how = f"built in {built.build_s:.0f} s" if built.build_s else "already built"
    words = f"Python {built.python_version}, {', '.join(names) or 'no Keras'}; {how}"
    return Findings([words], {"build_s": built.build_s})


def device(work: Work) -> Findings:
    """Prove the device, probe operations, and time a matrix product."""
    limits = ("count=5", "max_s=5")
    if has_operations(work.place):
        run, timed = bench(work, "bench=matmul", "operations=[square]", "square=[256,1024]", *limits)
    else:
        small = ("networks=[mnist]", "modes=[inference]", "batch_sizes=[32]")
        run, timed = bench(work, "bench=networks", *small, *limits)
    record = run.record
    proven = record.get("device") or {}
    kind = work.place.device_kind
    rows = [row for row in timed if row.get("size") == 1024 and row.get("device_kind") == kind]
    speeds = [row["gflop_per_s"] for row in rows if row.get("gflop_per_s") and row["device"] != "numpy"]
    probes = record.get("probes") or []
    where = proven.get("description") or proven.get("name")
    words = [f"{proven.get('proof')} ran on {where}, a {proven.get('device_kind')}",
             f"{sum(bool(row['ok']) for row in probes)} of {len(probes)} probes right"
             + (f" (probed on {record['probes_from']})" if record.get("probes_from") else "")]  # fmt: skip
    figures = {"probes": len(probes), **({"device_gflop_per_s": max(speeds)} if speeds else {})}
    return Findings(words, figures, "; ".join(validate.problems_of({**record, "expected": {}})))


def first_epoch(model: str) -> Do:
    """Return the step that trains a short epoch in float32 and compares its losses with the golden values."""

    def do(work: Work) -> Findings:
        run = run_of("train", work, *first_epoch_settings(model, work.samples))
        losses = {name: float(run.history[0][name]) for name in ("loss", "val_loss")}
        golden = json.loads(FIRST_EPOCHS.read_text(encoding="utf-8"))["losses"][model]
        off = max(abs(losses[name] - golden[name]) / golden[name] for name in losses)
        words = [f"loss {losses['loss']:.6f}, validation {losses['val_loss']:.6f}: relative difference {off:.2g}"]
        wrong = f"the losses differ from the golden values by {off:.2g}, more than {golden['tolerance']:g}"
        problem = "" if off <= golden["tolerance"] else wrong
        return Findings(words, {**losses, "off": off}, problem, "This device is wrong: use another.")

    return do


def first_epoch_settings(model: str, samples: Path) -> list[str]:
    """Return the settings of the short epoch of a model, from ``first_epoch.yaml``."""
    settings = schema.read_yaml(FIRST_EPOCHS.with_suffix(".yaml"))[model]
    return [f"{name}={value}".format(samples=samples) for name, value in {"model": model, **settings}.items()]


def training(model: str, *settings: str, minutes: float = LONGEST_MINUTES) -> Do:
    """Return the step that trains a model by its recipe, limited to ``minutes``."""

    def do(work: Work) -> Findings:
        words = [text.format(samples=work.samples) for text in settings]
        limit = [] if model.startswith("style_transfer") else [f"trainer.max_minutes={minutes}"]
        run = run_of("train", work, f"model={model}", *words, *limit)
        record = run.record
        shown = {name: value for name, value in run.metrics.items() if isinstance(value, int | float)}
        first = ("test_accuracy", "val_loss", "loss")
        said = [f"{name} {shown[name]:.4g}" for name in first if name in shown]
        losses = [row["loss"] for row in run.history if row.get("loss") is not None]
        said += [f"loss {losses[0]:.4g} to {losses[-1]:.4g} in {len(losses)} epochs"] if len(losses) > 1 else []
        train_s = record["phases"].get("train_s", 0.0)
        said += [f"trained for {train_s:.1f} s"]
        if record.get("stopped"):
            said.append(f"stopped after {minutes:g} minutes; the recipe's expected figures do not apply")
        problems = validate.problems_of(record)
        if len(losses) > 1 and losses[-1] >= losses[0]:
            problems.append(f"the loss did not fall: it went from {losses[0]:.4g} to {losses[-1]:.4g}")
        figures = {name: float(value) for name, value in shown.items()} | {"train_s": train_s}
        return Findings(said, figures, "; ".join(problems))

    return do


def mnist(work: Work) -> Findings:
    """Train the small convolutional network by its recipe on MNIST, or on scikit-learn's digits without it."""
    where = [] if work.mnist is None else [f"data.root={work.mnist}"]
    try:
        return training("mnist", "data=mnist", *where)(work)
    except ZooError as error:
        if error.exit_code == INTERRUPTED or "data.root=" not in error.remedy:
            raise
        findings = training("mnist", "data=digits")(work)
        findings.words.insert(0, f"MNIST is not available, used digits instead: {error.message.splitlines()[0]}")
        return findings


def tuned(model: str, data: str, trials: int) -> Do:
    """Return the step that searches for the settings that reach the recipe's target fastest on this machine."""

    def do(work: Work) -> Findings:
        where = work.folder.parent / f"tune-{work.place.backend}-{work.place.stack}-{model.replace('/', '-')}-{data}"
        words = [f"model={model}", f"data={data}", *work.place.words, f"trials={trials}", f"study={where}"]
        words += [f"space={space_file(model, work.place.backend)}"]
        words += [f"data.root={work.mnist}"] if data == "mnist" and work.mnist else []
        search, _ = search_settings.read(Overrides.parse(words, literal=search_settings.OWN))
        winner = tune.run(search)["winner"]
        if winner is None:
            remedy = "More trials may find one: trials=N."
            return Findings(problem=f"no settings reach {search.target:g} with every seed", remedy=remedy)
        times = winner["times_as_fast"]
        confirmed = search_settings.confirmed_words(winner["confirmed_s"])
        said = [f"proposed: {search_space.words(winner['values'])}", f"seconds: {confirmed}"]
        said += [f"{times:.3g} times as fast as the recipe, median over seeds"] if times else []
        return Findings(said, {"times_as_fast": times} if times else {}, proposal=winner)

    return do


def space_file(model: str, backend: str) -> Path:
    """Return the search space file of a recipe for a backend, or for the CPU if the backend has none."""
    folder = paths.CONFIGS / "tune" / model
    chosen = next((path for path in (folder / f"{backend}.yaml", folder / "cpu.yaml") if path.is_file()), None)
    if chosen is None:
        remedy = f"Write {folder / 'cpu.yaml'}; mnist_dense's is an example."
        raise ZooError(f"{model} declares no search space", remedy)
    return chosen
