"""Tensors on emulated GPUs. ``cargo xtask test --python`` names the emulated driver."""

import os
import pathlib
import pickle
import re
import subprocess
import sys
import types

import numpy as np
import pytest
import zerostride as zs

pytestmark = pytest.mark.skipif(
    "emulator" not in os.environ.get("ZEROSTRIDE_CUDA", ""), reason="ZEROSTRIDE_CUDA does not name the emulated driver"
)

X = zs.rand(7, 12, seed=1) * 8 - 4


def test_a_tensor_goes_to_a_device_and_comes_back():
    moved = X.to("cuda")
    assert (moved.device, X.cuda().device, X.to(device="cuda:1").device) == ("cuda:0", "cuda:0", "cuda:1")
    assert moved.to("cuda").data_ptr() == moved.data_ptr()
    assert moved.cpu().device == "cpu" and moved.tolist() == X.tolist()
    assert repr(zs.tensor([1.5, 2.0]).cuda()) == "tensor([1.5000, 2.0000], device='cuda:0')"
    assert (X.to("cuda", zs.float64).dtype, X.to(moved).device) == (zs.float64, "cuda:0")
    assert zs.zeros(2, device="cuda:1").add(1).tolist() == [1.0, 1.0]
    assert zs.asarray(np.arange(3.0), device="cuda").device == "cuda:0"
    assert moved.to_device("cpu").device == "cpu" and moved.sum().item() == X.sum().item()


@pytest.mark.parametrize(
    "formula",
    [
        lambda x: (x - x.mean(0)) * 2,
        lambda x: zs.softmax(x, 1),
        lambda x: ((x[:, None] - x[None]) ** 2).sum(-1),
        lambda x: zs.where(x > 0, x.exp(), x.T.contiguous().T),
        lambda x: zs.fuse(lambda x: zs.tanh(x) + x.sum(1, keepdim=True))(x),
        lambda x: zs.grad(lambda x: (zs.sin(x) * x).sum())(x),
        lambda x: x.clone().add_(1).mul_(x)[1:, ::2],
        lambda x: zs.cat([x.argmax(1) * 1.0, x.std(0), zs.var(x, correction=0).reshape(1)]),
    ],
)
def test_formulas_have_the_bits_of_the_cpu(formula):
    found = formula(X.cuda())
    assert found.device == "cuda:0"
    assert found.cpu().numpy().tobytes() == formula(X).numpy().tobytes()


def test_what_is_not_there_is_refused_in_words():
    moved = X.cuda()
    with pytest.raises(TypeError, match="can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu"):
        moved.numpy()
    with pytest.raises(TypeError, match="can't convert cuda:0"):
        np.asarray(moved)
    assert (moved @ moved.T).tolist() == (X @ X.T).tolist()
    with pytest.raises(RuntimeError, match="sort has no kernel for cuda:0; move its operands with .cpu"):
        moved.sort()
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"):
        moved + X
    with pytest.raises(RuntimeError, match="there is no device cuda:2"):
        X.to("cuda:2")


def test_memory_is_shared_by_dlpack():
    moved = X.cuda()
    assert moved.__dlpack_device__() == (2, 0)
    same = zs.from_dlpack(moved)
    assert (same.device, same.data_ptr()) == ("cuda:0", moved.data_ptr())
    same.add_(1)
    assert moved.tolist() == (X + 1).tolist()
    moved.__dlpack__(stream=1)
    moved.__dlpack__(stream=0x7000, max_version=(1, 0))
    with pytest.raises(BufferError, match="is shown nowhere else"):
        moved.__dlpack__(dl_device=(1, 0))


def test_memory_is_shown_to_libraries_for_gpus():
    moved = X.cuda()
    assert moved.T.__cuda_array_interface__ == {
        "shape": (12, 7), "strides": (4, 48), "typestr": "<f4", "data": (moved.data_ptr(), False), "version": 3, "stream": 1,
    }
    assert not hasattr(X, "__cuda_array_interface__")


class Shown:
    """An array of another library that shows nothing but ``__cuda_array_interface__``."""

    def __init__(self, tensor, **changes):
        self.tensor = tensor
        self.__cuda_array_interface__ = tensor.__cuda_array_interface__ | changes


@pytest.mark.parametrize("device", ["cuda:0", "cuda:1"])
def test_arrays_of_libraries_for_gpus_share_their_memory(device):
    moved = X.to(device)
    for stream in (None, 1, 2, 0x7000):
        same = zs.asarray(Shown(moved.T, stream=stream))
        assert (same.device, same.data_ptr(), same.shape, same.stride()) == (device, moved.data_ptr(), (12, 7), (1, 12))
    same.add_(1)
    assert moved.tolist() == (X + 1).tolist()
    assert zs.asarray(Shown(moved, strides=None)).stride() == (12, 1)
    assert zs.add(Shown(moved), 1).tolist() == (moved + 1).tolist()
    for dtype in (zs.bool, zs.uint8, zs.int64, zs.float16, zs.complex64):
        assert zs.asarray(Shown(moved.to(dtype))).dtype is dtype
    empty = zs.zeros(0, 3, device=device)
    assert zs.asarray(Shown(empty, data=(0, False))).shape == (0, 3)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mask": object()}, "the array has a mask, and tensors have none"),
        ({"typestr": "|V4"}, r"no dtype has the elements of type \|V4"),
        ({"typestr": ">f4"}, "no dtype has the elements of type >f4"),
        ({"strides": (48, 2)}, r"the strides \[48, 2\] are not those of elements of f32"),
        ({"strides": (48,)}, r"the strides \[48\] are not those"),
        ({"stream": 0}, "the array is used on stream 0"),
        ({"data": (0, False)}, "the array has elements, and no memory that they are in"),
        ({"data": (0x1000, False)}, "no device that this process uses has memory at 0x1000"),
        ({"typestr": None}, "the array does not show its typestr"),
    ],
)
def test_arrays_that_no_tensor_can_be_on_are_refused(changes, message):
    with pytest.raises((BufferError, RuntimeError), match=message):
        zs.asarray(Shown(X.cuda(), **changes))
    read_only = (X.cuda().data_ptr(), True)
    with pytest.raises((BufferError, RuntimeError, ValueError), match="read-only"):
        zs.asarray(Shown(X.cuda(), data=read_only))


