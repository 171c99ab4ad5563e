"""Owns the looks at what PyTorch runs past its modes: compiled functions, when they are compiled, and scripted ones.

torch.compile would trace the function mode into the program's graph, so the mode is taken off the stack while a compiled
function runs. Its graph is looked at once, before the backend gets it. Parts of a compiled function that break out of its
graph run unseen. Of a scripted function the operators are seen, and the line that called it is reported.
"""

import functools
import gc
import re
import sys

import torch
from torch.overrides import _get_current_function_mode_stack, _pop_mode, _push_mode
from torch.utils.weak import WeakTensorKeyDictionary

from . import _frames, _torch, _watch
from ._importer import Finder, original

_undo = []


def open_eyes():
    """Has torch call this file; the last of as many ``close_eyes`` ends it."""
    _undo.append([])
    if len(_undo) > 1:
        return
    for kind in (torch._C.ScriptFunction, torch._C.ScriptMethod):
        _replace(kind, "__call__", lambda old: lambda *arguments, **keywords: _scripted(old, arguments, keywords))
    # What is recorded is to be what is recorded without a guard, also where it asks for sizes.
    for owner in (torch.jit, torch.jit._trace):
        for name in ("_trace_impl", "trace_module", "_get_trace_graph"):
            if hasattr(owner, name):
                _replace(owner, name, _unseen)
    if "torch._dynamo" in sys.modules:
        _open_compiler()
    else:  # importing the compiler takes seconds: not before it is used
        finder = Finder(skip=["*"], when_imported={"torch._dynamo": _open_compiler})
        sys.meta_path.insert(0, finder)
        _undo[0].append(lambda: sys.meta_path.remove(finder))


def _unseen(call):
    @functools.wraps(call)
    def unseen(*arguments, **keywords):
        show = _hide_eye()
        try:
            return call(*arguments, **keywords)
        finally:
            show()

    return unseen


def _open_compiler():
    from torch._dynamo import convert_frame, eval_frame, output_graph
    from torch._dynamo.variables import UserFunctionVariable

    # The compiler reads what stands in the program, so that graphs are what they are without a guard.
    _replace(convert_frame, "_compile", lambda old: functools.wraps(old)(lambda code, *rest, **named: old(original(code), *rest, **named)))
    _replace(UserFunctionVariable, "get_code", lambda old: lambda self: original(old(self)))
    _replace(eval_frame._TorchDynamoContext, "__init__", _with_hidden_eye)
    _replace(output_graph.OutputGraph, "call_user_compiler", _with_look)
    for mode in (_torch.Below, _Scripted):
        _replace(mode, "__torch_dispatch__", torch._disable_dynamo)
    for found in gc.get_objects():  # functions that were compiled before
        if issubclass(type(found), eval_frame._TorchDynamoContext) and _hide_eye not in found.enter_exit_hooks:
            found.enter_exit_hooks.append(_hide_eye)


def close_eyes():
    done = _undo.pop()
    if _undo:
        _undo[0], done = _undo[0] or done, []
    for undo in reversed(done):
        undo()


def _replace(owner, name, make):
    old = getattr(owner, name)
    setattr(owner, name, make(old))
    _undo[0].append(lambda: setattr(owner, name, old))


def _is_watched():
    return any(isinstance(mode, _torch.Eye) for mode in _get_current_function_mode_stack())


def _scripted(call, arguments, keywords):
    # Torch cannot run a recorded size, which is a number and a tensor, under a dispatch mode.
    is_seen = _is_watched() and not torch.compiler.is_compiling()
    if not is_seen or arguments[0].inlined_graph.findNode("prim::NumToTensor", True) is not None:
        return call(*arguments, **keywords)
    with _Scripted():
        return call(*arguments, **keywords)


