"""Owns amounts of memory as people write them."""

import re

_UNITS = {"": 1, "b": 1} | {
    prefix + unit: factor**power
    for power, prefix in enumerate("kmgt", 1)
    for unit, factor in (("b", 1000), ("ib", 1024))
}


def number_of_bytes(name, limit):
    """The number of bytes that ``"2 GiB"`` or an integer means to the argument ``name``; ``None`` stays what it is."""
    if limit is None or isinstance(limit, int):
        return limit
    found = re.fullmatch(r"\s*([0-9.]+)\s*([a-zA-Z]*)\s*", limit) if isinstance(limit, str) else None
    if not found or found[2].lower() not in _UNITS:
        raise ValueError(f"{name} is a number of bytes or a text such as '2 GiB', not {limit!r}")
    return int(float(found[1]) * _UNITS[found[2].lower()])
