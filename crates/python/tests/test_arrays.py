"""Every kind of array in every way in: the right values, or an error that says what it was and what to write instead."""

import array
import ctypes
import mmap

import numpy as np
import pytest
import zerostride as zs


def records(dtype):
    """Three numbers as one field of packed records: apart by what is no multiple of their size."""
    table = np.zeros(3, [("name", "i1"), ("number", dtype)])
    table["number"] = [1, 2, 3]
    return table["number"]


def unaligned(dtype):
    raw = bytearray(b"\0" + np.array([1, 2, 3], dtype).tobytes())
    return np.frombuffer(raw, dtype, offset=1)


def readonly(numbers):
    numbers.flags.writeable = False
    return numbers


def mapped():
    memory = mmap.mmap(-1, 3)
    memory[:] = b"\1\2\3"
    return memory


class Subclass(np.ndarray):
    pass


class ByArray:
    """An array of another library's that NumPy asks for its elements."""

    def __init__(self):
        self.numbers = np.array([1.0, 2.0, 3.0])

    def __array__(self, dtype=None, copy=None):
        return self.numbers


class ByInterface(ByArray):
    @property
    def __array_interface__(self):
        return self.numbers.__array_interface__


class Lazy:
    """torch's views that negate or conjugate elements when they are read, of which its DLPack does not tell."""

    def __init__(self, numbers, negative=False, conjugate=False):
        self.numbers, self.negative, self.conjugate = numbers, negative, conjugate

    def is_neg(self):
        return self.negative

    def is_conj(self):
        return self.conjugate

    def resolve_neg(self):
        return Lazy(-self.numbers, False, self.conjugate)

    def resolve_conj(self):
        return Lazy(self.numbers.conj(), self.negative, False)

    def __dlpack__(self, **keywords):
        if self.conjugate:
            raise BufferError("Can't export tensors with the conjugate bit set")
        return self.numbers.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return (1, 0)


class Refusing(Lazy):
    """torch's tensors that cannot be exported, and say so by attributes."""

    def __init__(self, message, error=BufferError, **attributes):
        super().__init__(np.ones(3))
        self.message, self.error = message, error
        vars(self).update(attributes)

    def __dlpack__(self, **keywords):
        raise self.error(self.message)


