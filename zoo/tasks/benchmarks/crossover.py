"""Find the size above which one device is faster than another."""

import math
from collections.abc import Mapping


def crossover(slower_start: Mapping[float, float], challenger: Mapping[float, float]) -> float | None:
    """Return the size above which the challenger is faster at all sizes that both were timed at.

    Times between two sizes are interpolated linearly on logarithmic axes. Both arguments map sizes to times in the
    same unit. None means that the challenger is not faster at the largest size, or that they share no size. 0.0 means
    that it is faster from the smallest size on.
    """
    sizes = sorted(size for size in slower_start.keys() & challenger.keys() if size > 0)
    ratios = [math.log(challenger[size] / slower_start[size]) for size in sizes]  # below zero: the challenger wins
    if not ratios or ratios[-1] >= 0:
        return None
    lost = [index for index, ratio in enumerate(ratios) if ratio >= 0]
    if not lost:
        return 0.0
    last = lost[-1]
    share = ratios[last] / (ratios[last] - ratios[last + 1])
    return float(math.exp(math.log(sizes[last]) + share * math.log(sizes[last + 1] / sizes[last])))


def words(slower_start: Mapping[float, float], challenger: Mapping[float, float], names: tuple[str, str]) -> str:
    """Return a sentence such as ``From n = 3e6 on the GPU is faster than the CPU: 4.2 times as fast at n = 1e8.``"""
    shared = sorted(slower_start.keys() & challenger.keys())
    if not shared:
        return f"{names[1]} and {names[0]} were not timed at any common size."
    largest = shared[-1]
    gain = slower_start[largest] / challenger[largest]
    start_size = crossover(slower_start, challenger)
    if start_size is None:
        longer = scientific(1 / gain)
        slower = f"at n = {scientific(largest)} it takes {'' if longer == '1' else f'{longer} times '}as long"
        return f"Up to n = {scientific(largest)} {names[1]} is not faster than {names[0]}: {slower}."
    start = "At every size" if start_size == 0.0 else f"From n = {scientific(start_size)} on"
    return (
        f"{start} {names[1]} is faster than {names[0]}: {scientific(gain)} times as fast at n = {scientific(largest)}."
    )


def scientific(value: float) -> str:
    """Format large numbers like ``3e6``, small ones without an exponent."""
    if value < 10_000:
        return f"{value:.2g}" if value < 100 else f"{value:.0f}"
    head, _, power = f"{value:.1e}".partition("e")
    return f"{head.removesuffix('.0')}e{int(power)}"
