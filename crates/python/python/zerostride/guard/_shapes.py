"""Owns the arithmetic of shapes that every operation pays for. Classes and words come from the engine."""

import functools
import math


@functools.lru_cache(maxsize=1 << 14)
def result_of(shapes):
    """The broadcast shape, or None where the shapes do not go together."""
    result = []
    for dim in range(-max(map(len, shapes), default=0), 0):
        sizes = {shape[dim] for shape in shapes if len(shape) >= -dim} - {1}
        if len(sizes) > 1:
            return None
        result.append(sizes.pop() if sizes else 1)
    return tuple(result)


@functools.lru_cache(maxsize=1 << 14)
def is_mutual(shapes):
    """Whether the result has more elements than every operand."""
    result = result_of(shapes)
    return result is not None and math.prod(result) > max(map(math.prod, shapes), default=0)


@functools.lru_cache(maxsize=1 << 14)
def is_spread(target, value):
    """Whether an assignment repeats n elements along one dim of an (n, n) target, and might have meant the other one."""
    n = math.prod(value)
    return n > 1 and len(target) >= 2 and target[-2:] == (n, n) and value != target


@functools.lru_cache(maxsize=1 << 10)
def pattern(shapes):
    """Shapes without their sizes: equal sizes have equal letters. It survives another batch size.

    >>> pattern(((32, 1), (32,)))
    '(n, 1) and (n)'
    """
    letters, names = {}, iter("nmkpqrstuvwxyzabcdefghijl" * 8)
    name = lambda size: str(size) if size in (0, 1) else letters.get(size) or letters.setdefault(size, next(names))
    return " and ".join(f"({', '.join(map(name, shape))})" for shape in shapes)