# Arrays of 1, 2, 3: whether a tensor can be on their memory, and be written.
SHARED, READ, COPIED = "shared", "read-only", "copied"
KINDS = {
    "float32": (lambda: np.array([1, 2, 3], "f4"), SHARED),
    "int16": (lambda: np.array([1, 2, 3], "i2"), SHARED),
    "uint64": (lambda: np.array([1, 2, 3], "u8"), SHARED),
    "complex128": (lambda: np.array([1, 2, 3], "c16"), SHARED),
    "reversed": (lambda: np.array([3.0, 2, 1])[::-1], SHARED),
    "strided": (lambda: np.array([1.0, 0, 2, 0, 3, 0])[::2], SHARED),
    "read-only": (lambda: readonly(np.array([1.0, 2, 3])), READ),
    "subclass": (lambda: np.array([1.0, 2, 3]).view(Subclass), SHARED),
    "big-endian": (lambda: np.array([1, 2, 3], ">f4"), COPIED),
    "big-endian integers": (lambda: np.array([1, 2, 3], ">i8"), COPIED),
    "unaligned": (lambda: unaligned("f8"), COPIED),
    "packed field": (lambda: records("f8"), COPIED),
    "big-endian packed field": (lambda: records(">c8"), COPIED),
    "array.array": (lambda: array.array("d", [1, 2, 3]), SHARED),
    "bytearray": (lambda: bytearray([1, 2, 3]), SHARED),
    "memoryview": (lambda: memoryview(array.array("h", [3, 2, 1]))[::-1], SHARED),
    "memoryview of bytes": (lambda: memoryview(b"\1\2\3"), READ),
    "ctypes": (lambda: (ctypes.c_int32 * 3)(1, 2, 3), SHARED),
    "ctypes big-endian": (lambda: (ctypes.c_int32.__ctype_be__ * 3)(1, 2, 3), COPIED),
    "mmap": (mapped, SHARED),
    "__array__": (ByArray, COPIED),
    "__array_interface__": (ByInterface, SHARED),
    "DLPack": (lambda: Lazy(np.array([1.0, 2, 3])), SHARED),
    "negated view": (lambda: Lazy(np.array([-1.0, -2, -3]), negative=True), COPIED),
    "conjugated view": (lambda: Lazy(np.array([1, 2, 3], "c8"), conjugate=True), COPIED),
    "negated and conjugated view": (lambda: Lazy(np.array([-1, -2, -3], "c8"), True, True), COPIED),
}
# What is no array that can be read: the words of the error.
REFUSED = {
    "object": (lambda: np.array([1, None], object), "object.*write x.astype"),
    "strings": (lambda: np.array(["a"]), "<U1.*write x.astype"),
    "bytes": (lambda: np.array([b"a"]), "S1.*write x.astype"),
    "dates": (lambda: np.array(["2020-01-01"], "M8[D]"), r"datetime64\[D\].*write x.view\('int64'\)"),
    "a date": (lambda: np.datetime64("2020-01-01"), r"datetime64\[D\].*write x.view\('int64'\)"),
    "durations": (lambda: np.array([1], "m8[s]"), r"timedelta64\[s\].*write x.view\('int64'\)"),
    "records": (lambda: np.zeros(2, [("a", "i4")]), r"'a'.*write x\['name'\]"),
    "raw bytes": (lambda: np.zeros(2, "V3"), r"V3.*write x.view\('uint8'\)"),
    "masked": (lambda: np.ma.array([1.0, 2], mask=[0, 1]), r"mask.*write x.filled\(0\)"),
    "masked everywhere": (lambda: np.ma.masked, r"mask.*write x.filled\(0\)"),
    "a class": (lambda: np.ndarray, "type"),
    "characters": (lambda: memoryview(b"abc").cast("c"), "buffer format 'c'"),
    "released": (lambda: released(), "released"),
    "with gradients": (lambda: Refusing("use tensor.detach()"), r"tensor.detach\(\)"),
    "meta": (lambda: Refusing("Unknown device type", ValueError, is_meta=True), "Unknown device.*no elements"),
    "sparse": (lambda: Refusing("layout", layout="torch.sparse_coo"), r"layout: write x.to_dense\(\)"),
    "quantised": (lambda: Refusing("QInt", is_quantized=True), r"QInt: write x.dequantize\(\)"),
    "nested": (lambda: Refusing("sizes", RuntimeError, is_nested=True), "sizes: write x.to_padded_tensor"),
}
if np.dtype(np.longdouble).itemsize > 8:
    REFUSED["long double"] = (lambda: np.zeros(2, np.longdouble), r"write x.astype\('float64'\)")
    REFUSED["complex long double"] = (lambda: np.zeros(2, np.clongdouble), r"write x.astype\('complex128'\)")


def released():
    view = memoryview(bytearray(3))
    view.release()
    return view


# What reads an array of 1, 2, 3, each with 1, 2, 3 as its answer.
WAYS = {
    "asarray": zs.asarray,
    "as_tensor": zs.as_tensor,
    "tensor": zs.tensor,
    "copy": lambda given: zs.asarray(given, copy=True),
    "left operand": lambda given: zs.mul(given, 1),
    "right operand": lambda given: zs.zeros(3, dtype=zs.uint8) + given,
    "reflected": lambda given: zs.add(0, given),
    "general": lambda given: zs.where(zs.ones(3).bool(), given, 0),
    "fuse": lambda given: zs.asarray(zs.fuse(lambda x: x * 1)(given)),
    "evaluate": lambda given: zs.asarray(zs.evaluate("x * 1", x=given)),
    "cat": lambda given: zs.cat([given, given])[3:],
    "stack": lambda given: zs.stack([given, given])[1],
    "copy_": lambda given: zs.zeros(3, dtype=zs.complex128).copy_(given),
    "clone": zs.clone,
}


