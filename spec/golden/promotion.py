"""Type promotion: every pair of dtypes in every bucket, allowed casts, limits of each dtype.

Owns `promotion.json`.
"""

import torch

from operations import DTYPES, NAMES, failure
from store import provenance, write_json

NUMBERS = {"bool": True, "int": 1, "float": 1.0, "complex": 1j}


def answer(call):
    """The dtype's name, or the failure."""
    try:
        return NAMES[call()]
    except (RuntimeError, TypeError) as error:
        return failure(error)


def table(left, right, call):
    """A row per element of `left`, a column per element of `right`."""
    return [[answer(lambda: call(a, b)) for b in right] for a in left]


def texts_out(rows, texts):
    """Replace each failure by the index of its text, written as `{"error": i}`."""
    for row in rows:
        for column, cell in enumerate(row):
            if isinstance(cell, dict):
                if cell not in texts:
                    texts.append(cell)
                row[column] = {"error": texts.index(cell)}
    return rows


def limits():
    """`finfo` and `iinfo` as exact values: floats in C99 hexadecimal."""
    rows = {}
    for name, dtype in DTYPES.items():
        if dtype == torch.bool:
            continue
        if dtype.is_floating_point or dtype.is_complex:
            info = torch.finfo(dtype)
            rows[name] = {
                "bits": info.bits,
                "eps": float(info.eps).hex(),
                "max": float(info.max).hex(),
                "min": float(info.min).hex(),
                "smallest_normal": float(info.smallest_normal).hex(),
                "tiny": float(info.tiny).hex(),
                "resolution": repr(info.resolution),
                "dtype": info.dtype,
            }
        else:
            info = torch.iinfo(dtype)
            rows[name] = {"bits": info.bits, "min": info.min, "max": info.max, "dtype": info.dtype}
    return rows


def main():
    dtypes = list(DTYPES.values())
    dimensioned = [torch.ones(2, dtype=dtype) for dtype in dtypes]
    scalars = [torch.ones((), dtype=dtype) for dtype in dtypes]
    numbers = list(NUMBERS.values())
    texts = []
    tables = {
        "promote_types": table(dtypes, dtypes, torch.promote_types),
        "dimensioned_dimensioned": table(dimensioned, dimensioned, torch.result_type),
        "dimensioned_0d": table(dimensioned, scalars, torch.result_type),
        "0d_dimensioned": table(scalars, dimensioned, torch.result_type),
        "0d_0d": table(scalars, scalars, torch.result_type),
        "dimensioned_number": table(dimensioned, numbers, torch.result_type),
        "number_dimensioned": table(numbers, dimensioned, torch.result_type),
        "0d_number": table(scalars, numbers, torch.result_type),
        "number_number": table(numbers, numbers, torch.result_type),
    }
    for rows in tables.values():
        texts_out(rows, texts)
    write_json(
        "promotion.json",
        provenance("promotion.py", default_dtype=NAMES[torch.get_default_dtype()]),
        {
            "dtypes": list(DTYPES),
            "numbers": list(NUMBERS),
            "errors": texts,
            **tables,
            "can_cast": [[torch.can_cast(a, b) for b in dtypes] for a in dtypes],
            "limits": limits(),
        },
    )


if __name__ == "__main__":
    main()
