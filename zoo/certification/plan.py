"""The backends of a machine, and the steps for each."""

import dataclasses

from zoo.certification import endurance, steps, timings
from zoo.certification.results import QUICK, Place, tuning
from zoo.certification.work import Do, has_operations
from zoo.core.errors import ZooError, require_known
from zoo.environments import backends, machine, selection, stacks
from zoo.environments.machine import Machine
from zoo.environments.selection import Selection

BEST, ALL = "best", "all"


@dataclasses.dataclass(frozen=True)
class Step:
    """One step.

    Attributes:
        expected_s: seconds on two cores of a Xeon with stack tf-2.21, to estimate the remaining time.
        needed: whether later steps are skipped after its failure.
        recorded: whether it has the record of a run if it passes.
    """

    name: str
    about: str
    expected_s: float
    do: Do
    needed: bool = False
    recorded: bool = True


def places(backend: str | None, stack: str) -> list[Place]:
    """Return the backends of this machine with their stacks, best first.

    Args:
        backend: name of a single backend; None means all that work here.
        stack: ``best``, ``all`` (every stack that works), or the name of a stack.
    """
    if stack not in ("best", "all"):
        require_known("stack", [stack], list(stacks.by_name()))
    here = machine.probe()
    names = [backend] if backend else []
    if not backend:
        names = [each.backend.name for each in selection.works_here(selection.survey(here, stacks.by_name()))]
    chosen = [selection.select(name, here, each) for name in names for each in _stacks(name, stack, here)]
    if not chosen:
        raise ZooError(f"No backend works on this machine with stack {stack!r}", "See `python -m zoo doctor`.")
    return [place(row) for row in chosen]


def _stacks(backend: str, wanted: str, here: Machine) -> list[str | None]:
    rows = {each.name: each for each in backends.load_all()}
    if wanted == BEST or backend not in rows:  # selecting an unknown backend raises an error with the valid names
        return [None]
    available = stacks.by_name()
    row = rows[backend]
    names = row.stacks if wanted == ALL else [wanted]
    return [name for name in names if selection.evaluate(row, here, available, name).stack]


def place(choice: Selection) -> Place:
    stack = choice.stack
    trains = choice.backend.trains and stack.trains
    return Place(choice.backend.name, stack.name, choice.device_kind, stack.framework, trains)


def steps_of(place: Place, mode: str) -> list[Step]:
    """Return the steps for a backend and stack, in order; a stack that cannot train has fewer."""
    begin = [
        Step("environment", "builds the environment of the stack from its lock", 5, steps.environment, True, False),
        Step("device", "proves the device, probes operations, times a product", 8, steps.device, needed=True),
    ]
    times = [Step("golden", "compares the answers of networks with golden ones", 12, timings.golden)]
    if has_operations(place):
        about = "times matrix products and convolutions"
        times.append(Step("matmul", about, 10 if mode == QUICK else 60, timings.matmul))
    search = tuning(mode)
    if search is not None:
        model, data, trials = search
        about = f"searches {trials} trials for a recipe of {model} on {data}"
        do = steps.tuned(model, data, trials)
        return [*begin, Step(f"tune {model}", about, 12.0 * (trials + 6), do, recorded=False)]
    if not place.trains:
        return [*begin, *times]
    times += [
        Step("networks", "times training steps of networks", 10 if mode == QUICK else 60, timings.networks),
        Step("encoder", "times the transformer's encoder", 8 if mode == QUICK else 60, timings.encoder),
        Step("memory", "checks that memory does not grow from epoch to epoch", 8, endurance.memory),
        Step("resume", "kills a training and resumes it", 16, endurance.resume),
    ]
    middle = _quick_training() if mode == QUICK else _whole_training()
    last = [Step("device again", "times the same product again", 6, steps.device)]
    return [*begin, *middle, *times, *last]


def _first_epochs(*models: str) -> list[Step]:
    about = "compares the losses of a short first epoch with golden ones"
    return [Step(f"first epoch of {model}", f"{about}: {model}", 9, steps.first_epoch(model)) for model in models]


def _quick_training() -> list[Step]:
    dense = steps.training("mnist_dense", "data=digits", minutes=1)
    small = steps.training("mnist", "data=digits", "preset=smoke", minutes=1)
    return [
        *_first_epochs("mnist_dense", "mobilenet", "transformer/lm"),
        Step("train mnist_dense", "trains mnist_dense on scikit-learn's digits by its recipe", 9, dense),
        Step("train mnist", "trains mnist on scikit-learn's digits for an epoch", 8, small),
    ]


def _whole_training() -> list[Step]:
    def trained(model: str, data: str, expected_s: float, *settings: str) -> Step:
        do = steps.training(model, *settings)
        return Step(f"train {model}", f"trains {model} on {data} by its recipe", expected_s, do)

    shapes = ("data=folder", "data.root={samples}/shapes", "data.layout=classes", "model.input_size=64")
    images = ("content={samples}/shapes/disc/000.bmp", "style={samples}/shapes/stripes/000.bmp")
    return [
        *_first_epochs("mnist_dense", "mnist", "mobilenet", "transformer/classifier", "transformer/lm"),
        Step("train mnist", "trains mnist on MNIST by its recipe", 20, steps.mnist),
        trained("mnist_dense", "scikit-learn's digits", 9, "data=digits"),
        trained("mnist_conv5", "scikit-learn's digits", 60, "data=digits"),
        trained("mnist_fast", "scikit-learn's digits", 12, "data=digits"),
        trained("mobilenet", "drawn shapes", 60, *shapes, "model.alpha=0.25"),
        trained("mobilenet_v2", "drawn shapes", 90, *shapes, "model.alpha=0.35"),
        trained("transformer/classifier", "written texts", 20, "data=text_lines", "data.root={samples}/texts"),
        trained("transformer/lm", "a written text", 200, "data=text_file", "data.root={samples}/sentences.txt",
                "data.tokenizer=characters"),
        trained("style_transfer", "two drawn images", 30, *images, "features=random", "size=128"),
        trained("style_transfer/fast", "two photos", 60, "trainer.steps=30", "trainer.report=10", "trainer.size=64",
                "trainer.batch_size=2", "features=random", "photos={samples}/shapes/disc"),
    ]  # fmt: skip
