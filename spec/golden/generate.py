"""Rebuild the corpus: `python spec/golden/generate.py [PART...]`, all parts without an argument.

Needs the versions of PyTorch, NumPy, gmpy2 and mpmath that the headers name. Owns the list of
parts; each part writes its own files beside this script.
"""

import importlib
import sys
import time
import warnings

import torch

PARTS = [
    "promotion",
    "shapes",
    "pointwise",
    "reductions",
    "casts",
    "in_place",
    "limits",
    "mistakes",
    "views",
    "arrange",
    "matmul",
    "einsum",
    "gradients",
    "orders",
    "out",
    "printing",
    "protocols",
]


def main():
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    chosen = sys.argv[1:] or PARTS
    unknown = sorted(set(chosen) - set(PARTS))
    if unknown:
        sys.exit(f"unknown part: {', '.join(unknown)}; the parts are {', '.join(PARTS)}")
    for part in chosen:
        start = time.monotonic()
        importlib.import_module(part).main()
        print(f"{part}: {time.monotonic() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
