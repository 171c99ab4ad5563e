"""Owns ``grad``, ``value_and_grad``, ``vjp`` and ``jvp``: what of a function's derivatives is wanted. Tracing and the
derivatives themselves are native (``derivative.rs``)."""

import functools

from . import _zerostride
from ._fuse import Fused


class Gradient(Fused):
    """A function that returns gradients; made by ``grad`` and ``value_and_grad``."""

    def __reduce__(self):
        by_name = super().__reduce__()
        return by_name if isinstance(by_name, str) else self._made


def grad(function, argnums=0):
    """The function that returns the gradient of ``function``, with respect to a positional argument or several.

    ``function`` returns one number, as an array without dimensions. ``argnums`` is the place of an argument, or a tuple of
    places, for which a tuple of gradients comes back. The gradient is fused: it is traced and planned once for each
    signature, as functions of ``fuse`` are, and its own gradient can be taken. Arrays come back in the library of the
    arguments; an argument that the function does not read has zeros. The gradient of a tuple, list or dict of arrays has its
    form, with ``None`` for what is no array of floating-point or complex numbers.

    >>> import numpy as np
    >>> import zerostride as zs
    >>> def loss(w, x, y):
    ...     return ((x @ w - y) ** 2).mean()
    >>> x, y = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 2.0])
    >>> zs.grad(loss)(np.zeros(2), x, y)
    array([ -7., -10.])
    """
    return _gradient(grad, function, argnums, with_value=False)


def value_and_grad(function, argnums=0):
    """The function that returns what ``function`` returns, and the gradient as ``grad`` gives it.

    >>> import numpy as np
    >>> import zerostride as zs
    >>> zs.value_and_grad(lambda x: (x**3).sum())(np.array([1.0, 2.0]))
    (array(9.), array([ 3., 12.]))
    """
    return _gradient(value_and_grad, function, argnums, with_value=True)


def _gradient(maker, function, argnums, *, with_value):
    alone = isinstance(argnums, int)
    places = [argnums] if alone else argnums
    if not isinstance(places, (tuple, list)) or not all(isinstance(place, int) for place in places):
        raise TypeError(f"argnums is the place of a positional argument, or a tuple of places, not {argnums!r}")
    made = functools.update_wrapper(Gradient(function, (list(places), alone, with_value)), function)
    made._made = (maker, (function, argnums))
    return made


def pullback(function, arguments, cotangents):
    """The function that takes the arguments of ``function`` and cotangents of its results, and returns the cotangents of the
    arguments in these places. It is made once, and traced once for each signature."""
    known = vars(function).setdefault("_pullbacks", {})
    key = tuple(arguments), cotangents
    if key not in known:
        known[key] = Fused(function, (list(arguments), cotangents))
    return known[key]


def examples(function, arguments):
    """The function that maps ``function`` over many examples, which the arguments in these places have along their first
    dimension, and the results too. It is made once, and traced once for each signature."""
    known = vars(function).setdefault("_mapped", {})
    key = tuple(arguments)
    if key not in known:

        def mapped(*positional, **named):
            given = [*positional, *named.values()]
            batches = [given[place] for place in key]
            ones = _zerostride._examples(batches)
            for place, one in zip(key, ones, strict=True):
                given[place] = one
            count = len(positional)
            value = function(*given[:count], **dict(zip(named, given[count:], strict=True)))
            return rebuilt(value, iter(_zerostride._mapped(leaves(value), ones, batches)))

        known[key] = Fused(mapped)
    return known[key]


def vjp(function, *args):
    """The value of ``function`` and its pullback: the function that takes a cotangent of the value, one number for each of
    its elements, and returns a tuple of the cotangents of the arguments, with ``None`` for those that are no arrays of
    floating-point or complex numbers.

    If the value is a tuple, list or dict, so is the cotangent. A fused function is traced once, any other one anew.

    >>> import numpy as np
    >>> import zerostride as zs
    >>> value, pullback = zs.vjp(lambda x, y: x * y, np.array([1.0, 2.0]), np.array([[3.0], [4.0]]))
    >>> pullback(np.ones_like(value))
    (array([7., 7.]), array([[3.],
           [3.]]))
    """
    _check_one_by_one("vjp", args)
    if not isinstance(function, Fused):
        function = functools.update_wrapper(Fused(function), function)
    value = function(*args)
    places = [place for place, argument in enumerate(args) if is_continuous(argument)]

    def pull(cotangent):
        cotangents = list(paired(value, cotangent))
        found = iter(pullback(function, places, len(cotangents))(*args, *cotangents))
        return tuple(next(found) if place in places else None for place in range(len(args)))

    return value, pull


