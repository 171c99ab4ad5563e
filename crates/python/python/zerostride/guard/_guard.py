"""Owns the decision whether a broadcast is a mistake, and the mistakes that were found. How they were seen is the eyes' affair."""

import functools
import threading
from dataclasses import replace

from .. import _zerostride
from . import _frames, _shapes, _text, _watch
from ._record import Mistake

ALARMS = ("mutual_stretch",)
"""The classes that are nearly always mistakes, where the program does not say that they are meant."""

OF_ROWS = ("cosine_similarity", "pairwise_distance")
"""Those of them that reduce the last dim themselves: of all pairs of rows they make a table of numbers."""

NO_OUTER = ("loss", "kl_div", "l2_loss", "squared_error", "allclose", "cosine_similarity", "pairwise_distance", "dist")
"""Ends of names of functions that pair elements: no program means all pairs of elements with them, even if a dim was made."""


MATCHES = (".eq", ".ne", ".equal", ".not_equal")
"""Ends of names of comparisons: of indices or labels, a column and a row of other ones give the table of what matches."""


class Guard:
    """Watches the process from ``enter`` to ``leave``, and keeps the mistakes that it finds, each one once.

    >>> import numpy as np
    >>> from zerostride.guard import Guard
    >>> Guard().mistakes
    []
    """

    def __init__(self, classes=ALARMS, max_bytes=None, allow=()):
        self.classes = tuple(classes) + (("blow_up",) if max_bytes and "blow_up" not in classes else ())
        self.max_bytes = max_bytes or 1 << 30
        self.allow = tuple(allow)
        self.wants_every = bool({*self.classes} - {"mutual_stretch"})
        self.suspended = 0
        self.test = None
        self._found = {}
        self._lock = threading.Lock()
        self._met = {}

    def __enter__(self):
        _watch.watch(self)
        return self

    def __exit__(self, *error):
        _watch.unwatch(self)

    @property
    def mistakes(self):
        """What was found, the worst first."""
        return sorted(self._found.values(), key=lambda mistake: mistake.severity, reverse=True)

    def since(self, test):
        """The mistakes that a test met, with the operands that it had, and forgets that it met them."""
        with self._lock:
            met, self._met = self._met, {}
        for mistake in met.values():
            tests = self.first(mistake).tests
            if test and test not in tests:
                tests.append(test)
            mistake.tests += [test] if test else []
        return list(met.values())

    def first(self, mistake):
        """What was found first at the place of a mistake; a baseline knows all of one place by it."""
        return self._found[mistake.place]

    def judge(self, op, shapes, item_size, frame):
        """Keeps a broadcast if it is a mistake: ``frame`` computes it, ``op`` is its name."""
        if self.suspended:
            return
        users = _frames.users_frame(frame)
        if users is None:
            return
        if op.endswith("setitem"):
            alarms = {"mutual_stretch"} if _shapes.is_spread(*shapes) else set()
        else:
            alarms = {*self.classes} & {*self._classes(shapes, item_size)}
        if not alarms or alarms == {"mutual_stretch"} and is_meant(op, shapes, frame):
            return
        line, function = users.f_lineno, users.f_code.co_qualname
        self.keep(op, shapes, item_size, users.f_code.co_filename, line, function, _text.Place.of(users))

    def judge_line(self, op, shapes, item_size, filename, line, function):
        """Keeps a broadcast of a compiled function, of which only the line is known."""
        if self.suspended or not _frames.is_users(filename) or not {*self.classes} & {*self._classes(shapes, item_size)}:
            return
        place = _text.Place.on(filename, line)
        if place is None or not _says(op, shapes, place):
            self.keep(op, shapes, item_size, filename, line, function, place)

    def keep(self, op, shapes, item_size, filename, line, function, place):
        result = shapes[0] if op.endswith("setitem") else _shapes.result_of(shapes)
        size = item_size
        for extent in result:
            size *= extent
        text = _text.line(filename, line)
        names = place.names() if place and len(place.operands) == len(shapes) else ()
        mistake = Mistake(
            op, shapes, result, size, tuple(self._classes(shapes, item_size)), filename, line, function, text, names
        )
        if any(rule.allows(mistake) for rule in self.allow):
            return
        with self._lock:
            known = self._found.setdefault(mistake.place, mistake)
            known.times += known is not mistake
            met = self._met.setdefault(mistake.place, replace(mistake, times=0, tests=[]))
            met.times += 1

    def _classes(self, shapes, item_size):
        classes = _classes_of(shapes)
        result = _shapes.result_of(shapes)
        size = item_size
        for extent in result or ():
            size *= extent
        return [*classes, "blow_up"] if result and size > self.max_bytes else classes


@functools.lru_cache(maxsize=1 << 14)
def _classes_of(shapes):
    return _zerostride.explain(*shapes).to_dict()["classes"]


_decided = {}
"""What was decided of a broadcast, by the whole stack that led to it; with the code of the stack, whose identity is the key."""


def is_meant(op, shapes, frame):
    """Whether the text says that the result is to be larger than every operand. A loop asks again and again."""
    codes, key, above = [], [op, shapes], frame
    while above:
        codes.append(above.f_code)
        key += id(above.f_code), above.f_lasti
        above = above.f_back
    key = tuple(key)
    known = _decided.get(key)
    if known is None:
        if len(_decided) >= 4096:
            _decided.clear()
        known = _decided[key] = _decide(op, shapes, frame), codes
    return known[0]


def _decide(op, shapes, frame):
    users = _frames.users_frame(frame)
    while frame:
        place = _text.Place.of(frame)
        if place and place.operands and _says(op, shapes, place):
            return True
        if frame is users:
            return False
        frame = frame.f_back
    return False


def _says(op, shapes, place):
    if op.endswith(MATCHES) and _is_table(shapes):
        return True
    is_outer = not op.endswith(NO_OUTER) or _are_pairs_of_rows(op, shapes, place)
    operands = place.operands
    if len(operands) == len(shapes):
        result = _shapes.result_of(shapes)
        stretched = [_is_stretched(shape, result) for shape in shapes]
        found = [place.at(operand).evidence() if is_it else None for operand, is_it in zip(operands, stretched)]
        found = [evidence for evidence in found if evidence is not None]
    else:
        found = [place.at(operand).evidence() for operand in operands]
    best = max(found, default=_text.NOTHING)
    ranks = {len(shape) for shape in shapes}
    if op.endswith("setitem"):
        return best >= _text.EARLIER
    if best == _text.HERE:
        return is_outer
    if best == _text.EARLIER and is_outer:
        pairs = len(ranks) > 1 and len({_numel(shape) for shape in shapes if _numel(shape) > 1}) == 1
        return not (pairs and place.is_reduced()) or place.is_in_table()
    return len(ranks) == 1 and min(found, default=_text.NOTHING) >= _text.CREATED


def _are_pairs_of_rows(op, shapes, place):
    """Whether rows of one length are paired, and each pair makes a number: by the function, or by what the program does next."""
    lengths = {shape[-1] for shape in shapes if shape}
    if len(lengths) != 1 or lengths == {1}:
        return False
    return op.endswith(OF_ROWS) or place.keeps_elements() and not place.is_reduced()


def _is_table(shapes):
    """Whether a column meets a row of another length: nothing could be compared element by element, and neither lacks a dim."""
    return len({len(shape) for shape in shapes}) == 1 and len({_numel(shape) for shape in shapes}) == len(shapes)


def _is_stretched(shape, result):
    return any(size == 1 != wanted for size, wanted in zip(reversed(shape), reversed(result)))


def _numel(shape):
    product = 1
    for size in shape:
        product *= size
    return product
