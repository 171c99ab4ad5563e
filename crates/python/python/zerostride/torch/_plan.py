"""Owns partitions: some nodes of a graph as one fused function of the table's rows, traced at the first call for each set of
sizes and strides. It does not know how the nodes were chosen (``_partition.py``)."""

import re
from typing import NamedTuple

import torch

import zerostride as zs

from .. import _zerostride
from . import _cost
from ._lines import line_of
from ._support import hint


class _Slot(NamedTuple):
    """The place of a value among those of a partition: first its inputs, then what its steps compute."""

    number: int


class _Step(NamedTuple):
    """One node: how the engine computes it, and how PyTorch does."""

    function: object
    arguments: tuple
    named: dict
    target: object
    theirs: tuple
    theirs_named: dict
    # Whether no other node reads it, so that PyTorch need not run it too.
    alone: bool


class Partition(_zerostride._Prepared):
    """Some nodes of a graph, as a function of what they read.

    ``inputs`` and ``outputs`` are nodes while the graph is divided; the partition is called with the values of the ones and
    returns those of the others in a list.
    """

    __module__ = "zerostride.torch"

    def __new__(cls, nodes, found, left, calls, theirs=None):
        inputs, steps = [], []
        slots, pending = {}, []
        inside = set(nodes)

        def slot(node):
            """Notes a node that is read; a view, copy or constant is computed inside of the partition."""
            if node not in slots and node not in inside and getattr(found[node], "arranges", False):
                add(node)
            if node not in slots:
                slots[node] = None
                inputs.append(node)
            return node

        def add(node):
            call = found[node]
            for source in node.all_input_nodes:
                slot(source)
            slots[node] = None
            pending.append((node, call))

        for node in nodes:
            add(node)
        # Slots of inputs come first; their number is known only now.
        numbers = {node: _Slot(number) for number, node in enumerate(inputs)}
        numbers |= {node: _Slot(len(inputs) + number) for number, (node, _) in enumerate(pending)}
        filled = lambda argument: _plain(torch.fx.map_arg(argument, numbers.__getitem__))
        alone = set(nodes)
        for node, _ in reversed(pending):
            if all(user in alone for user in node.users):
                alone.add(node)
        for node, call in pending:
            ours, pytorchs = (call.function, filled(call.arguments), filled(call.named)), (filled(node.args), filled(node.kwargs))
            steps.append(_Step(*ours, node.target, *pytorchs, node in alone))
        outputs = [node for node in nodes if node in left]
        results = [numbers[node].number for node in outputs]
        orders = [_order(node.meta["val"]) for node in outputs]
        inverses = [None if order is None or _is_identity(order) else _inverse(order) for order in orders]
        fused = _zerostride.Fused(_traced(steps, results, orders), rules="torch")
        doubtful = [number for number, node in enumerate(inputs) if _may_negate(node)]
        self = super().__new__(cls, fused, inverses, doubtful)
        self.inputs, self.outputs, self.fused = inputs, outputs, fused
        self._steps, self._results, self._orders, self._inverses = steps, results, orders, inverses
        self._gain = _cost.theirs(theirs or alone, calls) - _cost.ours(nodes, inputs, outputs, calls)
        self.names = [node.name for node in nodes]
        self.lines = list(dict.fromkeys(line for line in map(line_of, nodes) if line is not None))
        self.failure = None
        self._device = outputs[0].meta["val"].device.type
        return self

    def name_it(self, number):
        """The name under which generated code calls the partition."""
        self.__name__ = self.__qualname__ = f"fused_{number}"

    def reason(self):
        """Why PyTorch should run the nodes; ``None`` if the engine should."""
        if any(order is None for order in self._orders):
            return "a result has gaps or overlaps in its memory"
        if self._gain <= 0:
            return "the engine would not be faster"
        return None

    def __str__(self):
        lines = ", ".join(map(str, self.lines[:3])) + ("" if len(self.lines) < 4 else f" and {len(self.lines) - 3} more lines")
        text = f"{self.__name__}: {', '.join(self.names[:12])}{'' if len(self.names) < 13 else ', ...'}"
        text += f"; of {lines}" if lines else ""
        if self.calls:
            text += f"; {self.calls} call{'' if self.calls == 1 else 's'} of {self.seconds / self.calls * 1e3:.3g} ms"
        if self.plan is not None:
            made, scratch = (re.search(pattern, self.plan) for pattern in (r"results? (\d+) bytes", r"scratch at most (\d+)"))
            text += f", {made[1]} bytes of results, at most {scratch[1] if scratch else 0} of scratch"
        return text + (f"; PyTorch instead, for {self.failure}" if self.failure else "")

    def _otherwise(self, operands):
        """The results for operands that are not all plain tensors, or under a policy."""
        if torch.is_grad_enabled():
            operands = [value.detach() if isinstance(value, torch.Tensor) else value for value in operands]
        try:
            results = self.fused(*operands)
        except Exception as error:
            return self._instead(operands, error)
        return [
            result.contiguous() if inverse is None else result.contiguous().permute(inverse)
            for result, inverse in zip(results, self._inverses, strict=True)
        ]

    def _instead(self, operands, error):
        """The results as PyTorch computes them, where the engine has raised an error."""
        # A policy around the call refuses a broadcast.
        is_refused = isinstance(error, _zerostride.BroadcastError)
        if is_refused or not isinstance(error, (RuntimeError, TypeError, ValueError, NotImplementedError, BufferError)):
            raise error
        self.failure = str(error)
        values = list(operands)
        # The graph has the casts of autocast already.
        with torch.no_grad(), torch.autocast(self._device, enabled=False):
            for step in self._steps:
                values.append(step.target(*_filled(step.theirs, values), **_filled(step.theirs_named, values)))
        return [values[result] for result in self._results]


