"""Owns who is told of a broadcast that was seen: policies and audits of this thread, guards of the process.

Eyes (``_torch.py``, ``_arrays.py``) find broadcasts of other libraries and tell of them here; the engine tells policies and
audits of its own.
"""

from .. import _zerostride
from . import _shapes

guards = []
"""Guards in force, of which each decides what a mistake is."""

every = 0
"""How many policies and audits are in force, on any thread: they are told of what is no mistake too."""


def watch_every(change):
    global every
    every += change
    _tell_eye()


def watch(guard):
    guards.append(guard)
    _tell_eye()


def unwatch(guard):
    guards.remove(guard)
    _tell_eye()


def _tell_eye():
    """Tells the eye in Rust what it has to look at (``src/eye.rs``)."""
    _zerostride._eye_sees_every(bool(every or any(guard.wants_every for guard in guards)))


def is_wanted(shapes):
    """Whether any watcher wants to be told of a broadcast of these shapes; all equal ones are none."""
    return every or _shapes.is_mutual(shapes) or any(guard.wants_every for guard in guards)


def seen(op, shapes, item_size, frame):
    """Tells of a broadcast that a library is about to make.

    Raises ``BroadcastError`` where a policy refuses it.
    """
    if every:
        _zerostride._report(op, [list(shape) for shape in shapes], item_size)
    for guard in guards:
        guard.judge(op, shapes, item_size, frame)