def test_tensors_of_torch_on_the_default_stream_are_not_waited_for(torch, monkeypatch):
    moved, asked = X.cuda(), []

    class OnGpu(torch.Tensor):
        """A tensor of torch's on a GPU, which torch itself has not."""

        is_cuda, device = True, "cuda:0"
        __dlpack__, __dlpack_device__ = lambda self, **named: moved.__dlpack__(**named), lambda self: (2, 0)

    def current_stream(device):
        asked.append(device)
        return types.SimpleNamespace(cuda_stream=stream)

    monkeypatch.setattr("torch.cuda.current_stream", current_stream)
    for stream in (0, 0x7000):
        same = zs.asarray(torch.ones(1).as_subclass(OnGpu))
        assert (same.device, same.data_ptr(), same.tolist()) == ("cuda:0", moved.data_ptr(), X.tolist())
    assert asked == ["cuda:0"] * 2


def test_copies_cross_from_one_device_to_another():
    for source, target in [(X, zs.zeros(7, 12, device="cuda")), (X.cuda(), zs.zeros(7, 12)), (X.cuda(), zs.zeros(7, 12, device="cuda:1"))]:
        device = target.device
        assert target.copy_(source).tolist() == X.tolist()
        target[:, ::2] = source[0, :6] * 0 + 2
        target.T.copy_(source[:, :1].to(zs.float64).T.expand(12, 7))
        assert (target.device, target.tolist()) == (device, X[:, :1].expand(7, 12).tolist())


def test_an_evaluation_takes_no_more_of_a_device_than_it_may(tmp_path):
    moved, told = X.cuda(), []
    wanted = zs.softmax(X, 1)
    for limit in (None, "1 MiB", 500):
        found = zs.evaluate("softmax(x, 1)", x=moved, max_memory=limit, progress=lambda done, total: told.append((done, total)))
        assert (found.device, found.tolist()) == ("cuda:0", wanted.tolist())
    assert len(told) > 4 and told[-1] == (336, 336)
    with pytest.raises(MemoryError, match=r"the result \(336 bytes\) stays on cuda:0; allow more memory"):
        zs.evaluate("x + 1", x=moved, max_memory=300)
    path, total = tmp_path / "y.npy", zs.zeros(7, device="cuda")
    zs.evaluate(lambda x: (x.exp(), x.exp().sum(1)), (path, total), max_memory=500, x=moved)
    assert np.load(path).tobytes() == X.exp().numpy().tobytes()
    assert (total.device, total.tolist()) == ("cuda:0", X.exp().sum(1).tolist())
    assert zs.evaluate("x * 2", x=moved, out=str(path), force=True) == str(path)
    with pytest.raises(RuntimeError, match="evaluation of files has no kernel for cuda:0; move its operands with .cpu"):
        zs.evaluate("x + y", x=moved, y=zs.open(path))


def test_what_is_on_a_gpu_is_pickled_on_the_cpu():
    again = pickle.loads(pickle.dumps(X.cuda()))
    assert (again.device, again.tolist()) == ("cpu", X.tolist())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="only POSIX forks")
def test_a_forked_process_is_told_that_it_cannot_use_the_devices_of_its_parent():
    moved, (read, write) = X.cuda(), os.pipe()
    child = os.fork()
    if child == 0:
        try:
            moved.add(1)
        except RuntimeError as error:
            os.write(write, str(error).encode())
        del moved
        os._exit(0 if (zs.ones(2) + 1).tolist() == [2.0, 2.0] else 1)
    os.close(write)
    with os.fdopen(read) as told:
        assert "CUDA cannot be used in a forked process" in told.read()
    assert os.waitpid(child, 0)[1] == 0
    assert moved.add(1).tolist() == (X + 1).tolist()


def test_the_script_for_a_gpu_finds_the_bits_of_the_cpu():
    script = pathlib.Path(__file__).resolve().parents[3] / "bench" / "gpu.py"
    run = subprocess.run([sys.executable, script, "--tiny", "rows", "formulas", "table"], capture_output=True, text=True)
    assert run.returncode == 0 and "nothing differs" in run.stdout, run.stdout + run.stderr
    assert re.search(r"rows: 1[0-9]{3} of 300 arguments each, 0 differ", run.stdout)
