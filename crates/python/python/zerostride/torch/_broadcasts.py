"""Owns the option ``policy``: the implicit broadcasts of a model, judged once, when its graph is compiled."""

import contextlib

import torch

from .. import _policy, _zerostride
from ..guard._torch import ELEMENTWISE
from ._lines import line_of
from ._support import hint


def check(module, policy):
    """Judges each operation of a graph of torch's functions by the line of the model that it came from.

    Raises ``BroadcastError`` for the first broadcast that the policy refuses.
    """
    with _entered(_policy.policy(**policy)._native):
        for node in module.graph.nodes:
            name = ELEMENTWISE.get(node.target if isinstance(node.target, str) else getattr(node.target, "__name__", ""))
            if node.op not in ("call_function", "call_method") or name is None:
                continue
            tensors = [source.meta.get("example_value") for source in node.all_input_nodes]
            tensors = [tensor for tensor in tensors if isinstance(tensor, torch.Tensor)]
            shapes = [[hint(size) for size in tensor.shape] for tensor in tensors]
            if len(set(map(tuple, shapes))) > 1:
                _report(line_of(node), "torch." + name, shapes, max(tensor.element_size() for tensor in tensors))


@contextlib.contextmanager
def _entered(policy):
    policy.enter()
    try:
        yield
    finally:
        policy.leave()


def _report(line, *broadcast):
    """Reports a broadcast from code compiled with the model's file and line, so that warnings and tracebacks show them."""
    file, number = ("<unknown>", 1) if line is None else (line.file, line.number)
    code = compile("\n" * (number - 1) + "report(*broadcast)", file, "exec")
    try:
        exec(code, {"report": _zerostride._report, "broadcast": broadcast})
    except _zerostride.BroadcastError as error:
        if line is not None:
            error.add_note(f"in {line}")
        raise
