"""Owns what a project says about its broadcasts: ``[tool.zerostride]`` in pyproject.toml."""

import fnmatch
import os
import re
import tomllib
from dataclasses import dataclass, field

from .._bytes import number_of_bytes
from . import _shapes

MODES = ("off", "report", "error")
CLASSES = ("rank_added", "stretched", "mutual_stretch", "same_numel", "blow_up")
KEYS = ("broadcasts", "broadcasts_allow", "broadcasts_baseline", "broadcasts_classes", "broadcasts_max_bytes", "broadcasts_skip")


@dataclass(frozen=True)
class Rule:
    """A place where a broadcast is allowed: a file by its pattern, and if given an operation, a line's function, shapes.

    In pyproject.toml it is a text, ``"src/kernels.py"``, ``"src/*.py: sub"`` or ``"src/kernels.py: sub (n, 1) (m)"``, or a
    table ``{file = …, op = …, shapes = …}``. In shapes a number stands for itself, ``*`` and letters for any size.
    """

    file: str
    op: str = "*"
    shapes: tuple = ()
    root: str = field(default=".", compare=False)

    @staticmethod
    def of(given, root="."):
        if isinstance(given, str):
            parts = re.fullmatch(r"\s*([^:\s]+)\s*:?\s*([\w.*]*)\s*:?\s*(.*)", given)
            if parts is None:
                raise ValueError(f"broadcasts_allow: {given!r} is not 'FILE', 'FILE: OPERATION' or 'FILE: OPERATION (SHAPE) (SHAPE)'")
            file, op, shapes = parts.groups()
        elif isinstance(given, dict) and "file" in given and {*given} <= {"file", "op", "operation", "shapes"}:
            file, op, shapes = given["file"], given.get("op", given.get("operation", "*")), given.get("shapes", "")
        else:
            raise ValueError(f"broadcasts_allow: {given!r} has other keys than file, op and shapes")
        shapes = shapes if isinstance(shapes, str) else " ".join(map(str, shapes))
        found = re.findall(r"[(\[]([^()\[\]]*)[)\]]", shapes)
        parsed = tuple(tuple(size.strip() for size in shape.split(",") if size.strip()) for shape in found)
        return Rule(file, op or "*", parsed, root)

    def allows(self, mistake):
        file = relative(mistake.file, self.root)
        is_file = fnmatch.fnmatch(file, self.file) or file.endswith("/" + self.file)
        op = mistake.op.rpartition(".")[2]
        return is_file and (fnmatch.fnmatch(op, self.op) or fnmatch.fnmatch(mistake.op, self.op)) and self._fits(mistake.shapes)

    def _fits(self, shapes):
        fits = lambda pattern, shape: len(pattern) == len(shape) and all(
            not wanted.isdigit() or int(wanted) == size for wanted, size in zip(pattern, shape)
        )
        return not self.shapes or len(self.shapes) == len(shapes) and all(map(fits, self.shapes, shapes))


@dataclass
class Settings:
    """What the project wants, where the command line says nothing else."""

    mode: str = "off"
    allow: tuple = ()
    baseline: str | None = None
    classes: tuple = ("mutual_stretch",)
    max_bytes: int | None = None
    skip: tuple = ()
    root: str = "."

    @staticmethod
    def read(root):
        """The settings of a project's pyproject.toml, or what holds without one."""
        path = os.path.join(root, "pyproject.toml")
        try:
            with open(path, "rb") as file:
                table = tomllib.load(file).get("tool", {}).get("zerostride", {})
        except FileNotFoundError:
            table = {}
        wrong = lambda problem: ValueError(f"{path}: [tool.zerostride] {problem}")
        if unknown := {key for key in table if key.startswith("broadcasts")} - {*KEYS}:
            raise wrong(f"has no {', '.join(sorted(unknown))}: there are {', '.join(KEYS)}")
        classes = tuple(table.get("broadcasts_classes", Settings.classes))
        if unknown := {*classes} - {*CLASSES}:
            raise wrong(f"broadcasts_classes: {', '.join(sorted(unknown))} is none of {', '.join(CLASSES)}")
        mode = table.get("broadcasts", "off")
        if mode not in MODES:
            raise wrong(f"broadcasts = {mode!r} is none of {', '.join(MODES)}")
        return Settings(
            mode=mode,
            allow=tuple(Rule.of(given, root) for given in table.get("broadcasts_allow", ())),
            baseline=table.get("broadcasts_baseline"),
            classes=classes,
            max_bytes=number_of_bytes("broadcasts_max_bytes", table.get("broadcasts_max_bytes")),
            skip=tuple(table.get("broadcasts_skip", ())),
            root=root,
        )


def relative(file, root):
    """A path as reports and baselines have it: from the project's folder, with slashes."""
    try:
        path = os.path.relpath(os.path.abspath(file), os.path.abspath(root))
    except ValueError:  # another drive
        path = file
    path = file if path.startswith("..") else path
    return path.replace(os.sep, "/")


def key(mistake, root):
    """What a baseline has of a mistake: no line number and no sizes, which change while the mistake remains."""
    return {
        "file": relative(mistake.file, root),
        "function": mistake.function,
        "text": mistake.text,
        "op": mistake.op,
        "shapes": _shapes.pattern(mistake.shapes),
    }
