"""Owns calls of fused functions with arrays in tuples, lists and dicts: the arrays are handed one by one to a fused function
of their own, which puts the structures together again. It does not know tracing, which is native."""

from ._fuse import Fused
from ._gradients import grad, is_continuous, value_and_grad
from ._outside import parameters

# Forms of arguments for which a function has a fused function of their leaves.
MOST_FORMS = 64
# Structures inside each other: a list may contain itself.
MOST_NESTED = 16


def call(fused, positional, named):
    """What a call with structures of arrays returns; ``NotImplemented`` if there are none, or if more is wanted than
    results and gradients."""
    arguments = [*positional, *named.values()]
    forms = tuple(_form(argument) for argument in arguments)
    if not any(forms) or not hasattr(fused, "__wrapped__"):
        return NotImplemented
    leaves = [leaf for form, argument in zip(forms, arguments, strict=True) for leaf in _leaves(form, argument)]
    flags = tuple(map(is_continuous, leaves)) if hasattr(fused, "_made") else ()
    key = forms, tuple(named), flags
    made = vars(fused).setdefault("_of_leaves", {})
    if key not in made:
        if len(made) >= MOST_FORMS:
            made.clear()
        made[key] = _of_leaves(fused, forms, tuple(named), flags)
    return made[key](*leaves)


def _form(value, nested=MOST_NESTED):
    """What a structure is without its arrays, as a key; ``None`` for all else, a tuple of sizes as well."""
    if nested == 0:
        return None
    if isinstance(value, dict):
        keys, items = tuple(value), value.values()
    elif isinstance(value, (tuple, list)):
        keys, items = None, value
    else:
        return None
    forms = tuple(_form(item, nested - 1) for item in items)
    has_arrays = any(forms) or any(hasattr(item, "dtype") and hasattr(item, "shape") for item in items)
    return (type(value), keys, forms) if has_arrays else None


def _leaves(form, value):
    """The arrays, and whatever else stands beside them, in their order."""
    if form is None:
        return [value]
    items = value if form[1] is None else value.values()
    return [leaf for inner, item in zip(form[2], items, strict=True) for leaf in _leaves(inner, item)]


def _built(form, leaves):
    """The structure of the next leaves."""
    if form is None:
        return next(leaves)
    kind, keys, forms = form
    items = [_built(inner, leaves) for inner in forms]
    if keys is not None:
        return dict(zip(keys, items, strict=True))
    return kind(*items) if hasattr(kind, "_fields") else kind(items)


def _names(form, name):
    """How errors name the leaves of an argument."""
    if form is None:
        return [name]
    keys = range(len(form[2])) if form[1] is None else form[1]
    return [leaf for key, inner in zip(keys, form[2], strict=True) for leaf in _names(inner, f"{name}[{key!r}]")]


def _of_leaves(fused, forms, words, flags):
    """The fused function of the leaves of arguments of these forms, of which the last have names."""
    maker, (function, argnums) = getattr(fused, "_made", (None, (fused.__wrapped__, 0)))
    count = len(forms) - len(words)

    def of_leaves(*leaves):
        rest = iter(leaves)
        arguments = [_built(form, rest) for form in forms]
        return function(*arguments[:count], **dict(zip(words, arguments[count:], strict=True)))

    known = [*parameters(function), *(f"argument {place}" for place in range(count))]
    of_leaves._parameters = [leaf for form, name in zip(forms, [*known[:count], *words], strict=True) for leaf in _names(form, name)]
    of_leaves._reads_of = function
    if maker is None:
        return Fused(of_leaves, rules=fused.rules)
    places = [argnums] if isinstance(argnums, int) else list(argnums)
    if not all(-count <= place < count for place in places):
        raise TypeError(f"argnums is {argnums}, and {count} positional arguments are given")
    places = [place % count for place in places]
    sizes = [len(_names(form, "")) for form in forms]
    spans = [range(sum(sizes[:place]), sum(sizes[: place + 1])) for place in range(count)]
    # A bare number has a gradient, but beside arrays only arrays of real and complex numbers have.
    wanted = tuple(leaf for place in places for leaf in spans[place] if forms[place] is None or flags[leaf])
    made = value_and_grad(of_leaves, wanted)

    def in_form(*leaves):
        value, found = made(*leaves)
        of_leaf = dict(zip(wanted, found, strict=True))
        gradients = tuple(_built(forms[place], map(of_leaf.get, spans[place])) for place in places)
        gradient = gradients[0] if isinstance(argnums, int) else gradients
        return (value, gradient) if maker is value_and_grad else gradient

    return in_form
