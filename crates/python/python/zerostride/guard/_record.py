"""Owns what a mistake is, as data: one place of the program, and the words and repairs of ``zs explain`` for it."""

import math
import re
from dataclasses import asdict, dataclass, field

from .. import _zerostride
from . import _shapes


@dataclass
class Mistake:
    """A broadcast that was probably not meant, at one line of the program."""

    op: str
    shapes: tuple
    result: tuple
    bytes: int
    classes: tuple
    file: str
    line: int
    function: str
    text: str
    names: tuple = ()
    times: int = 1
    tests: list = field(default_factory=list)

    @property
    def place(self):
        """Where it is and between which shapes, without their sizes: two operations of one formula are one mistake, and so are
        those of two batches."""
        return self.file, self.line, _shapes.pattern(tuple(sorted(self.shapes)))

    @property
    def severity(self):
        """The worst first."""
        return "mutual_stretch" in self.classes, "blow_up" in self.classes, self.bytes

    @property
    def factor(self):
        """How many times the elements of the largest operand the result has."""
        return math.prod(self.result) // max(1, *map(math.prod, self.shapes))

    @property
    def message(self):
        shapes = " and ".join(str(list(shape)) for shape in self.shapes)
        if self.op.endswith("setitem"):
            target, value = self.shapes
            return f"{self.op} of {list(value)} into {list(target)} repeats it along one dim, and another one has its size too"
        larger = ", larger than every operand" if "mutual_stretch" in self.classes else ""
        return f"{self.op} of {shapes} broadcasts to {list(self.result)}{larger}"

    @property
    def repairs(self):
        """Calls that make the operands fit, verified by the engine, in the names of the program."""
        return repairs(self.op, self.shapes, self.names)

    def to_dict(self):
        values = asdict(self)
        del values["names"]
        return values | {"message": self.message, "repairs": self.repairs}


def repairs(op, shapes, names=()):
    refused = _zerostride._Policy(None, dict.fromkeys(("mutual_stretch", "stretched", "rank_added"), "error"))
    refused.enter()
    try:
        _zerostride._report(op, [list(shape) for shape in shapes], 1)
    except _zerostride.BroadcastError as error:
        return [_renamed(repair["call"], op, names) for repair in error.repairs]
    finally:
        refused.leave()
    return []


def _renamed(call, op, names):
    """A repair of the operands a, b, … in the program's own words, and in NumPy's where the program is NumPy's."""
    letter, dot, rest = call.partition(".")
    place = ord(letter) - ord("a") if len(letter) == 1 else -1
    if 0 <= place < len(names) and names[place]:
        letter = names[place]
    if not op.startswith(("torch.", "zerostride.")):
        rest, changed = re.subn(r"^unsqueeze\(-1\)", "[..., None]", rest)
        dot = "" if changed else dot
    return letter + dot + rest
