"""Memory: what is shared is shared, what is read-only stays so, and owners may go first."""

import array
import copy
import gc
import pickle
import sys
import threading
import time
import weakref

import numpy as np
import pytest
import zerostride as zs

DTYPES = ["bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128"]


@pytest.mark.parametrize("name", DTYPES)
def test_numpy_arrays_are_seen_where_they_lie_and_back(name):
    source = np.ones((2, 3, 4), name)
    for view in (source, source[:, ::-2], source.T, source[1:, :, ::3], source[0, 0, 0, ...], source[:0], np.broadcast_to(source[0], (5, 3, 4))):
        tensor = zs.asarray(view)
        assert tensor.dtype is getattr(zs, name)
        assert tensor.shape == view.shape
        back = tensor.numpy()
        assert back.dtype == view.dtype
        np.testing.assert_array_equal(back, view)
        if view.size:
            assert tensor.data_ptr() == view.ctypes.data == back.ctypes.data
            assert back.strides == view.strides
        assert back.flags.writeable == view.flags.writeable


def test_writes_are_seen_on_both_sides():
    source = np.zeros((2, 3), "f4")
    tensor = zs.asarray(source)
    tensor[:, ::2] = 5
    assert source.tolist() == [[5, 0, 5], [5, 0, 5]]
    source += 1
    assert tensor.tolist() == [[6, 1, 6], [6, 1, 6]]
    tensor.numpy()[0] = 9
    assert source[0].tolist() == [9, 9, 9]
    np.asarray(tensor)[1] = 8
    assert source[1].tolist() == [8, 8, 8]


def test_tensor_copies_and_asarray_of_lists_makes():
    source = np.zeros(3)
    assert zs.tensor(source).data_ptr() != source.ctypes.data
    assert zs.asarray([1, 2.5]).tolist() == [1, 2.5]
    with pytest.raises(ValueError, match="without a copy"):
        zs.asarray([1], copy=False)
    assert zs.asarray(source, copy=True).data_ptr() != source.ctypes.data


def test_integers_of_64_bits_without_a_sign():
    large = 2**63 + 1
    for data in ([large], large, [[large, True]], [np.uint64(large)], [zs.tensor(large, dtype=zs.uint64)]):
        assert zs.tensor(data, dtype=zs.uint64).ravel()[0].item() == large
    assert zs.full((2,), large, dtype=zs.uint64).tolist() == [large] * 2
    tensor = zs.zeros(2, dtype=zs.uint64)
    tensor[0] = large
    assert tensor.tolist() == [large, 0]
    for value in (large, np.uint64(large), zs.tensor(large, dtype=zs.uint64)):
        assert zs.full_like(tensor, value).tolist() == tensor.clone().fill_(value).tolist() == [large] * 2
        assert zs.full_like(zs.zeros(2), value, dtype=zs.uint64).tolist() == [large] * 2
    assert zs.full((2,), -1, dtype=zs.uint64).tolist() == zs.full_like(tensor, -1).tolist() == [2**64 - 1] * 2
    for filled in (lambda: zs.full((2,), 2**64, dtype=zs.uint64), lambda: tensor.fill_(2**64), lambda: zs.full_like(zs.zeros(2), large)):
        with pytest.raises(OverflowError, match="int too big to convert"):
            filled()
    assert zs.tensor([large, 2**70], dtype=zs.float64).tolist() == [float(large), float(2**70)]
    for data in ([-1], [2**64]):
        with pytest.raises(OverflowError, match="does not fit in torch.uint64"):
            zs.tensor(data, dtype=zs.uint64)
    with pytest.raises(TypeError, match="takes integers, not float"):
        zs.tensor([1.5], dtype=zs.uint64)
    with pytest.raises(ValueError, match="Overflow when unpacking long"):
        zs.tensor([large])


def test_an_integer_that_only_u64_holds_is_no_other_number():
    large = 2**64 - 1
    tensor = zs.tensor([large, 1], dtype=zs.uint64)
    assert (tensor == large).tolist() == [True, False] and (large - tensor).tolist() == [0, large - 1]
    assert zs.clamp(tensor, 5, large - 1).tolist() == [large - 1, 5]
    assert (zs.ones(2) + large).dtype == zs.float32 and (zs.tensor([True]) + large).tolist() == [0]
    assert zs.where(zs.tensor([True, False]), tensor, large).tolist() == [large, large]
    signed = zs.tensor([-1, 2])
    for call in (
        lambda: signed == large, lambda: large * signed, lambda: signed.add_(large), lambda: zs.clamp(signed, max=large),
        lambda: signed.clamp_(0, large), lambda: zs.where(signed > 0, signed, large), lambda: zs.add(signed, large, alpha=2),
        lambda: signed.masked_fill(signed > 0, large), lambda: zs.add(np.array([1]), large),
        lambda: zs.fuse(lambda x: x + large)(signed),
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match="^value cannot be converted to type int64_t without overflow$"):
            call()
    with pytest.raises(RuntimeError, match="type uint8_t without overflow"):
        signed.to(zs.uint8) + large
    assert signed.tolist() == [-1, 2]