def numbers(tensor):
    return [complex(number) for number in tensor.tolist()]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_read_in_every_way(kind, way):
    assert numbers(WAYS[way](KINDS[kind][0]())) == [1, 2, 3]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_assigned_and_is_an_index(kind):
    given = KINDS[kind][0]()
    target = zs.zeros(2, 3, dtype=zs.complex64)
    target[1] = given
    assert numbers(target[1]) == [1, 2, 3]
    tensor = zs.asarray(given)
    if not (tensor.is_floating_point() or tensor.is_complex()):
        assert zs.arange(5)[given].tolist() == [1, 2, 3]


@pytest.mark.parametrize("kind", KINDS)
def test_every_promise_not_to_copy_is_kept_or_refused(kind):
    make, how = KINDS[kind]
    for way in (lambda given: zs.asarray(given, copy=False), zs.from_numpy):
        given = make()
        if how == COPIED:
            with pytest.raises(ValueError, match="Unable to avoid copy|given numpy array"):
                way(given)
            continue
        tensor = way(given)
        assert tensor.writable == (how == SHARED)
        if how == SHARED:
            tensor.fill_(7)
            assert numbers(zs.asarray(given)) == [7, 7, 7]


OUT = {
    "add": lambda out: zs.add(zs.tensor([7, 7, 7], dtype=zs.uint8), 0, out=out),
    "sum": lambda out: zs.amax(zs.tensor([[7, 7, 7]], dtype=zs.uint8), 0, out=out),
    "np.add": lambda out: np.add(zs.tensor([7, 7, 7], dtype=zs.uint8), 0, out=out),
    "evaluate": lambda out: zs.evaluate("x + 0", x=zs.tensor([7, 7, 7], dtype=zs.uint8), out=out),
    "a constant": lambda out: zs.evaluate("7", out=out),
    "a function": lambda out: zs.evaluate(lambda x: x, x=zs.tensor([7, 7, 7], dtype=zs.uint8), out=out),
}


@pytest.mark.parametrize("way", OUT)
@pytest.mark.parametrize("kind", KINDS)
def test_a_result_is_in_the_array_that_it_was_asked_for_in(kind, way):
    make, how = KINDS[kind]
    out = make()
    if way == "np.add" and not isinstance(out, np.ndarray):
        pytest.skip("NumPy itself takes no other arrays as out")
    # NumPy writes to its own arrays, however they lie.
    if how == SHARED or (how == COPIED and way == "np.add"):
        assert OUT[way](out) is out
        assert numbers(zs.asarray(out)) == [7, 7, 7]
        return
    with pytest.raises(ValueError, match="read-only" if how == READ else "out cannot be written in place: the .* copy the result"):
        OUT[way](out)
    assert numbers(zs.asarray(out)) == [1, 2, 3]


def test_out_is_an_array():
    for way in ("add", "sum", "evaluate", "a constant"):
        for out in ([0, 0, 0], (0, 0, 0), 5, object()):
            with pytest.raises(TypeError, match="out must be a tensor or an array"):
                OUT[way](out)
        with pytest.raises(ValueError, match="is a number"):
            OUT[way](np.float32(1))


