"""What PyTorch's complex functions return where zeros, infinities and NaN meet.

    python complex_ends.py        writes <function>.ends.bin beside this file; needs torch

Each file holds float64 columns, little-endian: real and imaginary part of the argument, for all pairs of `PARTS`, then
those of the result; for functions of two arguments, all pairs of `FEW_PARTS` in both.
"""

from pathlib import Path

import torch

INF, NAN = float("inf"), float("nan")
PARTS = [0.0, -0.0, 1.0, -1.0, 0.5, -2.0, INF, -INF, NAN]
FEW_PARTS = [0.0, -0.0, 1.0, -2.0, INF, -INF, NAN]
UNARY = """sgn reciprocal sqrt rsqrt exp exp2 expm1 log log2 log10 log1p sigmoid silu sin cos tan sinh cosh tanh sinc asin
    acos atan asinh acosh atanh""".split()
BINARY = "mul div logaddexp".split()


def grid(parts):
    # Not from a sum, in which NaN and the signs of zeros would spread.
    return torch.tensor([[re, im] for re in parts for im in parts], dtype=torch.float64)


def save(name, columns):
    Path(__file__).with_name(f"{name}.ends.bin").write_bytes(torch.cat(columns, 1).T.contiguous().numpy().astype("<f8").tobytes())


def main():
    points = grid(PARTS)
    for name in UNARY:
        function = getattr(torch, name, None) or getattr(torch.nn.functional, name)
        save(name, [points, torch.view_as_real(function(torch.view_as_complex(points)))])
    few = grid(FEW_PARTS)
    a, b = few.repeat_interleave(len(few), 0), few.repeat(len(few), 1)
    for name in BINARY:
        result = getattr(torch, name)(torch.view_as_complex(a), torch.view_as_complex(b))
        save(name, [a, b, torch.view_as_real(result)])


if __name__ == "__main__":
    main()
