"""Owns fused functions of ``dask.array``: where a traced computation is cut, and which program each block computes. It does not
know how blocks are computed (``_block.py``).

The function is traced on placeholders, which know shape and dtype. What it does element by element becomes one call for each
block, whatever it stretches: the indices of a result are followed down to the operands (*labels*), as ``stream/cut.rs`` does
for files. A computation is cut at reductions over dimensions of several chunks: each block reduces what it computes, so that
nothing of the stretched shape is stored, and a tree combines the blocks' results. Reductions over one chunk stay in the block.
"""

import functools
import math
import pickle
import warnings

import dask
import dask.array as da
import numpy as np
from dask.array.core import PerformanceWarning
from dask.base import tokenize
from dask.utils import format_bytes, parse_bytes

from . import _block
from . import _zerostride as zs

# How the indices of a dimension follow from those of a label: its number, or `None`, the first one, the step.
_FIXED = (None, 0, 0)


def call(function, positional, named):
    """Calls a fused function on arrays, of which some are of dask's."""
    arrays = {}

    def placeholder(argument):
        if not isinstance(argument, da.Array):
            return argument
        tensor = _placeholder(argument)
        arrays[tensor.data_ptr()] = argument
        return tensor

    def model(argument):
        return argument._meta if isinstance(argument, da.Array) else argument

    models = tuple(map(model, positional)), {name: model(argument) for name, argument in named.items()}
    positional = tuple(map(placeholder, positional))
    named = {name: placeholder(argument) for name, argument in named.items()}

    def results(exprs, given):
        lowering = Lowering(arrays, exprs)
        made = [lowering.array(expr) for expr in exprs]
        return made, [arrays.get(array.data_ptr(), array) if isinstance(array, zs.Tensor) else array for array in given]

    return function._traced(results, positional, named, models)


def _placeholder(array):
    """A tensor of one element that has an array's shape and dtype."""
    if any(map(math.isnan, array.shape)):
        raise ValueError("the sizes of an array's chunks are unknown: call its compute_chunk_sizes() first")
    name = array.dtype.name
    if not isinstance(getattr(zs, name, None), zs.dtype):
        raise TypeError(f"a dask array of dtype {name} has no counterpart here: convert it with astype()")
    return zs.zeros((1,) * array.ndim, dtype=name).expand(array.shape)


class Lowering:
    """The arrays that the nodes of one traced computation are, each made once. A node is known by its identity, as long as
    the computation lives."""

    def __init__(self, arrays, exprs):
        self.arrays = {address: _without_empty_chunks(array) for address, array in arrays.items()}
        self.is_own = any(isinstance(array._meta, zs.Tensor) for array in arrays.values())
        self.made, self.inline = {}, {}
        self.below_reductions = _below_reductions(exprs)

    def array(self, expr):
        """A node's value."""
        piece = Piece(self, expr.shape)
        return piece.mapped(piece.value(expr, _whole(expr.shape)), expr)

    def leaf(self, expr):
        """A node's value as an array whose parts are operands of programs."""
        identity, (word, *arguments) = zs._step(expr)
        if identity not in self.made:
            self.made[identity] = getattr(self, "_" + word)(expr, *arguments)
        return self.made[identity]

    def is_inline(self, expr):
        """Whether a reduction is computed inside of a block: what it reduces has one chunk, or may as well have one, where
        another reduction takes its values, which then are nowhere stored."""
        identity, _ = zs._step(expr)
        if identity not in self.inline:
            piece = Piece(self, expr.shape)
            reduced = piece.reduced(expr)[1]
            cut = [leaf for leaf in piece.leaves if any(leaf.blocks(label) > 1 for label in reduced)]
            is_stretched = not any(piece.spread <= set(leaf.labels) for leaf in piece.leaves)
            fits = is_stretched and all(leaf.bytes_whole(reduced) <= _most_bytes() for leaf in cut)
            self.inline[identity] = not cut or (fits and identity in self.below_reductions)
        return self.inline[identity]

    def from_memory(self, tensor):
        if tensor.nbytes > _most_bytes():
            warnings.warn(
                f"an array of {format_bytes(tensor.nbytes)} in memory becomes part of the graph, and goes to every worker: "
                "make it a dask array, as da.from_array does",
                PerformanceWarning,
                stacklevel=3,
            )
        array = tensor if self.is_own else tensor.numpy()
        return da.from_array(array, chunks=-1, meta=self.meta(tensor.ndim, tensor.dtype))

    def meta(self, ndim, dtype):
        shape = (0,) * ndim
        return zs.zeros(shape, dtype=dtype) if self.is_own else np.empty(shape, dtype.name)

    # What is an array of its own, by the words of steps.

    def _tensor(self, expr, tensor):
        found = self.arrays.get(tensor.data_ptr())
        return self.from_memory(tensor) if found is None else found

    def _reduce(self, expr, operand, op, dims, keepdim, correction):
        return Piece(self, expr.shape).folded(expr, op, correction)

    def _matmul(self, expr, factors):
        return Piece(self, expr.shape).folded(expr, "sum", 0.0)

    def _reshape(self, expr, operand):
        return self.array(operand).reshape(expr.shape)

    def _diagonal(self, expr, operand, offset, dim1, dim2):
        return da.diagonal(self.array(operand), offset, dim1, dim2)

    def _unfold(self, expr, operand, dim, size, step):
        array = self.array(operand)
        windows = da.lib.stride_tricks.sliding_window_view(array, size, axis=dim)
        return windows[(slice(None),) * (dim % array.ndim) + (slice(None, None, step),)]


