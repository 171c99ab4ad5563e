"""Owns the parsing of amounts of memory, such as ``"2 GiB"``. It does not know what they limit."""

import re
import sys
from decimal import Decimal

_UNITS = {"": 1, "b": 1} | {
    prefix + unit: factor**power
    for power, prefix in enumerate("kmgt", 1)
    for unit, factor in (("b", 1000), ("ib", 1024))
}


def number_of_bytes(name, limit):
    """The number of bytes that ``"2 GiB"`` or an integer means for the argument ``name``; ``None`` stays
    ``None``. Larger numbers than ``sys.maxsize`` become that."""
    if limit is None:
        return limit
    found = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*([a-zA-Z]*)\s*", limit, re.ASCII) if isinstance(limit, str) else None
    if found and found[2].lower() in _UNITS:
        limit = int(Decimal(found[1]) * _UNITS[found[2].lower()])
    if not isinstance(limit, int) or limit < 0:
        raise ValueError(f"{name} is a number of bytes or a text such as '2 GiB', not {limit!r}")
    return min(limit, sys.maxsize)
