"""Owns the backend of ``torch.compile``: its options, and how graphs come from PyTorch, forward and backward."""

import logging

import torch
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.partitioners import min_cut_rematerialization_partition

from .. import _zerostride
from . import _broadcasts, _cost, _partition, _table
from ._report import Report, title

_log = logging.getLogger(__name__)


def backend(module, inputs, *, options=None, mode=None, name=None):
    """Compiles a graph for ``torch.compile(model, backend="zerostride")``.

    ``options={"policy": {...}}`` takes what ``zerostride.policy`` takes, and judges the implicit broadcasts of the model once,
    when it is compiled. ``mode`` chooses among the ways of PyTorch's own compiler: the log says that it does nothing here, as
    that of ``aot_eager`` does. ``name`` is what ``report()`` calls the graph.
    """
    if mode is not None:
        _log.warning("the backend zerostride has no modes: mode=%r does nothing", mode)
    unknown = set(options or ()) - {"policy"}
    if unknown:
        raise ValueError(f"the backend zerostride has the option 'policy', and no {', '.join(map(repr, sorted(unknown)))}")
    if options and options["policy"]:
        try:
            _broadcasts.check(module, options["policy"])
        except _zerostride.BroadcastError as error:
            return _refused(error)
    name = name or title(module)

    def compiler(direction):
        return lambda module, inputs: compile(module, Report(name, direction))

    compiled = aot_autograd(
        fw_compiler=compiler("forward"),
        bw_compiler=compiler("backward"),
        inference_compiler=compiler("forward"),
        decompositions=_cost.chosen(_table.decompositions()),
        partition_fn=min_cut_rematerialization_partition,
    )
    return compiled(module, inputs)


def compile(module, report):
    """An aten graph as a function of a list of arguments, which it empties so that they can be freed early."""
    module.graph.eliminate_dead_code()
    run = _partition.divide(module, report).forward

    def compiled(arguments, report=report):
        return run(arguments)

    compiled._boxed_call = True
    return compiled


def _refused(error):
    """The function that replaces a graph which a policy refuses. PyTorch would wrap an error raised by the backend itself."""
    traceback = error.__traceback__

    def refused(*_):
        raise error.with_traceback(traceback)

    return torch._dynamo.disable(refused)
