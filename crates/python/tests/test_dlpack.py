"""Capsules that lie: what a producer says of its array is checked before an element is read, and is given back once."""

import ctypes

import numpy as np
import pytest
import zerostride as zs

CPU, METAL, PINNED = 1, 8, 3
INT, UINT, FLOAT, BFLOAT, COMPLEX, BOOL = 0, 1, 2, 4, 5, 6
READ_ONLY = 1


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("device", ctypes.c_int32), ("id", ctypes.c_int32), ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p), ("byte_offset", ctypes.c_uint64),
    ]  # fmt: skip


DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Legacy(ctypes.Structure):
    _fields_ = [("array", DLTensor), ("context", ctypes.c_void_p), ("deleter", DELETER)]
    NAME = b"dltensor"


class Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p), ("deleter", DELETER),
        ("flags", ctypes.c_uint64), ("array", DLTensor),
    ]  # fmt: skip
    NAME = b"dltensor_versioned"


new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype, new_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Producer:
    """An array of four f32 numbers, 0 to 3, of which anything may be said otherwise."""

    def __init__(self, kind, shape=(2, 2), strides=(2, 1), name=None, says_device=True, major=1, minor=0, flags=0, **fields):
        self.elements = (ctypes.c_float * 6)(0, 1, 2, 3, 0, 0)
        listed = lambda numbers: None if numbers is None else (ctypes.c_int64 * max(len(numbers), 1))(*numbers)
        self.lists = [listed(shape), listed(strides)]
        address = lambda numbers: None if numbers is None else ctypes.addressof(numbers)
        self.deleted = 0
        self.deleter = DELETER(self.delete)
        self.managed = kind(deleter=self.deleter)
        if kind is Versioned:
            self.managed.major, self.managed.minor, self.managed.flags = major, minor, flags
        said = {
            "data": ctypes.addressof(self.elements), "device": CPU, "ndim": len(shape or ()), "code": FLOAT, "bits": 32,
            "lanes": 1, "shape": address(self.lists[0]), "strides": address(self.lists[1]), "byte_offset": 0,
        }  # fmt: skip
        for field, value in {**said, **fields}.items():
            setattr(self.managed.array, field, value)
        self.name = name or kind.NAME
        self.capsule = new_capsule(ctypes.addressof(self.managed), self.name, None)
        if says_device:
            self.__dlpack_device__ = lambda: (CPU, 0)

    def delete(self, _address):
        self.deleted += 1

    def __dlpack__(self, **keywords):
        return self.capsule


KINDS = pytest.mark.parametrize("kind", [Legacy, Versioned])


@KINDS
@pytest.mark.parametrize(
    ("said", "seen"),
    [
        ({}, [[0, 1], [2, 3]]),
        ({"strides": None}, [[0, 1], [2, 3]]),
        ({"strides": (-2, -1), "byte_offset": 12}, [[3, 2], [1, 0]]),
        ({"strides": (0, 1)}, [[0, 1], [0, 1]]),
        ({"ndim": 0, "shape": None, "strides": None, "byte_offset": 8}, 2),
        ({"device": PINNED}, [[0, 1], [2, 3]]),
        # No elements: neither their address nor their strides say anything.
        ({"data": None, "shape": (2, 0)}, [[], []]),
        ({"data": 1, "shape": (0,), "strides": (2**62,)}, []),
        ({"data": None, "shape": (0, 2**40, 2**20), "strides": None}, []),
        ({"data": None, "shape": (0,), "strides": (1,), "byte_offset": 2**63}, []),
    ],
)
def test_arrays_are_read_as_they_are_described(kind, said, seen):
    producer = Producer(kind, **said)
    tensor = zs.from_dlpack(producer)
    assert tensor.tolist() == seen
    assert (tensor + 1).shape == tensor.shape
    assert producer.deleted == 0
    del tensor
    assert producer.deleted == 1


