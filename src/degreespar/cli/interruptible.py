"""Ctrl-C that works while the native core waits for the network."""

import threading
from collections.abc import Callable
from typing import TypeVar

JOIN_S = 0.2

T = TypeVar("T")


def interruptible(work: Callable[[], T]) -> T:
    """Runs the work in a thread of its own, so that the main thread is free to be interrupted.

    Python delivers Ctrl-C to the main thread between two of its own steps only; a wait inside the
    native core, up to a deadline of a minute, is not one. Only for work that leaves nothing behind: it is
    not told of the interrupt, while work in the main thread ends its processes and removes its folders.
    """
    results: list[T] = []
    failures: list[BaseException] = []

    def keep() -> None:
        try:
            results.append(work())
        except BaseException as error:
            failures.append(error)

    worker = threading.Thread(target=keep, name="command", daemon=True)
    worker.start()
    while worker.is_alive():
        worker.join(JOIN_S)
    if failures:
        raise failures[0]
    return results[0]
