"""PyTorch's own samples of its operations through the backend beside eager PyTorch, forward and backward.

    python crates/python/tests/torch_opinfo.py [--samples=N] [--dtypes=float32,bfloat16] [--gpu] [NAME ...]

Every operation of PyTorch's test suite is run whose graph has a node that the engine computes, with every dtype that PyTorch
gives it on the CPU. The script prints each difference, and counts at the end. With ``--gpu`` each graph runs on the emulated
GPU, too, whose results must have the CPU's bits.

Known differences, all of PyTorch's own formulas, which give the same bits as the engine: the gradient of ``native_batch_norm``
and ``_native_batch_norm_legit`` of two bfloat16 elements, which is 0 but for rounding, and ``soft_margin_loss`` of float16,
finite where eager PyTorch's exponential overflows.
"""

import argparse
import collections
import sys
import warnings

import torch
from functorch.compile import aot_function, nop
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch.utils import _pytree as pytree

import emulated_gpu
from zerostride.torch import _cost, _table
from zerostride.torch._backend import compile
from zerostride.torch._report import Report

DTYPES = (
    torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8,
    torch.bool,
)  # fmt: skip
# What eager PyTorch itself computes in another way than its formulas say, or leaves open.
SKIPPED = {
    "empty": "leaves its elements open", "empty_like": "leaves its elements open", "new_empty": "leaves its elements open",
    "empty_strided": "leaves its elements open", "new_empty_strided": "leaves its elements open",
    "empty_permuted": "leaves its elements open",
}  # fmt: skip


class Checked(Exception):
    """A difference."""


def through(function, leaves, differentiable, compiler, decompositions):
    """The results of a function of tensors, and its gradients, by a compiler of aten graphs."""
    compiled = aot_function(
        function, fw_compiler=compiler, bw_compiler=compiler, decompositions=decompositions,
        partition_fn=min_cut_rematerialization_partition,
    )  # fmt: skip
    return outcome(compiled, leaves, differentiable)


def outcome(function, leaves, differentiable):
    leaves = [leaf.detach().clone(memory_format=torch.preserve_format).requires_grad_(leaf.requires_grad) for leaf in leaves]
    torch.manual_seed(0)
    results = function(*leaves)
    if not differentiable:
        return list(results), []
    roots = [result for result in results if result.requires_grad]
    wanted = [leaf for leaf in leaves if leaf.requires_grad]
    if not roots or not wanted:
        return list(results), []
    torch.manual_seed(0)
    seeds = [torch.rand(root.shape, dtype=root.dtype) + 0.5 for root in roots]
    gradients = torch.autograd.grad(roots, wanted, seeds, allow_unused=True)
    return list(results), list(gradients)


def compare(found, wanted, exact, what):
    """Refuses results that are not eager PyTorch's: in shape, dtype, strides, or by more than rounding."""
    if len(found) != len(wanted):
        raise Checked(f"{what}: {len(found)} results, not {len(wanted)}")
    for number, (one, other) in enumerate(zip(found, wanted)):
        if one is None or other is None:
            if one is not other:
                raise Checked(f"{what} {number}: {one} beside {other}")
            continue
        one, other = one.detach(), other.detach()
        if (one.dtype, one.shape) != (other.dtype, other.shape):
            raise Checked(f"{what} {number}: {one.dtype}{list(one.shape)}, not {other.dtype}{list(other.shape)}")
        try:
            torch.testing.assert_close(one, other, equal_nan=True)
        except AssertionError as error:
            reference = exact() if exact else None
            if reference is not None and reference[number] is not None:
                truth = reference[number].detach().to(torch.float64)
                errors = [(value.to(torch.float64) - truth).abs().nan_to_num(0.0, 0.0, 0.0).max() for value in (one, other)]
                alike = torch.equal(one.isfinite(), other.isfinite()) and torch.equal(one.isnan(), other.isnan())
                if alike and errors[0] <= 2 * errors[1]:
                    continue
            raise Checked(f"{what} {number}: " + " ".join(str(error).split()[:60])) from None


def on_both(module, report, counts):
    """A graph on the CPU, whose results are compared with those on the emulated GPU."""
    here = compile(module, report)
    try:
        there = emulated_gpu.divide(module, report)
    except RuntimeError:  # PyTorch asks some operations of its own for a GPU while it traces them.
        counts["not traceable by PyTorch without a GPU"] += 1
        return here

    def both(arguments):
        values, state = list(arguments), torch.get_rng_state()
        results = here(arguments)
        torch.set_rng_state(state)
        for number, (one, other) in enumerate(zip(there(values), results, strict=True)):
            if isinstance(other, torch.Tensor) and not _is_same(one, other):
                raise Checked(f"result {number} on the GPU: {one} beside {other}"[:600])
        return results

    both._boxed_call = True
    return both