def jvp(function, primals, tangents):
    """The value of ``function`` at ``primals``, and how it changes as these change by ``tangents``: the product of the
    Jacobian matrix with the tangents, of the form of the value.

    ``primals`` and ``tangents`` are tuples; a tangent is ``None`` for an argument that is no array of floating-point or
    complex numbers. Results that are none of these have the tangent ``None``. A fused function is traced once, any other
    one anew.

    >>> import numpy as np
    >>> import zerostride as zs
    >>> x, y = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    >>> zs.jvp(lambda x, y: x * y, (x, y), (np.array([1.0, 0.0]), np.array([0.0, 10.0])))
    (array([3., 8.]), array([ 3., 20.]))
    """
    primals, tangents = tuple(primals), tuple(tangents)
    _check_one_by_one("jvp", primals)
    if not isinstance(function, Fused):
        function = functools.update_wrapper(Fused(function), function)
    if len(primals) != len(tangents):
        raise TypeError(f"{len(primals)} primals and {len(tangents)} tangents are given: one tangent belongs to each primal")
    value = function(*primals)
    places = [place for place, primal in enumerate(primals) if is_continuous(primal)]
    for place in places:
        own, given = (tuple(getattr(array, "shape", ())) for array in (primals[place], tangents[place]))
        if own != given:
            raise RuntimeError(f"tangent {place} has shape {list(given)}; the argument that it belongs to has shape {list(own)}")
    results = leaves(value)
    # The pullback is linear in its cotangents, so that its own pullback does not depend on what they are.
    pull = pullback(function, places, len(results))
    cotangents = [len(primals) + place for place, result in enumerate(results) if is_continuous(result)]
    push = pullback(pull, cotangents, len(places))
    found = iter(push(*primals, *results, *(tangents[place] for place in places)) if places else ())
    return value, _with_arrays(value, (next(found, None) if is_continuous(result) else None for result in results))


def _check_one_by_one(name, arguments):
    for argument in arguments:
        if not hasattr(argument, "dtype") and leaves(argument):
            raise TypeError(f"{name} takes arrays one by one, not in a {type(argument).__name__}")


def _with_arrays(value, arrays):
    """What a function has returned, with other objects in place of its arrays, in their order."""
    if isinstance(value, dict):
        return {key: _with_arrays(item, arrays) for key, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_with_arrays(item, arrays) for item in value))
    if isinstance(value, (tuple, list)):
        return type(value)(_with_arrays(item, arrays) for item in value)
    return next(arrays) if hasattr(value, "dtype") else None


def rebuilt(value, flat):
    """What a function has returned, with other arrays, in their order."""
    if isinstance(value, dict):
        other = value.copy()
        other.update({key: rebuilt(item, flat) for key, item in value.items()})
        return other
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(rebuilt(item, flat) for item in value))
    if isinstance(value, (tuple, list)):
        return type(value)(rebuilt(item, flat) for item in value)
    return next(flat) if hasattr(value, "dtype") else value


def is_continuous(array):
    """Whether an object is an array of floating-point or complex numbers, of any library."""
    dtype = getattr(array, "dtype", None)
    if dtype is None:
        return False
    kind = getattr(dtype, "kind", None)
    if kind is not None:
        return kind in "fc" or "float" in dtype.name
    return bool(dtype.is_floating_point or dtype.is_complex)


def leaves(value):
    """The arrays of what a function has returned, in their order."""
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (tuple, list)):
        return [value] if hasattr(value, "dtype") else []
    return [leaf for item in value for leaf in leaves(item)]


def paired(value, cotangent):
    """For each array of the value what stands in its place in the cotangent."""
    if isinstance(value, dict):
        if not isinstance(cotangent, dict) or list(value) != list(cotangent):
            raise TypeError(f"the function returns a dict with the keys {list(value)}, and so must be its cotangent")
        value, cotangent = value.values(), cotangent.values()
    elif not isinstance(value, (tuple, list)):
        if hasattr(value, "dtype"):
            yield cotangent
        return
    elif not isinstance(cotangent, (tuple, list)) or len(value) != len(cotangent):
        raise TypeError(f"the function returns {len(value)} results, and so many cotangents must be given, in a tuple or list")
    for one, other in zip(value, cotangent, strict=True):
        yield from paired(one, other)
