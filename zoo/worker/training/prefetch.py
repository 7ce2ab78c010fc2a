"""Prepare the next batch while the current step runs."""

import contextlib
import queue
import threading


def prefetch(batches):
    """Yield the items of an iterator, each prepared by a thread while the previous one is in use.

    Exceptions of the iterator are raised here, in order.
    """
    ready, left = queue.Queue(1), threading.Event()
    thread = threading.Thread(target=_prepare, args=(batches, ready, left))
    thread.daemon = True
    thread.start()
    try:
        while True:
            batch, error = ready.get()
            if error is not None:
                raise error
            if batch is None:
                return
            yield batch
    finally:
        left.set()
        while thread.is_alive():  # it may wait for space
            with contextlib.suppress(queue.Empty):
                ready.get(timeout=0.01)


def _prepare(batches, ready, left):
    try:
        for batch in batches:
            ready.put((batch, None))
            if left.is_set():
                return
    except BaseException as error:  # raised again where the batches are used
        ready.put((None, error))
    else:
        ready.put((None, None))
