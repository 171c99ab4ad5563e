"""Owns ``policy`` and ``audit``: which implicit broadcasts are allowed, and which there were, here and in torch.

Judging and recording are native. This file finds the line of the program, and looks at torch's operations.
"""

import contextlib
import html
import os
import sys
from typing import NamedTuple

from . import _zerostride
from ._bytes import number_of_bytes

_HERE = os.path.dirname(__file__) + os.sep


def caller():
    """File and line of the innermost frame outside of this package and of torch."""
    torch = sys.modules.get("torch")
    inside = (_HERE, os.path.dirname(torch.__file__) + os.sep) if torch else (_HERE,)
    frame = sys._getframe(1)
    while frame.f_back and frame.f_code.co_filename.startswith(inside):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


class _Watch(contextlib.ContextDecorator):
    """A context in which torch's operations are looked at too, if torch is there."""

    def __enter__(self):
        self._torch = getattr(self, "_torch", [])
        mode = _torch_mode() if "torch" in sys.modules else contextlib.nullcontext()
        mode.__enter__()
        self._torch.append(mode)
        return self

    def __exit__(self, *error):
        self._torch.pop().__exit__(*error)


class policy(_Watch):
    """Says what happens to implicit broadcasts in a block: "allow", "warn" or "error" for each class.

    The classes are ``rank_added``, ``stretched``, ``mutual_stretch`` (the result has more elements than every operand),
    ``same_numel`` and ``blow_up`` (the result takes more than ``max_bytes``, which is an error unless the policy says
    otherwise). An inner policy decides what it speaks of. Holds for the thread that enters it, for tensors of this package
    and, where torch is imported, for torch's.

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
    """One implicit broadcast, and how often it was met."""

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
        """The broadcasts, in the order in which they were met first."""
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


def _torch_mode():
    import torch
    from torch.overrides import TorchFunctionMode

    names = _torch_names()

    class Mode(TorchFunctionMode):
        def __torch_function__(self, function, types, arguments=(), keywords=None):
            name = names.get(getattr(function, "__name__", ""))
            if name:
                given = [*arguments, *(value for key, value in (keywords or {}).items() if key != "out")]
                tensors = [value for value in given if isinstance(value, torch.Tensor)]
                if len({tensor.shape for tensor in tensors}) > 1:
                    size = max(tensor.element_size() for tensor in tensors)
                    _zerostride._report("torch." + name, [list(tensor.shape) for tensor in tensors], size)
            return function(*arguments, **(keywords or {}))

    return Mode()


def _torch_names():
    """torch's element-wise functions of several operands, by all their names: rows of the op table, and losses."""
    names = {name: name for name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy")}
    for name, operands in _zerostride._elementwise().items():
        if operands > 1:
            for shown in (name, name + "_", f"__{name}__", f"__r{name}__", f"__i{name}__"):
                names[shown] = name
    for shown, name in {"truediv": "div", "floordiv": "floor_divide", "mod": "remainder", "and": "bitwise_and",
                        "or": "bitwise_or", "xor": "bitwise_xor"}.items():  # fmt: skip
        for dunder in (f"__{shown}__", f"__r{shown}__", f"__i{shown}__"):
            names[dunder] = name
    return names
