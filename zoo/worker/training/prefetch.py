"""Prepare the next batches while the current step runs."""

import collections
from concurrent.futures import ThreadPoolExecutor

AHEAD = 2


def prefetch(batches):
    """Yield the items of an iterator, which a thread prepares while earlier items are in use.

    Exceptions of the iterator are raised here, in order.
    """
    with ThreadPoolExecutor(1) as thread:
        ready = collections.deque(thread.submit(next, batches, None) for _ in range(AHEAD))
        try:
            while True:
                batch = ready.popleft().result()
                if batch is None:
                    return
                ready.append(thread.submit(next, batches, None))
                yield batch
        finally:
            for each in ready:
                each.cancel()