class _Scripted(_torch.Dispatch):
    """Sees the operators of a scripted function; what it makes with a dim of size 1, it means."""

    def __init__(self):
        super().__init__()
        self.made = WeakTensorKeyDictionary()  # a set, by identity: == of tensors is a tensor

    def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
        keywords = keywords or {}
        tensors = _torch.tensors(arguments, keywords)
        is_pointwise = torch.Tag.pointwise in function.tags
        is_meant = is_pointwise and any(tensor in self.made for tensor in tensors)
        if is_pointwise and not is_meant and len(tensors) > 1 and (shapes := _torch.differing(tensors)):
            name = function.overloadpacket.__name__
            frame = _frames.line_of_program(sys._getframe(1))
            _torch.tell(f"torch.{_torch.ELEMENTWISE.get(name, name)}", shapes, _torch.item_size(tensors), frame)
        with torch._C.DisableTorchFunction():  # the function mode does not look at it again
            result = function(*arguments, **keywords)
        if isinstance(result, torch.Tensor) and (is_meant or not is_pointwise and _has_new_dim(result, tensors)):
            self.made[result] = True
        return result


def _has_new_dim(result, tensors):
    ones = result.shape.count(1)
    return ones > max((tensor.shape.count(1) for tensor in tensors), default=ones)


def _with_hidden_eye(init):
    def __init__(self, *arguments, **keywords):
        init(self, *arguments, **keywords)
        self.enter_exit_hooks.append(_hide_eye)

    return __init__


def _hide_eye():
    """Takes the function mode off the stack, and returns what puts it back."""
    above = []
    if not _is_watched():
        return lambda: None
    while not isinstance(eye := _pop_mode(), _torch.Eye):
        above.append(eye)
    depth = len(_get_current_function_mode_stack())
    for mode in reversed(above):
        _push_mode(mode)

    def show():
        above = []
        while len(_get_current_function_mode_stack()) > depth:
            above.append(_pop_mode())
        for mode in [eye, *reversed(above)]:
            _push_mode(mode)

    return show


def _with_look(compile_graph):
    def call_user_compiler(self, graph, example_inputs):
        if _watch.guards or _watch.every:
            for node in graph.graph.nodes:
                if node.op in ("call_function", "call_method"):
                    _look_at(node)
        return compile_graph(self, graph, example_inputs)

    return call_user_compiler


def _look_at(node):
    """Looks at one call of a graph, by the shapes that its operands will have."""
    arguments = torch.fx.node.map_arg(node.args, _example)
    keywords = torch.fx.node.map_arg(dict(node.kwargs), _example)
    tensors = _torch.tensors(arguments, keywords)
    shapes = _torch.differing([tensor for tensor in tensors if tensor.dim()])
    place = _place(node.stack_trace or "")
    if shapes is None or place is None:
        return
    name = node.target if node.op == "call_method" else getattr(node.target, "__name__", "")
    known = _torch.ELEMENTWISE.get(name) or _torch.ELEMENTWISE.get(f"__{name}__")
    if name in _torch.PRODUCTS:
        return
    if known is None:
        with _torch.Below(shapes) as below:
            try:
                meta = [torch.empty(_torch.shape_of(tensor), dtype=tensor.dtype, device="meta") for tensor in tensors]
                found = dict(zip(map(id, tensors), meta))
                swap = lambda value: found.get(id(value), value)
                called = node.target if node.op == "call_function" else getattr(torch.Tensor, name)
                called(*map(swap, arguments), **{key: swap(value) for key, value in keywords.items()})
            except Exception:  # noqa: BLE001: a function without a kernel for shapes alone is not looked into
                return
        if not below.is_seen:
            return
    for guard in _watch.guards:
        guard.judge_line(f"torch.{known or name}", shapes, _torch.item_size(tensors), *place)


def _example(node):
    return node.meta.get("example_value")


def _place(trace):
    """File, line and function of the user's program in the trace of a node, the innermost last."""
    found = re.findall(r'File "(.+?)", line (\d+), in (.+)', trace)
    users = [(file, int(line), function) for file, line, function in found if _frames.is_users(file)]
    return users[-1] if users else None
