"""Owns the report: which nodes of each compiled graph run in the engine and which do not, and why."""

import collections
import weakref

from ._lines import line_of

_records = weakref.WeakValueDictionary()


class Report:
    """The division of one compiled graph, which ``str`` prints.

    ``partitions`` are what the engine runs, each with ``names`` of its nodes, ``lines`` of the model, ``calls`` and
    ``seconds``; ``theirs`` counts what PyTorch runs, by operation and reason.
    """

    def __init__(self, name, direction):
        self.name, self.direction = name, direction
        self.partitions, self.theirs = [], collections.Counter()
        _records[max(_records, default=0) + 1] = self

    def left(self, node, reason):
        """Counts a node that PyTorch runs."""
        if node.op == "call_function":
            self.theirs[str(node.target), reason] += 1

    def _title(self):
        nodes = sum(len(partition.names) for partition in self.partitions)
        division = f"{_count(nodes, 'node')} in {_count(len(self.partitions), 'partition')}"
        return f"{self.name}, {self.direction}: {division}, {self.theirs.total()} by PyTorch"

    def __repr__(self):
        return f"<Report of {self._title()}>"

    def __str__(self):
        lines = [self._title(), *(f"  {partition}" for partition in self.partitions)]
        lines += [f"  PyTorch: {times} x {name}: {reason}" for (name, reason), times in self.theirs.most_common()]
        return "\n".join(lines)


def report():
    """Prints for each compiled graph that is in use which nodes run in the engine and which do not, and why; returns the
    reports."""
    records = [record for _, record in sorted(_records.items())]
    for record in records:
        print(record)
    return records


def title(module):
    """What a graph is called: the function that it comes from, by its first line."""
    lines = [line for line in map(line_of, module.graph.nodes) if line is not None]
    return str(lines[0]) if lines else "a graph"


def _count(number, what):
    return f"{number} {what}{'' if number == 1 else 's'}"
