"""In which order the dimensions of results lie: strides of operations on operands of any layout.

Owns `orders.json`. An operand is memory of some sizes, its dimensions permuted, and then perhaps every other
element of one of them. That one has several: the strides of sizes of 1, which lead nowhere, would have a say in
PyTorch's order of the others.
"""

import random

import torch

from store import provenance, write_json

# How many operands each formula has.
FORMULAS = {
    "neg(a)": 1,
    "a.to(f64)": 1,
    "a + b": 2,
    "a > b": 2,
    "where(a > b, a, c)": 3,
    "(a + b) * c": 3,
    "(a - b).t0() / c.t0()": 3,
}
# Operations that move elements or are not PyTorch's own loops.
ARRANGED = {
    "a.sort(0)": 1,
    "a.sort(-1)": 1,
    "a.topk(1, 0)": 1,
    "a.tril()": 1,
    "a.masked_fill(b > 2, 0)": 2,
    "a.masked_fill(b > 2, 0) + a": 2,
}


def operand(spec):
    """The tensor that `random_operand` has described."""
    tensor = torch.ones(spec["memory"]).permute(spec["permute"])
    return tensor if spec["every_other"] is None else tensor[(slice(None),) * spec["every_other"] + (slice(None, None, 2),)]


def random_operand(choose, shape):
    """An operand that broadcasts to the shape, which may have fewer dimensions or sizes of 1."""
    sizes = [1 if choose.random() < 0.2 else size for size in shape]
    if choose.random() < 0.2:
        sizes = sizes[choose.randrange(len(sizes)) :]
    permute = list(range(len(sizes)))
    choose.shuffle(permute)
    long = [dim for dim, size in enumerate(sizes) if size > 1]
    every_other = choose.choice(long) if long and choose.random() < 0.2 else None
    memory = [0] * len(sizes)
    for dim, place in enumerate(permute):
        memory[place] = sizes[dim] * (2 if dim == every_other else 1)
    return {"memory": memory, "permute": permute, "every_other": every_other}


def value(formula, operands):
    a, b, c = (operands + [None, None])[:3]
    match formula:
        case "neg(a)":
            return -a
        case "a.to(f64)":
            return a.to(torch.float64)
        case "a + b":
            return a + b
        case "a > b":
            return a > b
        case "where(a > b, a, c)":
            return torch.where(a > b, a, c)
        case "(a + b) * c":
            return (a + b) * c
        case "(a - b).t0() / c.t0()":
            return (a - b).transpose(0, -1) / c.transpose(0, -1)
        case "a.sort(0)":
            return a.sort(0).indices
        case "a.sort(-1)":
            return a.sort(-1).values
        case "a.topk(1, 0)":
            return a.topk(1, 0).values
        case "a.tril()":
            return a.tril()
        case "a.masked_fill(b > 2, 0)":
            return a.masked_fill(b > 2, 0)
        case "a.masked_fill(b > 2, 0) + a":
            return a.masked_fill(b > 2, 0) + a


def case(choose, formulas):
    formula = choose.choice(list(formulas))
    shape = [choose.choice([1, 2, 3, 5]) for _ in range(choose.randint(1, 4))]
    specs = [random_operand(choose, shape) for _ in range(formulas[formula])]
    if "t0" in formula:
        # Both sides keep all dimensions.
        specs = [spec for spec in specs if len(spec["memory"]) == len(shape)]
        if len(specs) < 3:
            return case(choose, formulas)
    if formula == "a.tril()" and len(specs[0]["memory"]) < 2:
        return case(choose, formulas)
    result = value(formula, [operand(spec) for spec in specs])
    return {"formula": formula, "operands": specs, "shape": list(result.shape), "strides": list(result.stride())}


def main():
    choose = random.Random(1)
    cases = [case(choose, FORMULAS) for _ in range(700)] + [case(choose, ARRANGED) for _ in range(200)]
    write_json("orders.json", provenance("orders.py"), {"cases": cases})


if __name__ == "__main__":
    main()
