"""Owns NumPy's side of the search for cliffs: makes the operands that a line of JSON describes, computes, and
prints the time. It does not know the other side.

The result is requested in row-major order, like zerostride's: NumPy would otherwise keep the operands' order
and do less work.
"""

import json
import sys
import time

import numpy as np


def view(operand, dtype):
    memory = operand["memory"]
    values = (np.arange(int(np.prod(memory))) % 7).astype(dtype).reshape(memory)
    values = values[tuple(slice(None, None, step) for step in operand["steps"])]
    return np.broadcast_to(values.transpose(operand["order"]), operand["shape"])


def reduced(function, operand, dim):
    result = function(operand(), axis=dim)
    return lambda: function(operand(), axis=dim, out=np.empty(result.shape, result.dtype))


def formula(case, operands):
    x, *others = operands
    match case["formula"]:
        case "copy":
            return lambda: np.array(x, order="C")
        case "add":
            return lambda: np.add(x, *others, order="C")
        case "less":
            return lambda: np.less(x, *others, order="C")
        case "sqrt":
            return lambda: np.sqrt(x, order="C")
        case "normalise":
            y, z = others
            return lambda: np.multiply(np.subtract(x, y, order="C"), z, order="C")
        case "sum":
            return reduced(np.sum, lambda: x, case["dim"])
        case "amax":
            return reduced(np.amax, lambda: x, case["dim"])
        case "dot":
            return reduced(np.sum, lambda: np.multiply(x, *others, order="C"), case["dim"])
    raise ValueError(case["formula"])


def main():
    compute = None
    for line in sys.stdin:
        request = json.loads(line)
        if "formula" in request:
            compute = formula(request, [view(operand, request["dtype"]) for operand in request["operands"]])
            reply = float(np.sum(np.real(compute()), dtype=np.float64))
        else:
            start = time.perf_counter()
            for _ in range(request["repeats"]):
                compute()
            reply = time.perf_counter() - start
        print(json.dumps(reply), flush=True)


main()
