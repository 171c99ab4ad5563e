"""Sums of products by equation: random equations over random shapes, mistakes among them, and dtypes.

Owns `einsum.json`. Operands hold small integers, so that the values are exact in whatever order they add up.
"""

import random

import torch

from matmul import filled
from operations import DTYPES, NAMES, failure
from store import provenance, write_json

LETTERS = "aBcDe"

# Equations that random ones would not find, of mistakes mostly.
SPECIAL = [
    ("", [[]]), ("->", [[]]), (",->", [[], []]), ("i", [[0]]), ("ij,jk", [[2, 0], [0, 3]]), ("ij,jk", [[2, 0], [1, 3]]), ("ii", [[1, 4]]),
    ("ii", [[2, 3]]), ("i,i", [[2], [3]]), ("...,...", [[2], [3]]), ("i.j", [[1, 4]]), ("i..", [[1, 4]]), ("i,j", [[1]]), ("i", [[1], [1]]),
    ("i-j", [[1]]), ("i->ii", [[1]]), ("i->k", [[1]]), ("i->i1", [[1]]), ("i->-", [[1]]), ("ij", [[1]]), ("...ij", [[1]]), ("...i...", [[1]]),
    ("i->......", [[1]]), ("i->..", [[1]]), ("i->.", [[1]]), (" i j , j k -> i k ", [[2, 3], [3, 2]]), ("i\tj->i", [[2, 3]]), ("ä", [[2]]),
    ("i->j->i", [[2]]), ("zZ", [[2, 3]]), ("bn,anm,bm->ba", [[2, 3], [2, 3, 2], [2, 2]]), ("iii->i", [[3, 3, 3]]), ("i.->i", [[3]]), ("i,", [[3]]),
    ("i,,j", [[3], [], [2]]), ("...", [[2, 3]]), ("...->", [[2, 3]]), ("...i->...", [[2, 3]]), ("i...->...i", [[2, 3, 2]]),
]  # fmt: skip


def random_case(choose):
    """An equation over one to three operands, and their shapes; one in eight is spoiled."""
    sizes = {letter: choose.choice([1, 2, 2, 3]) for letter in LETTERS}
    covered = [choose.choice([1, 2, 3]) for _ in range(2)]
    words, shapes = [], []
    for _ in range(choose.choice([1, 2, 2, 2, 3])):
        word = [choose.choice(LETTERS) for _ in range(choose.choice([0, 1, 2, 2, 3]))]
        once = [1 if word.count(letter) == 1 and choose.random() < 0.15 else sizes[letter] for letter in word]
        if choose.random() < 0.3:
            place, count = choose.randint(0, len(word)), choose.randint(0, 2)
            stretched = [1 if choose.random() < 0.2 else size for size in covered[2 - count :]]
            word.insert(place, "...")
            once[place:place] = stretched
        words.append("".join(word))
        shapes.append(once)
    equation = ",".join(words)
    if choose.random() < 0.7:
        used = sorted(set(equation) & set(LETTERS))
        output = choose.sample(used, choose.randint(0, len(used)))
        if "." in equation and choose.random() < 0.8:
            output.insert(choose.randint(0, len(output)), "...")
        equation += "->" + "".join(output)
    if choose.random() < 0.125 and equation:
        place = choose.randrange(len(equation))
        equation = equation[:place] + choose.choice(["", " ", "x", ".", ",", "a"]) + equation[place + 1 :]
    return equation, shapes


def answer(equation, shapes):
    """One case: shape and values, or the refusal; and the dtype of products of int32."""
    operands = [filled(shape, 1 + 3 * place) for place, shape in enumerate(shapes)]
    case = {"equation": equation, "shapes": shapes}
    try:
        result = torch.einsum(equation, *(operand.float() for operand in operands))
    except (RuntimeError, ValueError) as error:
        case["error"] = failure(error)
        return case
    case["shape"] = list(result.shape)
    case["values"] = [int(value) for value in result.flatten().tolist()]
    case["int32"] = dtype_of(equation, [operand.int() for operand in operands])
    return case


def dtype_of(equation, operands):
    try:
        return NAMES[torch.einsum(equation, *operands).dtype]
    except RuntimeError as error:
        return failure(error)


def dtypes():
    """Which dtypes go together: with a sum over both operands, without a sum, and a sum of one operand alone."""
    rows = []
    for left, right in ((left, right) for left in DTYPES.values() for right in DTYPES.values()):
        row = {"a": NAMES[left], "b": NAMES[right]}
        for equation in ("ij,jk->ik", "ij,ij->i", "ij,ij->ij"):
            shapes = [2, 3], [3, 2] if "k" in equation else [2, 3]
            row[equation] = dtype_of(equation, [torch.ones(shapes[0]).to(left), torch.ones(shapes[1]).to(right)])
        rows.append(row)
    return rows


def main():
    # The order of the products shows in dtypes: from left to right.
    torch.backends.opt_einsum.enabled = False
    choose, cases, seen = random.Random(1), [], set()
    while len(cases) < 800:
        equation, shapes = random_case(choose)
        case = answer(equation, shapes)
        key = equation, str(shapes)
        if key not in seen and len(case.get("values", [])) <= 54:
            seen.add(key)
            cases.append(case)
    special = [answer(equation, shapes) for equation, shapes in SPECIAL]
    write_json("einsum.json", provenance("einsum.py"), {"cases": special + cases, "dtypes": dtypes()})


if __name__ == "__main__":
    main()