HOSTILE = {
    "negative ndim": ({"ndim": -1}, "-1 dimensions"),
    "least ndim": ({"ndim": -(2**31)}, "dimensions"),
    "more dimensions than lists": ({"ndim": 65}, "65 dimensions"),
    "most ndim": ({"ndim": 2**31 - 1}, "dimensions"),
    "no shape": ({"shape": None, "ndim": 2}, "no list"),
    "negative size": ({"shape": (2, -2)}, "size -2"),
    "too many elements": ({"shape": (2**62, 2**62), "strides": None}, "overflow"),
    "overflowing strides": ({"strides": (2**62, 2**62)}, "outside|too far|overflow"),
    "negative overflowing strides": ({"strides": (-(2**63), 1)}, ""),
    "strides beyond addresses": ({"strides": (2**60, 1)}, "address space"),
    "strides below addresses": ({"strides": (-(2**60), 1)}, "address space"),
    "no memory": ({"data": None}, "no memory"),
    "no memory with an offset": ({"data": None, "byte_offset": 4096}, "no memory"),
    "huge offset": ({"byte_offset": 2**60}, "address"),
    "largest offset": ({"byte_offset": 2**64 - 4}, "no address"),
    "half of all offsets": ({"byte_offset": 2**63}, "address"),
    "offset beyond a program's addresses": ({"byte_offset": 2**48}, "address"),
    "unaligned": ({"byte_offset": 1}, "aligned"),
    "on another device": ({"device": METAL}, r"device \(8, 0\)"),
    "on another device, unsaid": ({"device": METAL, "says_device": False}, r"device \(8, 0\)"),
    "several lanes": ({"lanes": 4}, "4 lanes"),
    "no lanes": ({"lanes": 0}, "0 lanes"),
    "odd bits": ({"bits": 24}, "24 bits"),
    "no bits": ({"bits": 0}, "0 bits"),
    "unknown code": ({"code": 200}, "code 200"),
    "an opaque handle": ({"code": 3, "bits": 64}, "code 3"),
}


@KINDS
@pytest.mark.parametrize("name", HOSTILE)
def test_what_cannot_be_is_refused_and_given_back_once(kind, name):
    said, message = HOSTILE[name]
    producer = Producer(kind, **said)
    with pytest.raises((BufferError, RuntimeError, ValueError), match=f"(?i){message}"):
        zs.from_dlpack(producer)
    assert producer.deleted == 1
    with pytest.raises((BufferError, RuntimeError, ValueError)):
        zs.from_dlpack(producer)
    assert producer.deleted == 1


@pytest.mark.parametrize("steps", [slice(None, None, -1), (slice(None), slice(None, None, -2))])
def test_negative_strides_go_out_as_a_copy(steps):
    torch = pytest.importorskip("torch")
    x = zs.arange(12.0).reshape(3, 4)[steps]
    assert torch.from_dlpack(x).tolist() == np.from_dlpack(x).tolist() == x.tolist()
    assert np.shares_memory(np.asarray(x), x.numpy()) and np.shares_memory(np.from_dlpack(x, copy=False), x.numpy())
    assert np.shares_memory(np.from_dlpack(x[::-1] if steps == slice(None, None, -1) else x[:, ::-1]), x.numpy())


def test_versions():
    for minor in (0, 1, 99):
        assert zs.from_dlpack(Producer(Versioned, minor=minor)).tolist() == [[0, 1], [2, 3]]
    for major in (0, 2, 2**32 - 1):
        producer = Producer(Versioned, major=major)
        with pytest.raises(BufferError, match=r"not 1\.x"):
            zs.from_dlpack(producer)
        assert producer.deleted == 1


def test_what_is_lent_for_reading_is_not_written():
    producer = Producer(Versioned, flags=READ_ONLY)
    tensor = zs.from_dlpack(producer)
    with pytest.raises(ValueError, match="read-only"):
        tensor.add_(1)
    with pytest.raises(ValueError, match="read-only"):
        zs.add(tensor, 1, out=Producer(Versioned, flags=READ_ONLY))
    assert list(producer.elements) == [0, 1, 2, 3, 0, 0]


def test_no_deleter_and_no_capsule():
    producer = Producer(Legacy)
    producer.managed.deleter = DELETER()
    assert zs.from_dlpack(producer).tolist() == [[0, 1], [2, 3]]
    for given in (None, 5, "dltensor", np.ones(2)):
        with pytest.raises(TypeError):
            zs.from_dlpack(type("Holder", (), {"__dlpack__": lambda self, given=given, **_: given})())
    for name in (b"dltensor_of_another_kind", b"used_dltensor", b"used_dltensor_versioned"):
        stranger = Producer(Legacy, name=name)
        with pytest.raises(ValueError):
            zs.from_dlpack(stranger)
        assert stranger.deleted == 0


