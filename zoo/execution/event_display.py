"""Show the events of a worker: a progress bar for steps, and a line per epoch."""

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from zoo.core import console
from zoo.protocol import events
from zoo.runs import event_log, lock, records

PAUSE_S = 0.3
Show = Callable[[events.Event], None]


@contextlib.contextmanager
def following(what: str, figures: Sequence[str], live: bool = True, named: set[str] | None = None) -> Iterator[Show]:
    """Yield a function that shows an event: a bar with metrics, speed and time left, and a line per epoch.

    Args:
        what: shown until the first step, such as ``"Starting tf-2.21"``.
        figures: metrics of a step or an epoch, in display order.
        live: draw bars; only one at a time is possible in a terminal.
        named: lines about devices that are not printed again.
    """
    with contextlib.ExitStack() as stack:
        live = live and (console.is_terminal() or console.in_notebook())
        if live:
            stack.enter_context(console.bar(what))
        drawn, devices = _Drawn(figures), set() if named is None else named

        def show(event: events.Event) -> None:
            match event:
                case events.StartEvent():
                    known = ", ".join(f"{name} {number}" for name, number in sorted(event.versions.items()))
                    proof = f"({event.device.proof} ran there)"
                    line = f"Device: {events.short_device(event.device.name)} {proof}; {known}"
                    if line not in devices:  # once for all workers of a run
                        console.say(line)
                    devices.add(line)
                case events.StepEvent():
                    if drawn.bar is None and event.steps and live:
                        # Only one live bar can be drawn at a time, so close the spinner first.
                        stack.close()
                        total = event.steps * (event.epochs or 1)
                        drawn.bar = stack.enter_context(console.bar(event.unit, total=total))
                    if drawn.bar is not None:
                        drawn.move(event)
                case events.ResumeEvent():
                    drawn.resumed = event
                    step = f", after step {event.step}" if event.step else ""
                    console.say(f"Resuming in epoch {event.epoch}{step}")
                case events.StageEvent():
                    rate = f"learning rate up to {event.learning_rate:g}"
                    console.say(f"Stage {event.stage}, from epoch {event.epoch} on: {event.what}; {rate}")
                case events.EpochEvent() if event.epoch >= drawn.resumed.epoch:  # earlier ones were shown before
                    console.say(epoch_line(event, figures) + drawn.remark(event))
                case events.TextEvent():
                    if drawn.bar is None:
                        stack.close()
                    console.write(event.text)
                case events.WarningEvent():
                    console.warn(event.message)

        yield show


class _Drawn:
    def __init__(self, figures: Sequence[str]) -> None:
        self._figures = figures
        self.bar: console.Bar | None = None
        self._done, self._star = 0.0, "  * best so far"
        self.resumed = events.ResumeEvent(epoch=0)

    def remark(self, event: events.EpochEvent) -> str:
        """Return notes about an epoch: resumed within it, or best validation result."""
        resumed = event.epoch == self.resumed.epoch and self.resumed.step and not event.size
        parts = f"  (resumed after step {self.resumed.step})" if resumed else ""
        if not event.best or event.val_loss is None:
            return parts
        star, self._star = self._star, "  *"
        return parts + star

    def move(self, event: events.StepEvent) -> None:
        assert self.bar is not None  # noqa: S101  (opened by the caller)
        done = ((event.epoch or 1) - 1) * (event.steps or 0) + event.step
        self.bar.advance(done - self._done)
        self._done = done
        if event.loss is not None:
            self.bar.label(f"epoch {event.epoch}/{event.epochs}" if event.epoch else "")
            self.bar.note("  ".join([*_figures(event, self._figures), _speed(event)]))


def epoch_line(event: events.EpochEvent, figures: Sequence[str]) -> str:
    name = f"size {event.size}, " if event.size else "epoch "
    cut = [f"stopped after {event.steps} of {event.all_steps} steps"] if event.all_steps else []
    parts = [f"{name}{event.epoch:>3}/{event.epochs}", *cut, *_figures(event, figures)]
    return "  ".join([*parts, _speed(event), f"{event.epoch_s or 0.0:.1f} s"])


def _figures(event: events.StepEvent | events.EpochEvent, figures: Sequence[str]) -> list[str]:
    values = vars(event)
    return [f"{name} {values[name]:.4f}" for name in figures if values.get(name) is not None]


def _speed(event: events.StepEvent | events.EpochEvent) -> str:
    speed = event.items_per_s or 0.0
    return f"{speed:,.0f} items/s" if speed >= 10 else f"{speed:.2f} items/s"


def follow(folder: Path, figures: Sequence[str]) -> str:
    """Show the events of a run, with the metrics ``figures``, until it ends; return its exit state.

    The state is ``completed``, ``interrupted``, ``failed`` or ``killed``. The run folder is not changed.
    """
    record = records.read(folder)
    console.say(f"{folder}: {record.get('model')}, begun {record.get('started')}")
    if lock.is_held(folder):
        console.say("Press Ctrl-C to stop watching; the run continues.")
    tail = event_log.Tail(folder / "events.jsonl")
    with following("Waiting for the next step", figures) as show:
        while True:
            running = lock.is_held(folder)  # checked first, to read everything written before the release
            for event in tail.new():
                show(event)
            if not running:
                return str(records.read(folder)["exit"])
            time.sleep(PAUSE_S)