def test_read_only_memory_is_not_written():
    source = np.arange(3.0)
    source.flags.writeable = False
    tensor = zs.asarray(source)
    assert not tensor.writable
    for write in (lambda: tensor.add_(1), lambda: tensor.zero_(), lambda: tensor.__setitem__(0, 1), lambda: zs.exp(tensor, out=tensor)):
        with pytest.raises(ValueError, match="read-only"):
            write()
    assert not tensor.numpy().flags.writeable
    with pytest.raises(BufferError, match="read-only"):
        tensor.__dlpack__()
    assert source.tolist() == [0, 1, 2]
    assert zs.asarray(memoryview(b"abc")).tolist() == [97, 98, 99]
    # NumPy warns when such an array is written to.
    assert not zs.asarray(np.broadcast_arrays(np.zeros((1, 3)), np.zeros((2, 1)))[0]).writable


def test_native_elements_are_shared_whatever_numpy_calls_them():
    for dtype in (np.longlong, np.ulonglong, np.dtype("f8", metadata={"unit": "m"}), pickle.loads(pickle.dumps(np.dtype("f4")))):
        source = np.zeros(3, dtype)
        zs.asarray(source).add_(2)
        assert source.tolist() == [2, 2, 2]


def test_what_cannot_be_read_in_place_is_copied():
    swapped = np.arange(3, dtype=">i4")
    assert zs.asarray(swapped).tolist() == [0, 1, 2]
    unaligned = np.frombuffer(b"\0" + np.arange(3.0).tobytes(), "f8", offset=1)
    assert zs.asarray(unaligned).tolist() == [0, 1, 2]
    records = np.zeros(3, [("a", "i1"), ("b", "f8")])
    records["b"] = [1, 2, 3]
    assert zs.asarray(records["b"]).tolist() == [1, 2, 3]
    with pytest.raises(TypeError, match="no dtype has elements"):
        zs.asarray(np.zeros(2, "f16"))
    with pytest.raises(TypeError):
        zs.asarray(np.array(["text"]))


def test_owners_may_go_first():
    source = np.arange(100000.0)
    gone = weakref.ref(source)
    view = zs.asarray(source)[::2][1:]
    del source
    gc.collect()
    assert gone() is not None
    assert view[0].item() == 2
    array_ = view.numpy()
    del view
    gc.collect()
    assert array_[1] == 4
    del array_
    gc.collect()
    assert gone() is None


def lent(kind):
    """A tensor of 0, 1, 2, ... on memory whose owner has no other reference."""
    numbers = np.arange(50000.0)
    match kind:
        case "buffer":
            return zs.asarray(numbers.copy())
        case "dlpack":
            return zs.from_dlpack(numbers.copy())
        case "capsule":
            capsule = numbers.copy().__dlpack__()
            holder = type("Holder", (), {"__dlpack__": lambda self, **_: capsule, "__dlpack_device__": lambda self: (1, 0)})
            return zs.from_dlpack(holder())
        case "view of a view":
            return zs.asarray(np.repeat(numbers, 2)[::-1][1::2][::-1])[:]
        case "bytes":
            return zs.asarray(memoryview(bytearray(numbers.tobytes())).cast("d"))
        case "pickle":
            buffers = []
            data = pickle.dumps(zs.asarray(numbers), 5, buffer_callback=buffers.append)
            return pickle.loads(data, buffers=[bytearray(buffer.raw()) for buffer in buffers])
        case "torch":
            return zs.asarray(pytest.importorskip("torch").arange(50000.0, dtype=float))


@pytest.mark.parametrize("kind", ["buffer", "dlpack", "capsule", "view of a view", "bytes", "pickle", "torch"])
def test_memory_outlives_its_owner_in_every_way(kind):
    tensor = lent(kind)
    gc.collect()
    churn = [np.full(50000, 7.0) for _ in range(4)]  # what is free is written over
    assert tensor[::1000].tolist() == list(range(0, 50000, 1000))
    ways = [tensor.numpy(), memoryview(tensor), np.from_dlpack(tensor.clone()), zs.from_dlpack(tensor.clone()), tensor[1:][:-1].T]
    iterator = iter(tensor[:3])
    del tensor, churn
    gc.collect()
    churn = [np.full(50000, 7.0) for _ in range(4)]
    assert [float(way[2]) for way in ways] == [2, 2, 2, 2, 3]
    assert [item.item() for item in iterator] == [0, 1, 2]
    del churn