def test_evaluate_casts_as_out_casts_elsewhere():
    floats, whole = zs.tensor([1.5, 2.5]), zs.tensor([1, 2])
    answers = [
        ("x", floats, "i4", "result type Float can't be cast to the desired output type Int"),
        ("x + 1j", floats, "f4", "result type ComplexFloat can't be cast to the desired output type Float"),
        ("x", whole, "?", "result type Long can't be cast to the desired output type Bool"),
        ("1.5", whole, "i8", "result type Float can't be cast"),
        ("x > 1", whole, "?", [False, True]),
        ("True", whole, "?", [True, True]),
        ("x > 1", whole, "f4", [0, 1]),
        ("x", floats, "f2", [1.5, 2.5]),
        ("x", whole, "c8", [1, 2]),
        ("2.5", whole, "f4", [2.5, 2.5]),
    ]
    for formula, x, dtype, answer in answers:
        for make in (np.zeros, lambda size, dtype: zs.asarray(np.zeros(size, dtype))):
            out = make(2, dtype)
            if isinstance(answer, str):
                with pytest.raises(RuntimeError, match=answer):
                    zs.evaluate(formula, x=x, out=out)
                assert out.tolist() == [0, 0]
            else:
                assert zs.evaluate(formula, x=x, out=out) is out
                assert out.tolist() == answer
    with pytest.raises(RuntimeError, match="output with shape .3. doesn.t match the broadcast shape .2."):
        zs.evaluate("x", x=floats, out=np.zeros(3))


@pytest.mark.parametrize("kind", REFUSED)
def test_what_cannot_be_read_is_called_by_its_name(kind):
    make, words = REFUSED[kind]
    for way in ("asarray", "tensor", "left operand", "right operand", "cat", "copy_"):
        with pytest.raises((TypeError, BufferError, ValueError, RuntimeError), match=words):
            WAYS[way](make())


def test_numbers_of_numpy_are_numbers_or_tensors_of_their_dtype():
    for number in (np.float64(2), np.float32(2), np.float16(2), np.int8(2), np.uint64(2), np.complex64(2), np.array(2), np.array(2, ">i4")):
        assert complex(zs.asarray(number).item()) == complex((zs.ones(1) * number).item()) == complex(zs.add(number, 0).item()) == 2
    assert zs.asarray(np.bool_(True)).item() is True
    assert zs.tensor([np.float32(1), np.int16(2)]).tolist() == [1, 2]


@pytest.mark.parametrize("shape", [(0,), (2, 0), (0, 3)])
def test_arrays_without_elements(shape):
    made = [np.zeros(shape, dtype) for dtype in ("f4", "i8", "c16", "?", ">f8")]
    made += [np.zeros((4, 4))[4:, :3].reshape(shape), Lazy(np.zeros(shape))]
    for given in made:
        for way in (zs.asarray, zs.tensor, zs.clone, lambda given: zs.add(given, given), lambda given: zs.asarray(zs.evaluate("x + x", x=given))):
            assert way(given).shape == shape
        assert np.asarray(zs.asarray(given)).shape == shape


def test_kinds_of_ml_dtypes():
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
    brain = np.array([1, 2, 3], ml_dtypes.bfloat16)
    for given in (brain, brain[::-1][::-1], records(ml_dtypes.bfloat16), unaligned(ml_dtypes.bfloat16)):
        assert (zs.asarray(given).dtype, zs.asarray(given).tolist()) == (zs.bfloat16, [1, 2, 3])
    zs.add(zs.tensor([7.0, 7, 7]), 0, out=brain)
    assert brain.tolist() == [7, 7, 7]
    with pytest.raises(ValueError, match="out cannot be written in place"):
        zs.add(zs.ones(3), 0, out=records(ml_dtypes.bfloat16))
    assert zs.asarray(ml_dtypes.bfloat16(1.5)).item() == 1.5
    for dtype, instead in (("float8_e5m2", "float64"), ("float8_e4m3fn", "float64"), ("int4", "int8")):
        with pytest.raises(TypeError, match=rf"{dtype}.*write x.astype\('{instead}'\)"):
            zs.asarray(np.array([1, 2], getattr(ml_dtypes, dtype)))


