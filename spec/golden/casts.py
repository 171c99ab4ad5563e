"""Conversions: every dtype to every dtype on special values.

Owns `casts.json` with `casts.npz`. A float outside the integer's range has no defined result in C++;
such elements are listed, with what this machine answered.
"""

import torch

from operations import DTYPES, NAMES
from recorder import Recorder
from values import sets

# Values at and around the limits of the integer types.
EDGES = [
    -0.9, 0.9, 1.9, -1.9, 127.0, 127.9, 128.0, -128.0, -128.9, -129.0, 255.0, 255.9, 256.0, 32767.9,
    32768.0, -32768.0, -32769.0, 65535.5, 65536.0, 2147483647.0, 2147483648.0, -2147483648.0,
    -2147483649.0, 4294967295.0, 4294967296.0, 9223372036854774784.0, 9223372036854775808.0,
    -9223372036854775808.0, -9223372036854777856.0, 18446744073709549568.0, 18446744073709551616.0,
    1e20, -1e20,
]  # fmt: skip


def undefined(x, target):
    """The indices of elements whose conversion to the integer dtype C++ leaves undefined."""
    if x.dtype.is_complex:
        x = x.real
    if not x.dtype.is_floating_point or target == torch.bool:
        return []
    if target.is_floating_point or target.is_complex:
        return []
    info = torch.iinfo(target)
    whole = x.double().trunc()
    inside = (whole >= float(info.min)) & (whole < float(info.max) + 1)
    if info.max < 2**53:
        inside = (whole >= info.min) & (whole <= info.max)
    return [i for i, good in enumerate(inside.tolist()) if not good]


def main():
    out = Recorder("casts.py", "casts", sets())
    for name in DTYPES:
        x = out.inputs[f"wide/{name}"]
        if name in ("float32", "float64", "float16", "bfloat16"):
            x = torch.cat([x, torch.tensor(EDGES, dtype=torch.float64).to(DTYPES[name])])
        key = out.input(f"cast/{name}", x)
        for target in DTYPES.values():
            case = {"op": "to", "a": key, "to": NAMES[target]}
            bad = undefined(x, target)
            if bad:
                case["undefined"] = bad
            out.record(case, lambda: x.to(target))
    out.write()


if __name__ == "__main__":
    main()
