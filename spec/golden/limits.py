"""Bare numbers that a dtype may not hold, wherever a call converts them: what comes out, or the refusal.

Owns `limits.json`. Of results only integers are kept: what floats are worth is asked elsewhere.
"""

import itertools

import torch
import torch.nn.functional

from store import number, provenance, write_json

DTYPES = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64".split()
REAL = [-1, 2.5, -1.5, 300, 70000, 1 << 40, 1e300, float("nan"), float("inf")]
COMPLEX = [1j]

CALLS = {
    "add": (lambda x, n: torch.add(x, x, alpha=n), REAL + COMPLEX),
    "sub": (lambda x, n: torch.sub(x, x, alpha=n), REAL + COMPLEX),
    "addcmul": (lambda x, n: torch.addcmul(x, x, x, value=n), REAL + COMPLEX),
    "addcdiv": (lambda x, n: torch.addcdiv(x, x, x, value=n), REAL + COMPLEX),
    # An integer from a million on is printed with six digits there.
    "clamp": (lambda x, n: torch.clamp(x, n), [n for n in REAL if n != 1 << 40]),
    "logit": (lambda x, n: torch.logit(x, n), REAL),
    "softplus": (lambda x, n: torch.nn.functional.softplus(x, n), REAL),
    "masked_fill": (lambda x, n: torch.masked_fill(x, x != 0, n), REAL + COMPLEX),
    "fill_": (lambda x, n: x.fill_(n), REAL + COMPLEX),
    "full": (lambda x, n: torch.full([2], n, dtype=x.dtype), REAL + COMPLEX),
    "arange": (lambda x, n: torch.arange(n, n, dtype=x.dtype), REAL + COMPLEX),
    "linspace": (lambda x, n: torch.linspace(0, n, 3, dtype=x.dtype), REAL + COMPLEX),
}


def main():
    cases = []
    for (name, (call, numbers)), dtype in itertools.product(CALLS.items(), DTYPES):
        for value in numbers:
            case = {"fn": name, "dtype": dtype, "number": number(value)}
            try:
                result = call(torch.tensor([1, 0, 2], dtype=getattr(torch, dtype)), value)
            except (RuntimeError, TypeError, NotImplementedError) as error:
                case["error"] = {"class": type(error).__name__, "text": str(error).splitlines()[0]}
            else:
                whole = not result.dtype.is_floating_point and not result.dtype.is_complex
                case["result"] = result.to(torch.int64).tolist() if whole else None
            cases.append(case)
    write_json("limits.json", provenance("limits.py"), {"cases": cases})


if __name__ == "__main__":
    main()