def torch_kinds(torch):
    x = torch.tensor([1.0, 2, 3])
    imaginary = torch.tensor([1j, 2j, 3j])
    return {
        "plain": (x.clone(), SHARED),
        "expanded": (torch.tensor([[1.0], [2], [3]]).expand(3, 2)[:, 1], SHARED),
        "transposed": (torch.tensor([[1.0, 9], [2, 9], [3, 9]]).T[0], SHARED),
        "bfloat16": (x.bfloat16(), SHARED),
        "detached parameter": (torch.nn.Parameter(x.clone()).detach(), SHARED),
        "negated": (imaginary.conj().imag.neg(), SHARED),
        "negative bit": (torch.tensor([-1j, -2j, -3j]).conj().imag, COPIED),
        "conjugate bit": (torch.tensor([1 + 0j, 2, 3]).conj(), COPIED),
        "both bits": (torch._neg_view(torch.tensor([-1 + 0j, -2, -3]).conj()), COPIED),
    }


@pytest.mark.filterwarnings("ignore::UserWarning")  # torch's own, of what is new or old in it
def test_torch_says_what_the_stand_ins_say(torch):
    for kind, (given, how) in torch_kinds(torch).items():
        for way in WAYS.values():
            assert numbers(zs.asarray(way(given))) == [1, 2, 3], kind
        if how == COPIED:
            for refused in (lambda given: zs.asarray(given, copy=False), lambda given: zs.from_dlpack(given, copy=False), OUT["add"]):
                with pytest.raises((ValueError, BufferError), match="negates or conjugates"):
                    refused(given)
        else:
            assert OUT["evaluate"](given) is given
            assert numbers(zs.asarray(given)) == [7, 7, 7]
    x = torch.ones(3)
    refused = {
        r"tensor.detach\(\)": [torch.ones(3, requires_grad=True), torch.nn.Parameter(x)],
        "no elements": [torch.ones(3, device="meta")],
        r"x.to_dense\(\)": [x.to_sparse(), torch.eye(3).to_sparse_csr()],
        r"x.dequantize\(\)": [torch.quantize_per_tensor(x, 1.0, 0, torch.qint8)],
        r"x.to\(torch.complex64\)": [torch.ones(3, dtype=torch.complex32)],
        r"x.to\(torch.float32\)": [x.to(torch.float8_e4m3fn), x.to(torch.float8_e5m2)],
        "x.to_padded_tensor": [torch.nested.nested_tensor([x, x[:2]])],
    }
    for words, arrays in refused.items():
        for given in arrays:
            with pytest.raises((TypeError, BufferError, ValueError, RuntimeError), match=words):
                zs.asarray(given)
    for shape in ((0,), (2, 0)):
        for dtype in (torch.float32, torch.int64, torch.complex128, torch.bool, torch.bfloat16):
            empty = torch.empty(shape, dtype=dtype)
            assert zs.asarray(empty).shape == zs.add(empty, empty).shape == zs.fuse(lambda x: x + x)(empty).shape == shape
            assert torch.from_dlpack(zs.asarray(empty)).shape == shape


def test_kinds_of_jax():
    jnp = pytest.importorskip("jax", reason="jax is not installed").numpy
    given = jnp.array([1.0, 2, 3])
    for way in WAYS.values():
        assert numbers(zs.asarray(way(given))) == [1, 2, 3]
    assert zs.asarray(jnp.zeros((0, 2))).shape == (0, 2)
    with pytest.raises(ValueError, match="read-only"):
        OUT["add"](given)
    with pytest.raises(TypeError, match=r"float8_e5m2.*write x.astype"):
        zs.asarray(given.astype(jnp.float8_e5m2))


NAN = float("nan")


