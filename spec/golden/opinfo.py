"""PyTorch's own samples (OpInfo) asked of both: of every name that both have, in every dtype, as a function, a method
and in place.

Owns the comparison and the list of differences that are meant (`MEANT`). Run it where PyTorch and zerostride are both
installed: `python spec/golden/opinfo.py` prints the counts and each sample that differs without a reason, and fails if
there is one; names limit it to these. The continuous check does not run it, as it has no PyTorch: what the samples found
wrong is held there by `arrange.json` and `crates/python/tests/test_keywords.py`.
"""

import re
import sys
import warnings
from collections import Counter

import torch
from torch.overrides import TorchFunctionMode

import zerostride as zs
from operations import DTYPES

warnings.simplefilter("ignore")
from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402

OURS = {dtype: getattr(zs, name) for name, dtype in DTYPES.items()}
THEIRS = {str(getattr(zs, name)): dtype for name, dtype in DTYPES.items()}


class Outermost(TorchFunctionMode):
    """Records the first call of PyTorch's that a wrapper of a sample makes."""

    def __init__(self):
        self.calls = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.calls.append((func.__name__, args, kwargs or {}))
        return func(*args, **(kwargs or {}))


def mapped(function, value):
    """The value with `function` applied to every tensor and dtype in it."""
    if isinstance(value, (torch.Tensor, torch.dtype)):
        return function(value)
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        items = [mapped(function, item) for item in value]
        return type(value)(items) if type(value) in (list, tuple) else tuple(items)
    if isinstance(value, dict):
        return {key: mapped(function, item) for key, item in value.items()}
    return tuple(value) if isinstance(value, torch.Size) else value


def ours(value):
    """A tensor or dtype of PyTorch's as ours; the tensor has memory of its own, under the same strides."""
    if isinstance(value, torch.dtype):
        return OURS.get(value, value)
    return zs.from_dlpack(fresh(value))


def fresh(value):
    """A copy of a tensor that lies in memory as it does."""
    if isinstance(value, torch.dtype):
        return value
    value = value.detach().resolve_conj().resolve_neg()
    span = sum((size - 1) * stride for size, stride in zip(value.shape, value.stride())) + 1
    if value.numel() == 0:
        return torch.empty_like(value)
    memory = value.as_strided((span,), (1,), value.storage_offset()).clone()
    return memory.as_strided(value.shape, value.stride())


def theirs(value):
    """An answer of ours as PyTorch's."""
    if isinstance(value, zs.Tensor):
        if value.numel() == 0:
            return torch.empty(value.shape, dtype=THEIRS[str(value.dtype)])
        # PyTorch takes no negative strides.
        return torch.from_dlpack(value.contiguous())
    if isinstance(value, zs.dtype):
        return THEIRS[str(value)]
    if isinstance(value, (list, tuple)):
        return [theirs(item) for item in value]
    return value


def plain(value):
    """An answer of PyTorch's without its classes."""
    if isinstance(value, torch.Size):
        return list(value)
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value.detach().resolve_conj().resolve_neg() if isinstance(value, torch.Tensor) else value


# Operations whose floating-point results PyTorch does not round correctly, or sums in an order of its own.
ROUNDED = set(
    """acos acosh addcdiv addcmul angle arccos arccosh arcsin arcsinh arctan arctan2 arctanh asin asinh atan
    atan2 atanh cos cosh cumprod cumsum deg2rad digamma div erf erfc erfinv exp exp2 expit expm1 float_power fmod gelu
    hypot i0 index_add index_put ldexp lerp lgamma linspace log log10 log1p log2 log_softmax logaddexp logaddexp2
    logit logsumexp matmul mean mul nanmean nanquantile nansum norm outer polar pow prod quantile rad2deg
    reciprocal remainder round rsqrt scatter_add sgn sigmoid silu sin sinc sinh softmax softplus sqrt
    square std std_mean sub sum sum_to_size tan tanh tensordot true_divide var var_mean vecdot xlogy abs add rsub
    __rpow__ __rdiv__ __rmatmul__ __rmod__ __rmul__ __rsub__ einsum divide multiply absolute subtract""".split()
)


def apart(name, x, y):
    """How two answers differ; empty where they are the same."""
    if type(x) is not type(y):
        return f"{type(x).__name__} for {type(y).__name__}"
    if isinstance(x, list):
        if len(x) != len(y):
            return f"{len(x)} results for {len(y)}"
        return next(filter(None, (apart(name, a, b) for a, b in zip(x, y))), "")
    if not isinstance(x, torch.Tensor):
        return "" if x == y or x != x and y != y else f"{x} for {y}"
    if x.dtype != y.dtype:
        return f"{x.dtype} for {y.dtype}"
    if x.shape != y.shape:
        return f"shape {list(x.shape)} for {list(y.shape)}"
    # The elements of `empty` are any.
    if name in ("empty", "empty_like") or same(x, y):
        return ""
    if (name if name.startswith("__") else name.rstrip("_")) in ROUNDED and (x.is_floating_point() or x.is_complex()):
        wide = torch.complex128 if x.is_complex() else torch.float64
        a, b = x.to(wide), y.to(wide)
        gap = torch.finfo(x.dtype).eps
        scale = b.abs()[b.isfinite()].max() if b.isfinite().any() else torch.tensor(0.0)
        if torch.allclose(a, b, rtol=16 * gap, atol=float(16 * gap * scale), equal_nan=True):
            return ""
    if x.dtype == torch.bool or not (x.is_floating_point() or x.is_complex()):
        far = (x != y).flatten()
    else:
        far = ((x != y) & ~(x.isnan() & y.isnan())).flatten()
        if not far.any():
            return "the sign of a zero"
    at = int(far.to(torch.uint8).argmax())
    return f"{x.flatten()[at].item()} for {y.flatten()[at].item()} at {at} of {x.numel()}"