def test_operands_may_go_while_a_computation_waits():
    add = zs.fuse(lambda y: y + zs.asarray(np.arange(1000.0)))  # made while it is traced: the plan alone has it
    assert add(zs.ones(1000))[9].item() == 10
    gc.collect()
    churn = [np.full(1000, 7.0) for _ in range(16)]
    assert add(zs.ones(1000))[9].item() == 10
    del churn


def test_an_array_that_is_lent_is_let_go_at_once():
    source = np.arange(4.0)
    result = zs.add(source, 1) + source
    assert sys.getrefcount(source) == 2
    source.resize(8)
    assert result.tolist() == [1, 3, 5, 7]


def test_other_buffers():
    numbers = array.array("d", [1, 2, 3])
    zs.asarray(numbers).mul_(2)
    assert list(numbers) == [2, 4, 6]
    raw = bytearray(8)
    zs.asarray(raw).fill_(7)
    assert raw == b"\7" * 8
    view = memoryview(zs.tensor([[1, 2], [3, 4]]))
    assert (view.format, view.shape, view.tolist()) == ("l", (2, 2), [[1, 2], [3, 4]])


def test_dlpack_both_ways_and_in_both_versions():
    tensor = zs.arange(6, dtype=zs.float32).reshape(2, 3)
    for version in (None, (1, 0)):
        capsule = tensor.T.__dlpack__(max_version=version)

        class Holder:
            def __dlpack__(self, **keywords):
                return capsule

        back = zs.from_dlpack(Holder())
        assert back.data_ptr() == tensor.data_ptr()
        assert back.stride() == (1, 3)
        with pytest.raises(ValueError):
            zs.from_dlpack(Holder())
    unused = tensor.__dlpack__()
    del unused
    assert np.from_dlpack(tensor).ctypes.data == tensor.data_ptr()
    assert zs.from_dlpack(np.arange(3)).tolist() == [0, 1, 2]
    assert tensor.__dlpack_device__() == (1, 0)


def test_a_tensor_on_torch_s_memory_keeps_it_when_that_gets_other_memory(torch):
    given = torch.arange(300_000)
    tensors, view = [zs.asarray(given), zs.from_dlpack(given)], zs.narrow(given, 0, 0, 5)
    given.data = torch.zeros(3)
    # Freed memory of that size is returned to the system, and reading it ends the process.
    for tensor in tensors:
        assert tensor.sum() == 299_999 * 150_000 and tensor.data_ptr() != given.data_ptr()
    layer = torch.nn.Linear(700, 700)
    weight = zs.asarray(layer.weight.detach())
    bare = zs.asarray(layer.weight.data)
    expected = layer.weight.sum().item()
    layer.double()
    assert weight.sum().item() == bare.sum().item() == pytest.approx(expected, abs=1e-2)
    assert view.tolist() == [0, 1, 2, 3, 4]


def test_torch_shares_memory(torch):
    tensor = zs.arange(6, dtype=zs.float32).reshape(2, 3)
    other = torch.from_dlpack(tensor)
    other[0, 0] = 9
    assert tensor[0, 0].item() == 9
    assert zs.from_dlpack(other).data_ptr() == tensor.data_ptr()
    half = torch.ones(2, 2, dtype=torch.bfloat16)
    assert zs.asarray(half).dtype is zs.bfloat16
    assert zs.asarray(half).data_ptr() == half.data_ptr()
    view = zs.asarray(torch.arange(10.0)[3:])
    gc.collect()
    assert view.sum().item() == 42


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("name", [*DTYPES, "bfloat16"])
def test_pickles(protocol, name):
    for tensor in (zs.ones(2, 3).to(name).T, zs.ones(()).to(name), zs.ones(0, 2).to(name)):
        back = pickle.loads(pickle.dumps(tensor, protocol))
        assert (back.dtype, back.shape) == (tensor.dtype, tensor.shape)
        assert back.tolist() == tensor.tolist()
        back.zero_()


def test_pickles_out_of_band_without_a_further_copy():
    tensor = zs.ones(1000)
    buffers = []
    data = pickle.dumps(tensor, 5, buffer_callback=buffers.append)
    assert len(data) < 300
    back = pickle.loads(data, buffers=buffers)
    assert back.data_ptr() == np.frombuffer(buffers[0], np.uint8).ctypes.data
    tensor.zero_()
    assert back.sum().item() == 1000  # as it was when it was pickled
    with pytest.raises(ValueError, match="bytes"):
        pickle.loads(data, buffers=[b"too short"])


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_of_stretched_tensors_are_as_small_as_their_elements(protocol):
    for tensor in (
        zs.asarray([1.0, 2.0]).expand(500_000, 2),
        zs.ones(1, dtype=zs.int16).expand(1 << 40),
        zs.arange(3).reshape(3, 1).expand(3, 1000),
    ):
        data = pickle.dumps(tensor, protocol)
        assert len(data) < 300
        back = pickle.loads(data)
        assert (back.dtype, back.shape, back.stride()) == (tensor.dtype, tensor.shape, tensor.stride())
        assert back[-1].sum().item() == tensor[-1].sum().item()


