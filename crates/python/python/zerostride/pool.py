"""The memory of dropped results, which is kept for the next ones.

>>> import zerostride as zs
>>> result = zs.ones(1000, 1000) + 1
>>> del result
>>> zs.pool.cached() >= 4_000_000
True
>>> zs.pool.trim()
>>> zs.pool.cached() < 4_000_000
True

Fresh memory costs more than most operations on it, so that a result leaves its memory to the next one of about its size. What
nobody has wanted for some seconds goes back to the system by itself.
"""

from . import _zerostride
from ._bytes import number_of_bytes

__all__ = ["cached", "limit", "set_limit", "trim"]


def cached() -> int:
    """The bytes that no tensor has and that are kept for the next one."""
    return _zerostride._pool_cached()


def limit() -> int:
    """The bytes that may be kept: a quarter of the machine's memory unless ``set_limit`` says otherwise."""
    return _zerostride._pool_limit()


def set_limit(bytes: int | str) -> None:
    """Sets the bytes that may be kept, as a number or a text such as ``"2 GiB"``; 0 keeps none. Blocks of up to 1 MiB that each
    thread keeps for itself, a few MiB at most, are not counted."""
    _zerostride._pool_set_limit(number_of_bytes("bytes", bytes))


def trim() -> None:
    """Gives all that is kept back to the system now. Another thread's own small blocks go when it next makes or drops a
    tensor."""
    _zerostride._pool_trim()
