"""Owns ``policy`` and ``audit``: the limits on implicit broadcasts and their record, here and in torch. It
does not know how a broadcast is judged, which is native.

Operations of other libraries are intercepted by ``guard/``.
"""

import contextlib
import html
import sys
from typing import NamedTuple

from . import _zerostride
from ._bytes import number_of_bytes
from .guard import _frames, _watch


def caller():
    """The file and line of the innermost frame of the user's program, if there is one on the stack."""
    frame = _frames.line_of_program(sys._getframe(1))
    return frame.f_code.co_filename, frame.f_lineno


class _Watch(contextlib.ContextDecorator):
    """A context in which other libraries' operations are reported, too: torch's, if it is imported."""

    def __enter__(self):
        self._torch = getattr(self, "_torch", [])
        eye = contextlib.nullcontext()
        if "torch" in sys.modules:
            from .guard import _torch

            eye = _torch.eye()
        eye.__enter__()
        self._torch.append(eye)
        _watch.watch_every(1)
        return self

    def __exit__(self, *error):
        _watch.watch_every(-1)
        self._torch.pop().__exit__(*error)


class policy(_Watch):
    """Says what happens to implicit broadcasts in a block: "allow", "warn" or "error" for each class.

    The classes are ``rank_added``, ``stretched``, ``mutual_stretch`` (the result has more elements than every operand),
    ``same_numel`` and ``blow_up`` (the result takes more than ``max_bytes``, which is an error unless the policy says
    otherwise). An inner policy overrides the classes that it names. A policy applies to the thread that enters it, to tensors
    of this package and, if torch is imported, to torch's.

    >>> import zerostride as zs
    >>> with zs.policy(mutual_stretch="error", max_bytes="2 GiB"):
    ...     zs.ones(32, 1) - zs.ones(32)
    Traceback (most recent call last):
    zerostride.BroadcastError: the policy refuses mutual_stretch: sub of [32, 1] and [32] broadcasts to [32, 32], larger than every operand
    """

    def __init__(self, *, max_bytes=None, **classes):
        self._native = _zerostride._Policy(number_of_bytes("max_bytes", max_bytes), classes)

    def __enter__(self):
        self._native.enter()
        return super().__enter__()

    def __exit__(self, *error):
        super().__exit__(*error)
        self._native.leave()


class Record(NamedTuple):
    """One implicit broadcast, and how often it occurred."""

    op: str
    shapes: tuple
    result: tuple
    bytes: int
    stored: bool
    classes: tuple
    file: str
    line: int
    times: int


class audit(_Watch):
    """Records every implicit broadcast of a block: of tensors of this package and, where torch is imported, of torch's.

    >>> import zerostride as zs
    >>> with zs.audit() as log:
    ...     loss = ((zs.ones(32, 1) - zs.ones(32)) ** 2).mean()
    >>> [(record.op, record.shapes, record.classes) for record in log.records]
    [('sub', ((32, 1), (32,)), ('rank_added', 'stretched', 'mutual_stretch', 'same_numel'))]
    """

    def __init__(self):
        self._native = None

    def __enter__(self):
        self._native = _zerostride._Audit()
        return super().__enter__()

    def __exit__(self, *error):
        super().__exit__(*error)
        self._native.stop()

    @property
    def records(self):
        """The broadcasts, in the order of their first occurrence."""
        return [Record(*record) for record in self._native.records()]

    def report(self):
        """Prints the broadcasts, the worst first."""
        print(self)

    def __str__(self):
        return self._native.report()

    def _repr_html_(self):
        columns = ("where", "operation", "shapes", "result", "bytes", "times", "classes")
        rows = [
            (f"{record.file}:{record.line}", record.op, " and ".join(map(str, record.shapes)), record.result,
             f"{record.bytes:,}" if record.stored else f"({record.bytes:,})", record.times, ", ".join(record.classes))
            for record in sorted(self.records, key=lambda record: ("mutual_stretch" not in record.classes, -record.bytes))
        ]  # fmt: skip
        cells = lambda tag, row: "".join(f"<{tag}>{html.escape(str(cell))}</{tag}>" for cell in row)
        body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
        return f"<table><thead><tr>{cells('th', columns)}</tr></thead><tbody>{body}</tbody></table>"

    def html(self):
        """The report as a page."""
        return f"<!doctype html><meta charset=utf-8><title>Implicit broadcasts</title>{self._repr_html_()}"