def _may_negate(node):
    """Whether a value of a graph may be a view whose elements are negated when they are read. Guards of PyTorch's see to it that
    inputs are in each call what they were when the graph was compiled, except for the gradients that a backward graph is given."""
    value = node.meta.get("val")
    is_given = node.op == "placeholder" and "tangents" in str(node.target)
    return isinstance(value, torch.Tensor) and (is_given or value.is_neg())


def _traced(steps, results, orders):
    """The function that is fused."""

    def traced(*operands):
        values = list(operands)
        for step in steps:
            values.append(step.function(*_filled(step.arguments, values), **_filled(step.named, values)))
        return [_permuted(values[result], order) for result, order in zip(results, orders, strict=True)]

    return traced


def _plain(argument):
    """Lists and dicts of a graph as Python's own."""
    if isinstance(argument, _Slot):
        return argument
    if isinstance(argument, (tuple, list)):
        return type(argument)(map(_plain, argument)) if type(argument) in (tuple, list) else list(map(_plain, argument))
    if isinstance(argument, dict):
        return {name: _plain(value) for name, value in argument.items()}
    return argument


def _filled(argument, values):
    """An argument of a step with values in place of their slots."""
    if isinstance(argument, _Slot):
        return values[argument.number]
    if isinstance(argument, (tuple, list)):
        return type(argument)(_filled(part, values) for part in argument)
    if isinstance(argument, dict):
        return {name: _filled(value, values) for name, value in argument.items()}
    return argument


def _order(value):
    """The dimensions of a result from the outermost in memory to the innermost; ``None`` if its elements have gaps or overlap."""
    sizes, strides = [hint(size) for size in value.shape], [hint(stride) for stride in value.stride()]
    order = tuple(sorted(range(len(sizes)), key=lambda dim: -strides[dim]))
    if 0 in sizes or value.is_contiguous():
        return tuple(range(len(sizes)))
    expected = 1
    for dim in reversed(order):
        if sizes[dim] != 1:
            if strides[dim] != expected:
                return None
            expected *= sizes[dim]
    return order


def _permuted(value, order):
    return value if _is_identity(order) else zs.permute(value, order)


def _is_identity(order):
    return order == tuple(range(len(order)))


def _inverse(order):
    return sorted(range(len(order)), key=order.__getitem__)