@pytest.mark.parametrize("protocol", [4, 5])
def test_pickles_beside_a_thread_that_writes_are_whole(protocol):
    tensor, stop = zs.zeros(1 << 19), threading.Event()

    def write():
        value = 0
        while not stop.is_set():
            tensor.fill_(value)
            value += 1

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for _ in range(50):
            elements = pickle.loads(pickle.dumps(tensor, protocol))
            assert elements.amin().item() == elements.amax().item()
    finally:
        stop.set()
        thread.join()


def test_copies_are_copies():
    tensor = zs.ones(3)
    for other in (copy.deepcopy(tensor), tensor.clone(), zs.tensor(tensor)):
        other.zero_()
    assert tensor.tolist() == [1, 1, 1]
    # A shallow copy is another handle on the same memory, as in PyTorch.
    copy.copy(tensor).zero_()
    assert tensor.tolist() == [0, 0, 0]


def test_views_share_memory():
    tensor = zs.zeros(2, 3)
    tensor.T[0].add_(1)
    tensor.expand(4, 2, 3)
    tensor.reshape(6)[5] = 7
    assert tensor.tolist() == [[1, 0, 0], [1, 0, 7]]
    assert tensor.expand(4, 2, 3).stride() == (0, 3, 1)


def test_memory_that_was_lent_twice_is_read_before_it_is_scattered_into():
    array = np.array([1, 2, 3, 4, 0])
    zs.asarray(array).scatter_(0, zs.asarray(array[:]), zs.tensor([4, 3, 2, 1, 0]))
    assert array.tolist() == [0, 4, 3, 2, 1]
    array = np.array([1, 2, 3, 4, 0])
    zs.asarray(array).scatter_add_(0, zs.tensor([1, 2, 3, 4, 0]), zs.asarray(array[:]))
    assert array.tolist() == [1, 3, 5, 7, 4]


def test_conversions_do_not_leak():
    resource = pytest.importorskip("resource")
    source = np.zeros(1000)

    def rounds(count):
        for _ in range(count):
            zs.asarray(source).numpy()
            zs.from_dlpack(zs.asarray(source))
            memoryview(zs.asarray(source))

    rounds(2000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    rounds(65_536)  # a quarter of a million conversions: an allocation that each leaves behind takes 16 bytes at least
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 4096
    assert sys.getrefcount(source) == 2


def test_threads_share_tensors():
    total = zs.zeros(1 << 18)
    one = zs.ones(1 << 18)

    def work():
        for _ in range(20):
            total.add_(one)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (total.amin().item(), total.amax().item()) == (80, 80)


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="no other system tells a process's memory in a file")
def test_memory_that_nobody_wants_goes_back_to_the_system_by_itself():
    zs.pool.trim()  # What earlier tests left must not go back meanwhile.
    before = resident_bytes()
    results = [zs.ones(1 << 24) for _ in range(4)]
    # The system counts some pages of each thread later.
    assert resident_bytes() - before >= (4 << 26) - (1 << 20)
    del results
    assert zs.pool.cached() >= 4 << 26
    end = time.monotonic() + 60
    while resident_bytes() - before >= 1 << 26:
        assert time.monotonic() < end, "the memory is still kept"
        time.sleep(0.2)
    assert zs.pool.cached() < 1 << 26


def test_programs_have_a_say_in_what_is_kept():
    standard = zs.pool.limit()
    try:
        result = zs.ones(1 << 22)
        del result
        assert zs.pool.cached() >= 1 << 24
        assert zs.pool.trim() is None
        kept = zs.pool.cached()
        assert kept < 1 << 24
        zs.pool.set_limit(0)
        result = zs.ones(1 << 22)
        del result
        assert zs.pool.cached() == kept
        for amount, number in [("1.5 GiB", 3 << 29), ("20 MB", 20_000_000), (1 << 30, 1 << 30)]:
            zs.pool.set_limit(amount)
            assert zs.pool.limit() == number
        zs.pool.set_limit(10**30)
        assert zs.pool.limit() == sys.maxsize
        for wrong in (-1, 1.5, "much", "1.2.3 GB", None):
            with pytest.raises((ValueError, TypeError)):
                zs.pool.set_limit(wrong)
        assert zs.pool.limit() == sys.maxsize
    finally:
        zs.pool.set_limit(standard)
