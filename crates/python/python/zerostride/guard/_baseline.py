"""Owns the baseline: the mistakes that a project has already, in a file that is kept with it."""

import json
import os

from ._settings import key

VERSION = 1


class Baseline:
    """The mistakes of a file; one that is not in it is new.

    A mistake is known by file, function, text of its line, operation and shapes without their sizes: a line that moves or a
    batch that grows remains known, another formula does not.
    """

    def __init__(self, path, root):
        self.path, self.root = path, root
        self.known = set()
        self.met = set()

    @staticmethod
    def read(path, root):
        baseline = Baseline(path, root)
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
        if not isinstance(data, dict) or data.get("version") != VERSION:
            raise ValueError(f"{path} is no baseline of version {VERSION}: write it with --broadcasts-update")
        baseline.known = {_frozen(mistake) for mistake in data["mistakes"]}
        return baseline

    def knows(self, mistake):
        found = _frozen(key(mistake, self.root))
        self.met.add(found)
        return found in self.known

    @property
    def gone(self):
        """How many of its mistakes were not met."""
        return len(self.known - self.met)

    def write(self, mistakes):
        """Writes these mistakes instead of what the file has, sorted, so that it changes little."""
        kept = sorted({_frozen(key(mistake, self.root)) for mistake in mistakes})
        part = f"{self.path}.part"
        with open(part, "w", encoding="utf-8") as file:
            json.dump({"version": VERSION, "mistakes": [dict(mistake) for mistake in kept]}, file, indent=1, ensure_ascii=False)
            file.write("\n")
        os.replace(part, self.path)


def _frozen(mistake):
    return tuple(mistake.items())
