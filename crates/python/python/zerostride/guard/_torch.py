"""Owns the eyes on PyTorch: a function mode that sees what the program calls, a dispatch mode for what that calls in turn.

The function mode knows the program's line and costs little. Where the tensors of one call would stretch each other and the
function is no operator, the dispatch mode watches that one call: what it computes, or expands, at the broadcast shape is the
broadcast. So one mistake is seen once, whatever the function is made of. Scripted functions are called past the function mode;
compiled ones are looked at when they are compiled.
"""

import os
import sys
import types

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from .. import _zerostride
from . import _frames, _shapes, _watch

_HERE = os.path.dirname(torch.__file__) + os.sep

PRODUCTS = {"matmul", "__matmul__", "__rmatmul__", "mm", "bmm", "mv", "dot", "outer", "ger", "kron", "einsum", "tensordot", "cdist",
            "inner", "vdot", "linear", "bilinear", "addmm", "addmv", "addbmm", "baddbmm", "addr", "chain_matmul", "multi_dot",
            "meshgrid", "cartesian_prod", "block_diag", "scaled_dot_product_attention", "multi_head_attention_forward",
            "embedding", "embedding_bag", "cat", "stack", "vander", "searchsorted", "bucketize", "gather", "scatter",
            "index_select", "take_along_dim", "conv1d", "conv2d", "conv3d", "grid_sample", "interpolate", "lstsq", "solve",
            "broadcast_shapes", "expand", "expand_as", "view_as", "reshape_as", "type_as", "cross_entropy", "nll_loss",
            "ctc_loss", "householder_product", "ormqr", "solve_triangular", "cholesky_solve", "lu_solve", "tensorsolve",
            "layer_norm", "batch_norm", "group_norm", "instance_norm", "rms_norm", "fold", "unfold", "polygamma"}  # fmt: skip
"""Functions that pair their operands by what they are, or whose operands have roles of their own."""

OUTSIDE = {"dist", "allclose", "equal"}
"""Functions that broadcast in one kernel, where no eye looks."""


def elementwise():
    """PyTorch's functions whose tensors are all broadcast together, by all their names."""
    names = {name: name for name in OUTSIDE | {"mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy"}}
    for name, operands in _zerostride._elementwise().items():
        if operands > 1:
            for shown in (name, name + "_", f"__{name}__", f"__r{name}__", f"__i{name}__"):
                names[shown] = name
    for shown, name in {"truediv": "div", "floordiv": "floor_divide", "mod": "remainder", "and": "bitwise_and",
                        "or": "bitwise_or", "xor": "bitwise_xor"}.items():  # fmt: skip
        for dunder in (f"__{shown}__", f"__r{shown}__", f"__i{shown}__"):
            names[dunder] = name
    del names["equal"]
    return names


ELEMENTWISE = elementwise()

PLAIN, SEQUENCE, SUBCLASS, TENSOR = range(4)


class _Kinds(dict):
    """For each type whether it is that of a tensor; known after the first time, at the cost of a dictionary."""

    def __missing__(self, kind):
        if kind in (torch.Tensor, torch.nn.Parameter):
            found = TENSOR
        else:
            found = SUBCLASS if issubclass(kind, torch.Tensor) else SEQUENCE if issubclass(kind, (list, tuple)) else PLAIN
        self[kind] = found
        return found


KINDS = _Kinds()


class Eye(TorchFunctionMode):
    """Sees every call of a program."""

    def __enter__(self):
        from . import _compiled

        _compiled.open_eyes()
        return super().__enter__()

    def __exit__(self, *error):
        from . import _compiled

        super().__exit__(*error)
        _compiled.close_eyes()

    def __init__(self):
        super().__init__()
        # In Rust, without a frame of Python, for calls that do not broadcast; it asks `looked` about others.
        self.__torch_function__ = types.MethodType(_zerostride._eye, self)


def looked(function, arguments, keywords):
    """Looks at a call that may broadcast, and returns the call itself where what it computes is to be looked at, too."""
    keywords = keywords or {}
    name = getattr(function, "__name__", "")
    if look_at(name, arguments, keywords) or name in PRODUCTS or (shapes := _candidates(arguments, keywords)) is None:
        return None
    frame = sys._getframe(1)

    def called():
        with Below(shapes, lambda: tell(f"torch.{name}", shapes, item_size(tensors(arguments, keywords)), frame)):
            return function(*arguments, **keywords)

    return called


class Dispatch(TorchDispatchMode):
    """A dispatch mode that does not import PyTorch's compiler: ``_compiled.py`` keeps it away from one that is there."""

    @classmethod
    def _should_skip_dynamo(cls):
        return False


