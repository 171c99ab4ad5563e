"""Owns calls of fused functions with torch tensors that are more than their elements: those of which torch follows the
derivatives, forward or backward, those of functions that ``torch.vmap`` maps, and those of classes made from ``torch.Tensor``.
A fused function is a node of torch's graph: the forward is the function on detached tensors, the backward its pullback and the
tangent its pullback's pullback, which are fused functions too, and so can be differentiated again. Only torch's tensors lead
here, so that torch is imported already."""

import contextlib

import torch
from torch.autograd import forward_ad
from torch._tensor import _convert
from torch.overrides import _get_overloaded_args, handle_torch_function, has_torch_function

from ._gradients import examples, leaves, pullback, rebuilt

_is_mapped = torch._C._functorch.is_legacy_batchedtensor


def call(fused, positional, named):
    """The call of a fused function with such tensors; ``NotImplemented`` if there are none."""
    arguments = [*positional, *named.values()]
    tensors = [place for place, argument in enumerate(arguments) if isinstance(argument, torch.Tensor)]
    given = [arguments[place] for place in tensors]
    if has_torch_function(given):
        # As each of torch's own functions does: the class decides what its tensors become.
        value = handle_torch_function(fused, given, *positional, **named)
        kind = type(_get_overloaded_args(given)[0])
        # Torch's own way looks into tuples and lists only.
        is_torchs = getattr(kind.__torch_function__, "__func__", None) is torch.Tensor.__torch_function__.__func__
        return rebuilt(value, (_convert(leaf, kind) for leaf in leaves(value))) if is_torchs else value
    if any(map(_is_mapped, given)):
        return _mapped(fused, arguments, tensors, tuple(named))
    if any(map(_is_followed, given)):
        if torch._C._get_dispatch_mode(torch._C._TorchDispatchModeKey.PROXY) is not None:
            raise NotImplementedError("torch records its own operations here, as make_fx does, and a fused function is none of them")
        for place, tensor in zip(tensors, given, strict=True):
            arguments[place] = _plain(tensor)
        call = _Call(fused, tuple(named), arguments, tensors)
        flat = _Function.apply(call, *(arguments[place] for place in tensors))
        return call.put_together(flat)
    if any(tensor.requires_grad or _plain(tensor) is not tensor for tensor in given):
        positional, named = _Call(fused, tuple(named), arguments, tensors).split([_plain(tensor.detach()) for tensor in given])
        return fused(*positional, **named)
    return NotImplemented


def _is_followed(tensor):
    """Whether torch derives or maps what is computed with a tensor."""
    return (
        tensor.requires_grad
        and torch.is_grad_enabled()
        or torch._C._functorch.is_functorch_wrapped_tensor(tensor)
        or forward_ad._current_level >= 0
        and forward_ad.unpack_dual(tensor).tangent is not None
    )


def _mapped(fused, arguments, tensors, names):
    """A call for many examples in ``is_grads_batched`` and ``vectorize``, which have a vmap of their own."""
    level = torch._C._vmapmode_increment_nesting() - 1
    torch._C._vmapmode_decrement_nesting()
    call = _Call(fused, names, arguments, tensors)
    given = [arguments[place] for place in tensors]
    mapped = [_is_mapped(tensor) for tensor in given]
    given = [torch._remove_batch_dim(tensor, level, 1, 0) if is_mapped else tensor for tensor, is_mapped in zip(given, mapped, strict=True)]
    results, dims = call.of_all(mapped, given)
    return call.put_together([torch._add_batch_dim(result, dim, level) for result, dim in zip(results, dims, strict=True)])


def _plain(tensor):
    """A tensor of torch's own class."""
    is_own = type(tensor) in (torch.Tensor, torch.nn.Parameter)
    return tensor if is_own else tensor.as_subclass(torch.Tensor)


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

    def split(self, tensors):
        """The arguments by position and by name."""
        arguments = self.filled(tensors)
        count = len(arguments) - len(self.names)
        return arguments[:count], dict(zip(self.names, arguments[count:], strict=True))

    def places(self, chosen):
        """Among the arguments, the places of the tensors that are chosen."""
        return [place for place, is_chosen in zip(self.tensors, chosen, strict=True) if is_chosen]

    def of_all(self, mapped, tensors):
        """The results for all examples, which tensors that are mapped have along their first dimension, and in which dimension
        of the results they are."""
        all = _Call(examples(self.fused, self.places(mapped)), self.names, self.arguments, self.tensors)
        positional, named = all.split(tensors)
        value = all.fused(*positional, **named)
        self.value = value
        results = tuple(leaves(value))
        return results, (0,) * len(results)

    def put_together(self, flat):
        value, self.value = self.value, None
        return rebuilt(value, iter(flat))


class _Function(torch.autograd.Function):
    @staticmethod
    def forward(call, *tensors):
        positional, named = call.split([tensor.detach() for tensor in tensors])
        call.value = call.fused(*positional, **named)
        return tuple(_own(result, tensors) for result in leaves(call.value))

    # Apart from `forward`, so that torch.func can differentiate the call.
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.call, *tensors = inputs
        # Derivatives are those of what has been computed, wherever they are asked for.
        ctx.autocast = torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")
        ctx.results = [(result.shape, result.dtype) for result in output]
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)

    @staticmethod
    def backward(ctx, *cotangents):
        call, wanted = ctx.call, ctx.needs_input_grad[1:]
        positional, named = call.split(ctx.saved_tensors)
        pull = pullback(call.fused, call.places(wanted), len(cotangents))
        with _autocast(ctx):
            found = iter(pull(*positional, *cotangents, **named))
        return None, *(next(found) if needs else None for needs in wanted)

    @staticmethod
    def jvp(ctx, _, *tangents):
        call, given = ctx.call, [tangent is not None for tangent in tangents]
        positional, named = call.split(ctx.saved_tensors)
        is_continuous = [dtype.is_floating_point or dtype.is_complex for _, dtype in ctx.results]
        # The pullback is linear in its cotangents, so that its own pullback depends on their form alone.
        results = [torch.zeros((), dtype=dtype).expand(shape) for shape, dtype in ctx.results]
        pull = pullback(call.fused, call.places(given), len(ctx.results))
        places = [len(positional) + place for place, continuous in enumerate(is_continuous) if continuous]
        push = pullback(pull, places, sum(given))
        with _autocast(ctx):
            found = iter(push(*positional, *results, *(tangent for tangent in tangents if tangent is not None), **named))
        return tuple(next(found) if continuous else None for continuous in is_continuous)

    @staticmethod
    def vmap(info, in_dims, call, *tensors):
        tensors = [tensor if dim is None else tensor.movedim(dim, 0) for tensor, dim in zip(tensors, in_dims[1:], strict=True)]
        return call.of_all([dim is not None for dim in in_dims[1:]], tensors)


def _autocast(ctx):
    """The autocast under which a call was made."""
    is_cast, dtype = ctx.autocast
    is_other = is_cast or torch.is_autocast_enabled("cpu")
    return torch.autocast("cpu", dtype, enabled=is_cast) if is_other else contextlib.nullcontext()


def _own(result, tensors):
    """A result, but not the memory of an argument that the function returns: torch takes that for a view of it."""
    is_argument = any(result.data_ptr() == tensor.data_ptr() for tensor in tensors if tensor.numel())
    return result.clone() if is_argument else result