def _is_same(one, other):
    """Whether two tensors have the same bits, but for those of NaN."""
    if (one.dtype, one.shape) != (other.dtype, other.shape):
        return False
    are_equal = (one == other) & (torch.signbit(one) == torch.signbit(other)) if one.dtype.is_floating_point else one == other
    return bool((are_equal | ((one != one) & (other != other))).all())


def check(op, dtype, sample, counts, gpu):
    """Runs one sample; says whether the engine had a part in it."""
    flat, spec = pytree.tree_flatten((sample.input, sample.args, sample.kwargs))
    places = [place for place, value in enumerate(flat) if isinstance(value, torch.Tensor)]
    leaves = [flat[place] for place in places]
    if not leaves:
        return False

    def function(*leaves, wide=False):
        values = list(flat)
        for place, leaf in zip(places, leaves):
            values[place] = leaf
        if wide:
            values = [torch.float64 if value in (torch.float16, torch.bfloat16, torch.float32) else value for value in values]
        input, args, kwargs = pytree.tree_unflatten(values, spec)
        results = op(input, *args, **kwargs)
        if sample.output_process_fn_grad is not None:
            results = sample.output_process_fn_grad(results)
        return [result for result in pytree.tree_leaves(results) if isinstance(result, torch.Tensor)]

    records = []

    def compiler(module, inputs):
        records.append(Report(op.name, "samples"))
        return on_both(module, records[-1], counts) if gpu else compile(module, records[-1])

    try:
        wanted, gradients = outcome(function, leaves, True)
    except Exception:  # An operation that refuses its own sample is no business of ours.
        return False
    try:
        found, ours = through(function, leaves, True, compiler, _table.decompositions())
    except Exception as error:
        try:
            through(function, leaves, True, nop, None)
        except Exception:
            counts["not traceable by PyTorch"] += 1
            return False
        raise Checked(f"{type(error).__name__}: {str(error)[:300]}") from error
    partitions = [partition for record in records for partition in record.partitions]
    if not partitions:
        return False
    counts["nodes"] += sum(len(partition.names) for partition in partitions)
    failures = [partition.failure for partition in partitions if partition.failure is not None]
    for failure in failures:
        counts[f"left at run time: {failure.splitlines()[0][:80]}"] += 1

    def exact(part):
        if not dtype.is_floating_point:
            return None
        wide = [leaf.detach().to(torch.float64).requires_grad_(leaf.requires_grad) if leaf.is_floating_point() else leaf for leaf in leaves]
        try:
            return outcome(lambda *leaves: function(*leaves, wide=True), wide, True)[part]
        except Exception:
            return None

    try:
        compare(found, wanted, lambda: exact(0), "result")
        compare(ours, gradients, lambda: exact(1), "gradient")
    except Checked:
        # PyTorch's own graph may draw its random numbers in another order than eager PyTorch.
        wanted, gradients = through(function, leaves, True, nop, None)
        compare(found, wanted, None, "result")
        compare(ours, gradients, None, "gradient")
        counts["as PyTorch's own graph, other than eager"] += 1
    if [result.stride() for result in found] != [result.stride() for result in wanted]:
        counts["other strides than eager"] += 1
    return True


def run(names=(), dtypes=DTYPES, samples=6, gpu=False):
    """Counts, and the differences as (operation, dtype, sample, text)."""
    from torch.testing._internal.common_methods_invocations import op_db

    counts, differences, covered = collections.Counter(), [], collections.Counter()
    for op in op_db:
        if op.name in SKIPPED or (names and op.name not in names):
            continue
        for dtype in dtypes:
            if dtype not in op.dtypes:
                continue
            torch.manual_seed(0)
            try:
                differentiable = dtype.is_floating_point and dtype in op.backward_dtypes and op.supports_autograd
                given = op.sample_inputs("cpu", dtype, requires_grad=differentiable)
                given = [sample for sample, _ in zip(given, range(samples))]
            except Exception:
                counts["no samples"] += 1
                continue
            for number, sample in enumerate(given):
                try:
                    if check(op, dtype, sample, counts, gpu):
                        counts["samples"] += 1
                        covered[op.name] += 1
                    else:
                        counts["samples without a node for the engine"] += 1
                except Checked as difference:
                    counts["differences"] += 1
                    differences.append((op.full_name, str(dtype), number, str(difference)))
                    print(*differences[-1], flush=True)
    counts["operations"] = len(covered)
    return counts, differences


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    _cost.ALWAYS = True  # The samples are small, and most are of one operation.
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", type=int, default=6)
    parser.add_argument("--dtypes", default="")
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    if options.gpu and not emulated_gpu.IS_THERE:
        sys.exit("ZEROSTRIDE_CUDA does not name the emulated driver")
    chosen = [getattr(torch, name) for name in options.dtypes.split(",") if name] or DTYPES
    counts, differences = run(options.names, chosen, options.samples, options.gpu)
    for what, count in counts.most_common():
        print(f"{count:8} {what}")
    sys.exit(bool(differences))