class Below(Dispatch):
    """Sees what one call computes, and whether any of it has the broadcast shape of the call's tensors."""

    def __init__(self, shapes, then=lambda: None):
        super().__init__()
        self.result, self.then = _shapes.result_of(shapes), then
        self.is_seen = False

    def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
        is_expand = function is torch.ops.aten.expand.default
        if not self.is_seen and (is_expand or torch.Tag.pointwise in function.tags):
            shapes = tuple(map(shape_of, tensors(arguments, keywords or {})))
            made = tuple(arguments[1]) if is_expand else _shapes.result_of(shapes)
            if made == self.result and any(shape != made for shape in shapes):
                self.is_seen = True
                self.then()
        return function(*arguments, **(keywords or {}))


def look_at(name, arguments, keywords):
    """Tells of the broadcasts that a call is known to make, before it is made; whether it is known."""
    frame = sys._getframe(2)
    if known := ELEMENTWISE.get(name):
        given = tensors(arguments, keywords)
        if shapes := differing(given):
            tell("torch." + known, shapes, item_size(given), frame)
        elif name.endswith("_") and len(given) > 2 and (shapes := differing(given[1:])):
            # What is written has the shape of all pairs already.
            tell("torch." + name, shapes, item_size(given), frame)
    elif name == "broadcast_tensors":
        frame = _caller(frame)
        # The program expands what it wants expanded; a distribution does so unasked.
        if frame.f_code.co_filename.startswith(_HERE) and (shapes := differing(tensors(arguments, keywords))):
            tell("torch." + name, shapes, item_size(tensors(arguments, keywords)), frame.f_back)
    elif name.startswith("_foreach_"):
        lists = [argument for argument in arguments if isinstance(argument, (list, tuple))]
        for given in zip(*lists):
            if shapes := differing(tensors(given, {})):
                tell("torch." + name, shapes, item_size(tensors(given, {})), frame)
    elif name == "__setitem__":
        if len(arguments) == 3 and isinstance(arguments[2], torch.Tensor):
            _look_at_assignment(*arguments)
    else:
        return False
    return True


def _look_at_assignment(target, index, value):
    if value.dim() == 0 or target.dim() == 0:
        return
    with torch._C.DisableTorchFunction():
        try:
            shape = shape_of(target[index])
        except Exception:  # noqa: BLE001: the assignment itself says what is wrong
            return
    shapes = shape, shape_of(value)
    if _shapes.is_spread(*shapes) or _watch.every and shapes[0] != shapes[1]:
        _watch.seen("torch.setitem", shapes, target.element_size(), _caller(sys._getframe(3)))


def tell(op, shapes, item_size, frame):
    if torch._C._current_graph_task_id() == -1:  # else autograd computes gradients, of what was looked at before
        frame = _caller(frame)
        _watch.seen(_name(op, frame), shapes, item_size, frame)


def _caller(frame):
    """The frame that called a function of torch: without those that hand the call on."""
    while frame.f_back and frame.f_code.co_filename.startswith((_frames.PACKAGE, _HERE)):
        code = frame.f_code
        back = frame.f_back.f_code
        hands_on = code.co_filename.startswith(_frames.PACKAGE) or code.co_filename.endswith(("overrides.py", "_tensor.py"))
        if not hands_on and not code.co_filename.endswith(("functional.py", "_jit_internal.py")):
            return frame
        if not hands_on and not back:
            return frame
        frame = frame.f_back
    return frame


def _name(op, frame):
    """The name of an operation as the program has it: inside torch, of the function that the program called."""
    users = _frames.users_frame(frame)
    called = None
    while frame is not users and frame is not None:
        name = frame.f_code.co_qualname
        if frame.f_code.co_filename.startswith(_HERE) and not name.startswith(("Module._", "_call_impl")):
            called = name
        frame = frame.f_back
    return op if called is None or users is None else "torch." + called.removesuffix(".__init__")


def tensors(arguments, keywords):
    given = [*arguments, *(value for name, value in keywords.items() if name != "out")] if keywords else arguments
    return [value for value in given if KINDS[type(value)] >= SUBCLASS]


def shape_of(tensor):
    if KINDS[type(tensor)] == TENSOR:
        return tuple(tensor.shape)
    return tuple(size if type(size) is int else _hint(size) for size in tensor.shape)


def _hint(size):
    """The size that a symbolic one stands for."""
    hint = getattr(getattr(size, "node", None), "hint", None)
    return hint if isinstance(hint, int) else 2


def differing(found):
    """The shapes of tensors, if they differ and a watcher wants to know."""
    shapes = tuple(map(shape_of, found))
    return shapes if len(set(shapes)) > 1 and _watch.is_wanted(shapes) else None


def _candidates(arguments, keywords):
    """The shapes of a call's tensors if they would stretch each other."""
    found = [tensor for tensor in tensors(arguments, keywords) if tensor.dim()]
    return differing(found) if len(found) > 1 else None


def item_size(found):
    return max(tensor.element_size() for tensor in found)


def eye():
    """A context in which torch's operations are seen; inside another one, nothing more."""
    import contextlib

    is_open = any(isinstance(mode, Eye) for mode in torch.overrides._get_current_function_mode_stack())
    return contextlib.nullcontext() if is_open else Eye()
