"""Calls with two mistakes, shapes that do not go together and dtypes: which of the two PyTorch names.

Owns `mistakes.json`. Of each operation and form there is a list of answers, one for each pair of `dtypes` in the order of
`itertools.product`: a place in `texts`.
"""

import itertools

import torch

from store import provenance, write_json

DTYPES = "bool uint8 uint16 int64 float16 float32 complex64".split()
BINARY = """add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign div eq floor_divide fmax
    fmin fmod gcd ge gt heaviside hypot lcm le logaddexp logaddexp2 logical_and logical_or logical_xor lt maximum minimum mul ne
    nextafter pow remainder sub xlogy""".split()
WITH_MORE = {
    "addcmul": lambda x, y: torch.addcmul(x, y, y),
    "addcdiv": lambda x, y: torch.addcdiv(x, y, y),
    "lerp": lambda x, y: torch.lerp(x, y, y),
    "where": lambda x, y: torch.where(y, x, x),
    "masked_fill": lambda x, y: torch.masked_fill(x, y, 1),
}


def calls():
    for name in BINARY:
        yield name, "stretched", getattr(torch, name)
        if hasattr(torch.Tensor, name + "_"):
            yield name, "in place", getattr(torch.Tensor, name + "_")
    for name, call in WITH_MORE.items():
        yield name, "stretched", call


def main():
    texts, answers = [], []
    for name, form, call in calls():
        first, second = ((3,), (2, 3)) if form == "in place" else ((2, 3), (4,))
        found = []
        for x, y in itertools.product(DTYPES, DTYPES):
            try:
                call(torch.ones(first, dtype=getattr(torch, x)), torch.ones(second, dtype=getattr(torch, y)))
            except (RuntimeError, TypeError, NotImplementedError) as error:
                text = {"class": type(error).__name__, "text": str(error).splitlines()[0]}
            else:
                raise AssertionError(f"{name} of {x} and {y}, {form}, is no mistake")
            if text not in texts:
                texts.append(text)
            found.append(texts.index(text))
        answers.append({"fn": name, "form": form, "answers": found})
    write_json("mistakes.json", provenance("mistakes.py", dtypes=DTYPES), {"texts": texts, "calls": answers})


if __name__ == "__main__":
    main()
