"""Owns the backend of ``torch.compile``: its options, and how graphs come from PyTorch, forward and backward."""

import logging

import torch
from torch._dynamo.backends.common import aot_autograd
from torch._functorch._aot_autograd.schemas import PlainTensorMeta
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch._guards import TracingContext

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

    direct = None

    def inference_compiler(module, graph_inputs):
        nonlocal direct
        compiled = compile(module, Report(name, "forward"))
        if len(graph_inputs) == len(inputs) and _is_plain(TracingContext.get().fw_metadata):
            direct = compiled.whole
        return compiled

    compiled = aot_autograd(
        fw_compiler=compiler("forward"),
        bw_compiler=compiler("backward"),
        inference_compiler=inference_compiler,
        decompositions=_cost.chosen(_table.decompositions()),
        partition_fn=min_cut_rematerialization_partition,
    )(module, inputs)
    return direct or compiled


def compile(module, report):
    """An aten graph as a function of a list of arguments, which it empties so that they can be freed early. Its ``whole`` is a
    function of the arguments, if one partition computes all results, else ``None``."""
    module.graph.eliminate_dead_code()
    divided = _partition.divide(module, report)

    def compiled(arguments, report=report):
        return divided.forward(arguments)

    compiled._boxed_call = True
    compiled.whole = _partition.whole(divided, report)
    return compiled


def _is_plain(metadata):
    """Whether AOTAutograd does nothing around a graph without gradients: no input is written, no result shares the memory of
    another tensor, none is of a wrapping class."""
    written = metadata.num_mutated_inp_runtime_indices or metadata.num_mutated_graph_handled_indices
    shared = metadata.num_outputs_aliased or metadata.num_intermediate_bases
    wrapped = metadata.act_input_paths or not all(isinstance(meta, PlainTensorMeta) for meta in metadata.subclass_inp_meta)
    return not (written or shared or wrapped or metadata.tokens or metadata.dynamic_outputs)


def _refused(error):
    """The function that replaces a graph which a policy refuses. PyTorch would wrap an error raised by the backend itself."""
    traceback = error.__traceback__

    def refused(*_):
        raise error.with_traceback(traceback)

    return torch._dynamo.disable(refused)
