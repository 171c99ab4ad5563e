"""The operations of the corpus: a name, PyTorch's function, how many tensors it takes.

Owns the list of names and nothing else: no values, no files. A row of the table of operations is in the corpus without
a line here, if PyTorch has a function of its name in `torch`, `torch.nn.functional` or `torch.special`.
"""

import functools
import re
from pathlib import Path

import torch

DTYPES = {
    "bool": torch.bool,
    "uint8": torch.uint8,
    "uint16": torch.uint16,
    "uint32": torch.uint32,
    "uint64": torch.uint64,
    "int8": torch.int8,
    "int16": torch.int16,
    "int32": torch.int32,
    "int64": torch.int64,
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
    "float32": torch.float32,
    "float64": torch.float64,
    "complex64": torch.complex64,
    "complex128": torch.complex128,
}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
# Not of the fifteen, but PyTorch promotes to them.
NAMES.update({torch.complex32: "complex32", torch.bcomplex32: "bcomplex32"})


def rows(title):
    """The operations of a section of `docs/operations.md`, which is generated from the table."""
    text = (Path(__file__).parents[2] / "docs/operations.md").read_text(encoding="utf-8")
    return set(re.findall(r"^\| `(\w+)\(", text.partition(f"\n## {title}\n")[2].partition("\n## ")[0], re.MULTILINE))


# Without rows that PyTorch has as keywords or elsewhere, with those of other sections of as many tensors.
SPECIAL = {"i1": torch.special.i1, "trigamma": functools.partial(torch.polygamma, 1)}
# Formulas of one operand that are computed element by element.
ACTIVATIONS = """celu elu hardshrink hardsigmoid hardswish hardtanh leaky_relu logsigmoid mish relu6 selu softshrink softsign
tanhshrink threshold""".split()
UNARY = sorted(rows("One operand") - {"frexp_exponent", "frexp_mantissa", "gelu_tanh", *SPECIAL} | {"frexp", "nan_to_num", "softplus", *ACTIVATIONS})
BINARY = sorted(rows("Two operands") - {"div_trunc"} | {"clamp_max", "clamp_min", "float_power", "isclose", "rsub"})

# Operations that have variants by a parameter that changes what is computed.
VARIANTS = {
    "div": [{}, {"rounding_mode": "floor"}, {"rounding_mode": "trunc"}],
    "gelu": [{}, {"approximate": "tanh"}],
    "celu": [{}, {"alpha": 2.0}, {"alpha": -0.5}, {"alpha": 0.0}],
    "elu": [{}, {"alpha": 2.5}, {"alpha": -0.5}],
    "hardshrink": [{}, {"lambd": 2.0}, {"lambd": -1.0}],
    "hardtanh": [{}, {"min_val": -2.5, "max_val": 1.5}, {"min_val": 1.0, "max_val": -1.0}, {"max_val": float("inf")}],
    "leaky_relu": [{}, {"negative_slope": -2.0}, {"negative_slope": 0.3}],
    "softshrink": [{}, {"lambd": 0.0}, {"lambd": 1.5}, {"lambd": -1.0}],
    "threshold": [{"threshold": 0.5, "value": 2.0}, {"threshold": -1.0, "value": 7.5}, {"threshold": 0.0, "value": 300.0}],
}

HOMES = (torch, torch.nn.functional, torch.special)


def function(name):
    """PyTorch's function of that name."""
    found = SPECIAL.get(name) or next((getattr(home, name) for home in HOMES if hasattr(home, name)), None)
    if found is None:
        raise AttributeError(f"PyTorch has no function `{name}`: say in SPECIAL what it is there")
    return found


def variants(name):
    """The keyword sets to run `name` with."""
    return VARIANTS.get(name, [{}])


def label(name, kwargs):
    """`name` and its keywords as one readable line, as in `div(rounding_mode=floor)`."""
    inner = ",".join(f"{key}={value}" for key, value in kwargs.items())
    return f"{name}({inner})" if inner else name


def failure(error):
    """The class and the text of an exception, without a C++ stack trace that some texts carry."""
    return {
        "class": type(error).__name__,
        "text": str(error).partition("\nException raised from")[0],
    }