@pytest.mark.parametrize(
    ("elements", "among", "expected"),
    [
        (zs.tensor([[1, 2], [3, 4]]), zs.tensor([2, 3]), [[False, True], [True, False]]),
        (zs.tensor([1.0, NAN]), zs.tensor([NAN]), [False, False]),
        (zs.tensor([1, 2, 3]), 2, [False, True, False]),
        (2, zs.tensor([1, 2]), True),
        (zs.tensor([1, 2]), zs.tensor([1.5, 2.0]), [False, True]),
        (zs.tensor([True]), np.array([1]), [True]),
        (zs.tensor([[1, 2]]), zs.tensor([]), [[False, False]]),
        (zs.tensor([1.0, 2.0], dtype=zs.bfloat16), zs.tensor([2.0], dtype=zs.bfloat16), [False, True]),
        (zs.tensor([1j]), [1j, 2], [True]),
    ],
)
def test_isin_is_torchs(elements, among, expected):
    found = zs.isin(elements, among)
    assert (found.tolist(), found.dtype) == (expected, zs.bool)
    assert zs.isin(elements, among, invert=True).tolist() == np.logical_not(expected).tolist()
    out = zs.zeros(found.shape, dtype=zs.bool)
    assert zs.isin(elements, among, out=out) is out and out.tolist() == expected


def test_isin_is_fused_and_refuses_two_numbers():
    assert zs.fuse(zs.isin)(np.array([1, 2, 3]), np.array([3, 1])).tolist() == [True, False, True]
    with pytest.raises(TypeError, match="both are numbers"):
        zs.isin(1, 2)


@pytest.mark.parametrize("order", ["C", "F", "K"])
def test_copy_orders_elements_as_numpys(order):
    x = np.arange(24.0).reshape(2, 3, 4)
    for array in (x, x.transpose(2, 0, 1), x[:, ::-1]):
        tensor = zs.asarray(array)
        copied = tensor.copy(order=order)
        assert copied.tolist() == array.tolist() and copied.data_ptr() != tensor.data_ptr()
        assert tuple(8 * stride for stride in copied.stride()) == array.copy(order=order).strides
    with pytest.raises(ValueError, match="not 'X'"):
        tensor.copy(order="X")


def test_a_view_of_another_dtype_shows_the_same_bytes():
    x = zs.tensor([[1.0, -2.0], [0.5, 3.0]])
    bits = x.view(zs.int32)
    assert bits.tolist() == x.numpy().view(np.int32).tolist() and bits.data_ptr() == x.data_ptr()
    assert x.view(dtype="uint8").tolist() == x.numpy().view(np.uint8).tolist()
    assert x.view(zs.complex64).tolist() == [[1 - 2j], [0.5 + 3j]]
    assert zs.tensor([0x3F80, 0xC000], dtype=zs.uint16).view(zs.bfloat16).tolist() == [1.0, -2.0]
    assert zs.tensor([2, 0], dtype=zs.uint8).view(bool).tolist() == [True, False]
    assert x.T.view(np.int32).stride() == (1, 2)
    bits.zero_()
    assert x.tolist() == [[0.0, 0.0], [0.0, 0.0]]
    # PyTorch's words.
    for view, message in [
        (lambda: x.T.view(zs.int16), r"self.stride\(-1\) must be 1 to view Float as Short \(different element sizes\), but got 2"),
        (lambda: x.sum().view(zs.int16), r"self.dim\(\) cannot be 0 to view Float as Short \(different element sizes\)"),
        (lambda: x[:, :1].view(zs.float64), r"self.size\(-1\) must be divisible by 2 to view Float as Double .*, but got 1"),
        (lambda: zs.zeros(7)[1:].view(zs.float64), r"self.storage_offset\(\) must be divisible by 2 to view Float as Double .*, but got 1"),
        (lambda: zs.zeros(3, 5)[:, :4].view(zs.float64), r"self.stride\(0\) must be divisible by 2 to view Float as Double .*, but got 5"),
        (lambda: zs.from_numpy(np.zeros(9, np.uint8)[1:]).view(zs.float64), "the memory is not aligned to elements of f64"),
    ]:
        with pytest.raises(RuntimeError, match=message):
            view()
    with pytest.raises(zs.TraceError, match=r"view\(\) needs the elements"):
        zs.fuse(lambda x: x.view(zs.int32))(x)