def test_a_capsule_that_nobody_takes_is_not_touched():
    producer = Producer(Legacy)
    producer.__dlpack_device__ = lambda: (METAL, 0)
    with pytest.raises(BufferError, match="copy it there first"):
        zs.from_dlpack(producer)
    assert producer.deleted == 0
    for answer in (None, 1, (1,), (1, 0, 0), ("cpu", 0), (2**40, 0)):
        producer.__dlpack_device__ = lambda answer=answer: answer
        with pytest.raises((TypeError, ValueError, OverflowError)):
            zs.from_dlpack(producer)
    producer.__dlpack_device__ = lambda: 1 / 0
    with pytest.raises(ZeroDivisionError):
        zs.from_dlpack(producer)


def test_tensors_without_elements_go_out_and_come_in_again():
    for dtype in (zs.bool, zs.int64, zs.float16, zs.bfloat16, zs.complex128):
        for shape in ((0,), (2, 0), (0, 3, 2)):
            tensor = zs.zeros(shape, dtype=dtype)
            for version in (None, (1, 0)):
                capsule = tensor.__dlpack__(max_version=version)
                back = zs.from_dlpack(type("Holder", (), {"__dlpack__": lambda self, capsule=capsule, **_: capsule})())
                assert (back.shape, back.dtype) == (shape, dtype)


class Exchange(ctypes.Structure):
    """The functions in C that a class shows."""

    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("previous", ctypes.c_void_p)] + [
        (name, ctypes.c_void_p) for name in ("allocate", "from_object", "to_object", "describe", "stream")
    ]

    def call(self, name, *kinds):
        return ctypes.PYFUNCTYPE(ctypes.c_int, *kinds)(getattr(self, name))


def exchange():
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return Exchange.from_address(pointer(zs.Tensor.__dlpack_c_exchange_api__, b"dlpack_exchange_api"))


def test_tensors_are_exchanged_by_functions_in_c():
    api, x = exchange(), zs.arange(6.0).reshape(2, 3).T
    assert (api.major, api.previous) == (1, None)
    managed, back = ctypes.c_void_p(), ctypes.py_object()
    assert api.call("from_object", ctypes.py_object, ctypes.c_void_p)(x, ctypes.addressof(managed)) == 0
    assert Versioned.from_address(managed.value).array.ndim == 2
    assert api.call("to_object", ctypes.c_void_p, ctypes.c_void_p)(managed, ctypes.addressof(back)) == 0
    assert back.value.tolist() == x.tolist() and back.value.stride() == (1, 3)
    back.value[0, 0] = 7
    assert x[0, 0].item() == 7
    array = DLTensor()
    assert api.call("describe", ctypes.py_object, ctypes.c_void_p)(x, ctypes.addressof(array)) == 0
    assert (ctypes.c_int64 * 4).from_address(array.shape)[:2] == [3, 2] and (array.code, array.bits) == (FLOAT, 32)
    new = ctypes.c_void_p()
    say = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)
    said = []
    takes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, say)
    allocate, saying = api.call("allocate", *takes), say(lambda _, kind, message: said.append((kind, message)))
    assert allocate(ctypes.addressof(array), ctypes.addressof(new), None, saying) == 0
    assert api.call("to_object", ctypes.c_void_p, ctypes.c_void_p)(new, ctypes.addressof(back)) == 0
    assert back.value.tolist() == [[0.0] * 2] * 3
    array.bits = 3
    assert allocate(ctypes.addressof(array), ctypes.addressof(new), None, saying) == -1
    assert said[0][0] == b"BufferError" and b"3 bits" in said[0][1]
    stream = ctypes.c_void_p(1)
    assert api.call("stream", ctypes.c_int32, ctypes.c_int32, ctypes.c_void_p)(CPU, 0, ctypes.addressof(stream)) == 0
    assert stream.value is None
    with pytest.raises(TypeError):
        api.call("from_object", ctypes.py_object, ctypes.c_void_p)(np.ones(2), ctypes.addressof(managed))
