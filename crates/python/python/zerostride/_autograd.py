"""Owns fused functions as nodes of torch's graph: the forward is the function on detached tensors, the backward its pullback,
which is a fused function too, and so can be differentiated again. Only torch's tensors that require gradients lead here, so
that torch is imported already."""

import torch

from ._gradients import leaves, pullback


def call(fused, positional, named):
    """The call of a fused function with tensors of which one requires gradients."""
    arguments = [*positional, *(named or {}).values()]
    tensors = [place for place, argument in enumerate(arguments) if isinstance(argument, torch.Tensor)]
    if not torch.is_grad_enabled():
        return _plain(fused, [_detached(argument) for argument in arguments], tuple(named or ()))
    call = _Call(fused, tuple(named or ()), arguments, tensors)
    flat = _Function.apply(call, *(arguments[place] for place in tensors))
    return call.put_together(flat)


class _Call:
    """A call, and what it has returned."""

    def __init__(self, fused, names, arguments, tensors):
        self.fused, self.names, self.tensors = fused, names, tensors
        # The tensors themselves are kept by torch, which sees whether they are written to.
        self.arguments = [None if place in set(tensors) else argument for place, argument in enumerate(arguments)]
        self.value = None

    def filled(self, tensors):
        arguments = list(self.arguments)
        for place, tensor in zip(self.tensors, tensors, strict=True):
            arguments[place] = tensor
        return arguments

    def put_together(self, flat):
        value, self.value = self.value, None
        return _rebuilt(value, iter(flat))


class _Function(torch.autograd.Function):
    @staticmethod
    def forward(call, *tensors):
        call.value = _plain(call.fused, call.filled([tensor.detach() for tensor in tensors]), call.names)
        return tuple(_own(result, tensors) for result in leaves(call.value))

    # Apart from `forward`, so that torch.func can differentiate the call.
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.call = inputs[0]
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*inputs[1:])

    @staticmethod
    def backward(ctx, *cotangents):
        call, tensors = ctx.call, ctx.saved_tensors
        wanted = [place for place, needs in zip(call.tensors, ctx.needs_input_grad[1:], strict=True) if needs]
        arguments = call.filled(tensors)
        count = len(arguments) - len(call.names)
        named = dict(zip(call.names, arguments[count:], strict=True))
        pull = pullback(call.fused, wanted, len(cotangents))
        found = iter(pull(*arguments[:count], *cotangents, **named))
        return None, *(next(found) if needs else None for needs in ctx.needs_input_grad[1:])


def _plain(fused, arguments, names):
    count = len(arguments) - len(names)
    return fused(*arguments[:count], **dict(zip(names, arguments[count:], strict=True)))


def _detached(argument):
    return argument.detach() if isinstance(argument, torch.Tensor) else argument


def _own(result, tensors):
    """A result, but not the memory of an argument that the function returns: torch takes that for a view of it."""
    is_argument = any(result.data_ptr() == tensor.data_ptr() for tensor in tensors if tensor.numel())
    return result.clone() if is_argument else result


def _rebuilt(value, flat):
    """What the function has returned, with other arrays."""
    if isinstance(value, dict):
        rebuilt = value.copy()
        rebuilt.update({key: _rebuilt(item, flat) for key, item in value.items()})
        return rebuilt
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_rebuilt(item, flat) for item in value))
    if isinstance(value, (tuple, list)):
        return type(value)(_rebuilt(item, flat) for item in value)
    return next(flat) if hasattr(value, "dtype") else value