class _Missing(Exception):
    """A value has to be made before the one that is made of it."""


class Piece:
    """The program of a block of some value, whose dimensions are the first labels; reduced dimensions are further ones."""

    def __init__(self, lowering, sizes):
        self.lowering, self.sizes, self.ndim = lowering, list(sizes), len(sizes)
        self.leaves, self.instructions = [], []
        self.known, self.labels = {}, {}

    @property
    def spread(self):
        """The labels along which values differ."""
        return {label for leaf in self.leaves for label in leaf.labels if self.sizes[label] != 1}

    def value(self, root, view):
        """The number of the instruction that makes a node's value; operands come first, without recursion."""
        pending = [(root, view)]
        while True:
            expr, view = pending[-1]
            try:
                number = self._make(expr, view)
            except _Missing as missing:
                pending.append(missing.args)
                continue
            self.known[zs._step(expr)[0], view] = number
            pending.pop()
            if not pending:
                return number

    def _made(self, expr, view):
        key = zs._step(expr)[0], view
        if key not in self.known:
            raise _Missing(expr, view)
        return self.known[key]

    def _add(self, *instruction):
        self.instructions.append(instruction)
        return len(self.instructions) - 1

    def _make(self, expr, view):
        _, (word, *arguments) = zs._step(expr)
        match word, arguments:
            case "number", [number]:
                return self._add("number", number)
            case "map", [operands, op, compute]:
                made = [self._made(operand, _aligned(operand.shape, view)) for operand in operands]
                return self._add("map", made, op, compute.name, expr.dtype.name)
            case "cast", [operand]:
                return self._add("cast", self._made(operand, view), expr.dtype.name)
            case "select", [operand, starts, dims]:
                return self._made(operand, _selected(starts, dims, view))
            case ("reduce" | "matmul"), _ if self.lowering.is_inline(expr):
                parts, labels = self._parts(expr, view)
                return self._reduction(expr, view, [self._made(*part) for part in parts], labels)
            case _:
                return self._operand(self.lowering.leaf(expr), view)

    def reduced(self, expr):
        """The values that the reduction or product reduces whose results the program gives, and the labels over which it does,
        which no other reduction has: they may have several chunks."""
        parts, labels = self._parts(expr, _whole(expr.shape), is_root=True)
        return [self.value(*part) for part in parts], labels

    def _parts(self, expr, view, is_root=False):
        """The operands of a reduction or product, as they are seen, and the labels of what is reduced."""
        _, (word, *arguments) = zs._step(expr)
        if word == "reduce":
            operand, _, dims, keepdim, _ = arguments
            kept = iter([index for dim, index in enumerate(view) if not (keepdim and dim in dims)])
            seen = tuple(None if dim in dims else next(kept) for dim in range(operand.ndim))
            # A reduction over no dimension is one over a dimension of size 1.
            labels = self._labels(is_root, seen, tuple(operand.shape[dim] for dim in dims) or (1,))
            inner = iter(labels)
            return [(operand, tuple(index or (next(inner), 0, 1) for index in seen))], labels
        rows, columns, batch = self._of_product(arguments[0], view)
        labels = self._labels(is_root, (rows, columns, batch), arguments[0][0].shape[-1:])
        inner = ((labels[0], 0, 1),)
        parts = []
        for factor, last in zip(arguments[0], (rows + inner, inner + columns), strict=True):
            parts.append((factor, _aligned(factor.shape[: factor.ndim - len(last)], batch) + last))
        return parts, labels

    def _labels(self, is_root, seen, sizes):
        """Labels of reduced dimensions: the same for all that reduces such dimensions of what is otherwise seen so, so that what
        they have in common is computed once."""
        key = is_root, seen, sizes
        if key not in self.labels:
            self.labels[key] = tuple(range(len(self.sizes), len(self.sizes) + len(sizes)))
            self.sizes += sizes
        return self.labels[key]

    def _of_product(self, factors, view):
        """The rows, columns and batch dimensions of a product, as they are seen; a vector has no rows, or no columns."""
        a, b = factors
        columns = view[-1:] if b.ndim > 1 else ()
        rest = view[: len(view) - len(columns)]
        rows = rest[-1:] if a.ndim > 1 else ()
        return rows, columns, rest[: len(rest) - len(rows)]

    def _reduction(self, expr, view, made, labels):
        """The instruction of a reduction or product inside of a block."""
        _, (word, *arguments) = zs._step(expr)
        if word == "matmul":
            rows, columns, _ = self._of_product(arguments[0], view)
            return self._add("matmul", *made, *(seen[0][0] if seen else None for seen in (rows, columns)), labels[0])
        _, op, _, _, correction = arguments
        return self._add("reduce", *made, op, {label: self.sizes[label] for label in labels}, correction)

    def _operand(self, array, view):
        """Part of an array as an operand."""
        index, labels = [], []
        for size, (label, start, step) in zip(array.shape, view, strict=True):
            if label is None:
                index.append(start)
                continue
            stop = start + step * self.sizes[label]
            whole = (start, step, stop) == (0, 1, size)
            index.append(slice(None) if whole else slice(start, stop if stop >= 0 else None, step))
            labels.append(label)
        # Of no elements, none is taken.
        index = [slice(0, 0) if label is not None and not self.sizes[label] else part for part, (label, *_) in zip(index, view, strict=True)]
        part = array if all(one == slice(None) for one in index) else array[tuple(index)]
        found = next((leaf for leaf in self.leaves if (leaf.array.name, leaf.labels) == (part.name, tuple(labels))), None)
        if found is None:
            found = Leaf(part, tuple(labels), self._add("operand", len(self.leaves), tuple(labels)))
            self.leaves.append(found)
        return found.number

    # Arrays.

    def mapped(self, number, expr):
        """The value of an instruction, block by block."""
        result, absent = self._blocks([number], expr.dtype, ())
        if absent:
            # Nothing is stored of what is only stretched.
            result = result[tuple(None if label in absent else slice(None) for label in range(self.ndim))]
            result = result if result.shape == expr.shape else da.broadcast_to(result, expr.shape)
        return result

    def folded(self, expr, op, correction):
        """A reduction or product of what several blocks compute."""
        made, labels = self.reduced(expr)
        dtype, carried = expr.dtype, {label for leaf in self.leaves for label in leaf.labels}
        # Values are stretched along what no operand has.
        over = {label: None if label in carried else self.sizes[label] for label in labels}
        if len(made) > 1:
            exact = [self._wide(number, factor.dtype) for number, factor in zip(made, zs._step(expr)[1][1], strict=True)]
            results = [self._reduction(expr, _whole(expr.shape), exact, labels)]
        else:
            results = self._partial(*made, zs._step(expr)[1][1].dtype, op, over)
        folded = [label for label in labels if any(leaf.blocks(label) > 1 for leaf in self.leaves)]
        blocks, absent = self._blocks(results, dtype, folded)
        ndim = self.ndim - len(absent)
        options = {"op": op, "correction": correction, "dtype": dtype.name, "is_own": self.lowering.is_own}
        result = da.reduction(
            blocks, _block.same, functools.partial(_block.finished, **options), axis=tuple(range(ndim, blocks.ndim)),
            dtype=blocks.dtype, combine=functools.partial(_block.combined, op=op), concatenate=False, name="zerostride-" + op,
            meta=self.lowering.meta(ndim, dtype),
        )  # fmt: skip
        result = result[tuple(None if label in absent else slice(None) for label in range(self.ndim))] if absent else result
        return result if result.shape == expr.shape else da.broadcast_to(result, expr.shape)

    def _wide(self, number, dtype):
        """Half precision as f32: what is added up is rounded once, at the end."""
        return self._add("cast", number, "float32") if dtype in (zs.float16, zs.bfloat16) else number

    def _partial(self, number, dtype, op, over):
        """What a block contributes to a reduction, as instructions."""
        if op == "var":
            number = self._add("cast", number, "complex128" if dtype.is_complex else "float64")
            mean = self._add("mean", number, over)
            return [self._add("count", number, over), mean, self._add("spread", number, mean, over)]
        if op in ("argmax", "argmin"):
            number = self._wide(number, dtype)
            best = self._add("reduce", number, "amax" if op == "argmax" else "amin", over, 0.0)
            return [best, self._add("first", number, best, self._index(over), over)]
        if op in ("sum", "prod"):
            number = self._wide(number, dtype)
        return [self._add("reduce", number, op, over, 0.0)]

    def _index(self, over):
        """The number of each element along labels, in row-major order."""
        numbers, strides, stride = [], [], 1
        for label in reversed(over):
            carrier = next((leaf for leaf in self.leaves if label in leaf.labels), None)
            if carrier is not None:
                chunks = carrier.array.chunks[carrier.labels.index(label)]
                along = da.arange(self.sizes[label], chunks=(chunks,), dtype="i8")
                numbers.append(self._operand(along.map_blocks(zs.asarray) if self.lowering.is_own else along, ((label, 0, 1),)))
                strides.append(stride)
            stride *= self.sizes[label]
        return self._add("index", numbers, strides)

    def _blocks(self, results, dtype, folded):
        """What the program gives for each block of the first labels and of those that are folded, with size 1 along the latter;
        and which of the first labels no operand has, which are left out."""
        carried = {label for leaf in self.leaves for label in leaf.labels}
        absent = [label for label in range(self.ndim) if label not in carried]
        shown = [label for label in range(self.ndim) if label in carried] + list(folded)
        inner = carried - set(shown)
        smaller = {} if folded else self._smaller_chunks(shown, dtype)
        operands = []
        for leaf in self.leaves:
            chunks = {dim: -1 if label in inner else smaller[label] for dim, label in enumerate(leaf.labels) if label in inner or label in smaller}
            operands += [leaf.array.rechunk(chunks) if chunks else leaf.array, leaf.labels]
        dropped = frozenset(range(len(self.sizes))) - set(shown)
        program = pickle.dumps((len(self.sizes), self.instructions, results, dropped, self.lowering.is_own))
        meta = self.lowering.meta(len(shown), dtype)
        if not operands:
            result = _block.run(program)
            return da.from_array(result, meta=meta), absent
        name = f"zerostride-{tokenize(program, [part.name if isinstance(part, da.Array) else part for part in operands], shown)}"
        adjusted = dict.fromkeys(folded, 1)
        return da.blockwise(functools.partial(_block.run, program), shown, *operands, name=name, meta=meta, adjust_chunks=adjusted), absent

    def _smaller_chunks(self, labels, dtype):
        """Sizes of chunks along labels for which a block of the result fits, where a stretched one would not."""
        largest = {label: min(max(leaf.chunks(label)) for leaf in self.leaves if label in leaf.labels) for label in labels}
        most = max([_most_bytes(), *(leaf.bytes_whole(()) for leaf in self.leaves)]) // dtype.itemsize
        smaller = {}
        while math.prod(largest.values()) > max(most, 1):
            label = max(largest, key=largest.__getitem__)
            smaller[label] = largest[label] = -(-largest[label] // 2)
        return smaller


class Leaf:
    """An operand of a program: an array, the labels of its dimensions, and the instruction that reads it."""

    def __init__(self, array, labels, number):
        self.array, self.labels, self.number = array, labels, number

    def chunks(self, label):
        return self.array.chunks[self.labels.index(label)]

    def blocks(self, label):
        return len(self.chunks(label)) if label in self.labels else 1

    def bytes_whole(self, labels):
        """The bytes of its largest block, were there one along labels."""
        sizes = (sum(chunks) if label in labels else max(chunks) for label, chunks in zip(self.labels, self.array.chunks, strict=True))
        return math.prod(sizes) * self.array.dtype.itemsize


def _below_reductions(exprs):
    """The nodes that a reduction or product depends on."""
    below, seen = set(), set()
    pending = [(expr, False) for expr in exprs]
    while pending:
        expr, is_below = pending.pop()
        identity, (word, *arguments) = zs._step(expr)
        if (identity, is_below) in seen:
            continue
        seen.add((identity, is_below))
        if is_below:
            below.add(identity)
        if word not in ("tensor", "number"):
            operands = arguments[0] if isinstance(arguments[0], list) else arguments[:1]
            pending += [(operand, is_below or word in ("reduce", "matmul")) for operand in operands]
    return below


def _most_bytes():
    return parse_bytes(dask.config.get("array.chunk-size"))


def _without_empty_chunks(array):
    """The array in chunks of which none is empty, unless it has no others: an extreme of no elements has no value."""
    chunks = tuple(tuple(filter(None, sizes)) or (0,) for sizes in array.chunks)
    return array if chunks == array.chunks else array.rechunk(chunks)


# Views: for each dimension of a value, the label that its indices follow, the first index and the step; or
# no label, and the one index.


def _whole(shape):
    return tuple((label, 0, 1) for label in range(len(shape)))


def _aligned(shape, view):
    """The view of an operand that is stretched to what is seen."""
    seen = view[len(view) - len(shape) :]
    return tuple(_FIXED if size == 1 else one for size, one in zip(shape, seen, strict=True))


def _selected(starts, dims, view):
    """The view of an operand of which some elements are seen."""
    found = [(None, start, 0) for start in starts]
    for of, (label, start, step) in zip(dims, view, strict=True):
        if of is not None:
            dim, stride = of
            found[dim] = (label, starts[dim] + stride * start, stride * step)
    return tuple(found)