def same(x, y):
    """Whether two tensors have the same bits, any NaN being like another."""
    x, y = x.contiguous(), y.contiguous()
    if x.is_complex():
        x, y = torch.view_as_real(x), torch.view_as_real(y)
    if x.is_floating_point():
        equal = (x == y) & (x.signbit() == y.signbit()) | x.isnan() & y.isnan()
        return bool(equal.all())
    return bool((x == y).all()) if x.numel() else True


def variants():
    """Every name that both have: as it is called, of an OpInfo, how PyTorch is called, and ours."""
    for op in op_db:
        for one in [op, *op.aliases]:
            name = one.name
            for prefix in ("nn.functional.", "special.", "linalg.vec"):
                if name.startswith(prefix) and name != "linalg.vector_norm":
                    name = name.rpartition(".")[2]
            if "." in name:
                continue
            if not name.startswith("__") and callable(getattr(zs, name, None)):
                yield name, "function", op, one.op, getattr(zs, name)
            method = one.method_variant
            if method is not None and hasattr(zs.Tensor, name):
                yield name, "method", op, method, getattr(zs.Tensor, name)
            in_place = getattr(one, "inplace_variant", None)
            if in_place is not None and hasattr(zs.Tensor, name + "_"):
                yield name + "_", "in place", op, in_place, getattr(zs.Tensor, name + "_")


def runs(only):
    """Each sample of each variant and dtype: where it is from, PyTorch's answer and ours, or their errors."""
    for name, kind, op, their_call, our_call in variants():
        if only and name not in only:
            continue
        for dtype in DTYPES.values():
            if dtype not in op.supported_dtypes("cpu"):
                continue
            torch.manual_seed(0)
            for sample in op.sample_inputs("cpu", dtype):
                values = (sample.input, *sample.args), sample.kwargs
                yield name, kind, dtype, values, *asked(name, their_call, our_call, values)


# Arguments that PyTorch's Python code passes to itself.
OWN = [("_stacklevel", 3), ("inplace", False), ("out", None)]


def asked(name, their_call, our_call, values):
    """PyTorch's answer and ours to one sample; an exception is an answer."""
    (args, kwargs), outer = mapped(fresh, values), Outermost()
    before = mapped(fresh, (args, kwargs))
    try:
        with outer:
            wanted = their_call(*args, **kwargs)
        wanted = plain(wanted)
    except Exception as error:
        wanted = error
    args, kwargs = before
    bare = [call for call in outer.calls if call[0] == name]
    if len(bare) == 1 and len(outer.calls) == 1 and not name.endswith("_"):
        args, kwargs = bare[0][1], {word: value for word, value in bare[0][2].items() if (word, value) not in OWN}
    try:
        answer = theirs(our_call(*mapped(ours, list(args)), **mapped(ours, kwargs)))
    except Exception as error:
        answer = error
    return wanted, answer


def difference(name, wanted, answer):
    """How an answer differs from the one that is wanted; empty where it does not."""
    if isinstance(wanted, Exception):
        return "" if isinstance(answer, Exception) else f"an answer for {type(wanted).__name__}: {wanted}"
    if isinstance(answer, Exception):
        return f"{type(answer).__name__}: {answer}"
    return apart(name, answer, wanted)


def brief(value):
    """A sample in one line."""
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype)[6:]}{list(value.shape)}"
    if isinstance(value, (list, tuple)):
        return "(" + ", ".join(brief(item) for item in value) + ")"
    if isinstance(value, dict):
        return ", ".join(f"{key}={brief(item)}" for key, item in value.items())
    return repr(value)


# What differs on purpose: names, a pattern of the difference, and the reason.
MEANT = [
    ("argsort kthvalue sort topk", r"\d+ for \d+ at", "equal elements keep their order here; PyTorch takes any of them"),
    ("norm", "wants a number as argument 'p'", "the nuclear norm needs singular values, which are not computed here"),
    ("sinc", "0.0 for .*e-0[789]", "sin(pi x) of a whole x is 0"),
    ("bfloat16 bool double float half int long to", "channels_last is not there", "results lie in row-major order"),
    ("arange", "4128.0 for 4096.0", "each float is rounded once"),
    ("complex polar", "torch.complex64 for torch.complex32", "there is no complex32"),
    ("round", "an answer for NotImplementedError", "decimals=0 says nothing, of whole numbers too"),
]


def reason(name, found):
    """Why an answer is to differ; empty where it is not."""
    rows = (why for names, pattern, why in MEANT if name in names.split() and re.search(pattern, found))
    return next(rows, "")


def main():
    counts, wrong = Counter(), 0
    for name, kind, dtype, values, wanted, answer in runs(sys.argv[1:]):
        found = difference(name, wanted, answer)
        why = reason(name, found) if found else "the same"
        counts[why] += 1
        if not why:
            wrong += 1
            sample = f"{brief(values[0])} {brief(values[1])}"
            print(f"{name}\t{kind}\t{str(dtype)[6:]}\t{sample}\t{found[:200]}".replace("\n", " "))
    for why, count in counts.most_common():
        print(f"{count:7} {why or 'WITHOUT A REASON'}", file=sys.stderr)
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
