"""Owns the lines of the model that nodes come from, as PyTorch has noted them."""

import os
import re
from typing import NamedTuple

from ..guard import _frames


class Line(NamedTuple):
    """A line of a program."""

    file: str
    number: int
    function: str

    def __str__(self):
        return f"{self.function} at {os.path.basename(self.file)}:{self.number}"


_FRAME = re.compile(r'File "(.*)", line (\d+), in (.*)')


def line_of(node):
    """The innermost line of the user's program that made a node; ``None`` where PyTorch has noted none."""
    frames = _FRAME.findall(node.meta.get("stack_trace") or "")
    lines = [Line(file, int(number), function) for file, number, function in frames if _frames.is_users(file)]
    return lines[-1] if lines else None
