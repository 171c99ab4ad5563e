"""Owns the lines of the model that nodes come from, as PyTorch has noted them."""

import os
import re
from typing import NamedTuple


class Line(NamedTuple):
    """A line of a program."""

    file: str
    number: int
    function: str

    def __str__(self):
        return f"{self.function} at {os.path.basename(self.file)}:{self.number}"


_FRAME = re.compile(r'File "(.*)", line (\d+), in (.*)')


def line_of(node):
    """The innermost line of the program, outside of PyTorch, that made a node; ``None`` where PyTorch has noted none."""
    torch = os.sep + os.path.join("site-packages", "torch") + os.sep
    frames = [Line(file, int(number), name) for file, number, name in _FRAME.findall(node.meta.get("stack_trace") or "")]
    outside = [frame for frame in frames if torch not in frame.file]
    return outside[-1] if outside else None
