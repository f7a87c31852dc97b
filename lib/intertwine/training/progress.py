"""How far a training is, told to a bar or to the caller."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple


class Progress(NamedTuple):
    """What a callback gets after every epoch.

    Example:
        >>> Progress(5, 20, resumed=0, seconds=10.0, loss=1.2, accuracy=0.6, images_per_s=5e3).left_s
        30.0
    """

    done: int
    """Epochs, over all networks."""
    total: int
    resumed: int
    """How many of those done were not done now, but in a run before."""
    seconds: float
    """Since the beginning of this run."""
    loss: float
    """The last epoch's mean over its batches, as they were trained on; `accuracy` likewise."""
    accuracy: float
    images_per_s: float

    @property
    def left_s(self) -> float:
        """Seconds that are left at the speed so far."""
        return self.seconds * (self.total - self.done) / max(self.done - self.resumed, 1)


Tick = Callable[..., None]


@contextmanager
def reporting(progress: bool | Callable[[Progress], Any], total: int) -> Iterator[Tick]:
    """Yield what shall be called with a row of the history and the number of epochs since the last call.

    Example:
        >>> events = []
        >>> with reporting(events.append, total=3) as tick:
        ...     tick({"loss": 0.5, "accuracy": 0.9, "images_per_s": 100.0})
        >>> events[0].done, events[0].total
        (1, 3)

    Args:
        progress: a callback, True for a bar, False for silence.
        total: epochs over all networks.
    """
    if progress is True:
        from tqdm import tqdm

        with tqdm(total=total, unit="epoch") as bar:
            yield lambda row, epochs=1, resumed=False: _advance(bar, row, epochs, resumed)
        return
    start, done, skipped = time.perf_counter(), 0, 0

    def tick(row: Mapping[str, Any], epochs: int = 1, resumed: bool = False) -> None:
        nonlocal done, skipped
        done += epochs
        skipped += epochs * resumed
        if progress:
            seconds = time.perf_counter() - start
            facts = [float(row[name]) for name in ("loss", "accuracy", "images_per_s")]
            progress(Progress(done, total, skipped, seconds, *facts))

    yield tick


def relayed(tick: Tick) -> Callable[[Progress], None]:
    """A callback for one network, which tells a `tick` over many."""
    done = 0

    def hear(event: Progress) -> None:
        nonlocal done
        tick(event._asdict(), event.done - done, resumed=event.done == event.resumed)
        done = event.done

    return hear


def _advance(bar: Any, row: Mapping[str, Any], epochs: int, resumed: bool) -> None:
    if resumed:
        bar.initial += epochs  # so that they do not count as fast
    speed = f"{row['images_per_s']:,.0f}"
    bar.set_postfix(
        {"loss": f"{row['loss']:.3f}", "accuracy": f"{row['accuracy']:.1%}", "images/s": speed}, refresh=False
    )
    bar.update(epochs)
