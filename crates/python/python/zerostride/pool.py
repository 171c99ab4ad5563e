"""The memory of dropped results, which is kept for the next ones.

>>> import zerostride as zs
>>> result = zs.ones(1000, 1000) + 1
>>> del result
>>> zs.pool.cached() >= 4_000_000
True
>>> zs.pool.trim()
>>> zs.pool.cached() < 4_000_000
True

Allocating memory costs more than most operations on it, so the memory of a result is kept for the next one of about its size.
Memory that has not been used for some seconds is returned to the system.
"""

from . import _zerostride
from ._bytes import number_of_bytes

__all__ = ["cached", "limit", "set_limit", "trim"]


def cached() -> int:
    """The bytes that are kept for reuse, and belong to no tensor."""
    return _zerostride._pool_cached()


def limit() -> int:
    """The most bytes that are kept: a quarter of the machine's memory unless ``set_limit`` says otherwise."""
    return _zerostride._pool_limit()


def set_limit(bytes: int | str) -> None:
    """Sets the most bytes that are kept, as a number or a text such as ``"2 GiB"``; 0 keeps none. Small
    blocks that each thread keeps (up to 1 MiB each, a few MiB in all) are not counted."""
    _zerostride._pool_set_limit(number_of_bytes("bytes", bytes))


def trim() -> None:
    """Returns all kept memory to the system now. Small blocks of another thread follow when that thread next
    makes or drops a tensor."""
    _zerostride._pool_trim()
