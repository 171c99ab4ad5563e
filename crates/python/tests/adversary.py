"""Calls everything that the package shows with hostile arguments, by chance: ``python adversary.py SEED COUNT``.

The same seed makes the same calls. Whatever a call raises is right, but for a panic and for what Python raises where native
code breaks its rules. A call that takes longer than ``LONGEST`` is interrupted as Ctrl-C does, and must hear that. The call
under way stands in the file that ``ZEROSTRIDE_ADVERSARY`` names, for the test that finds this process dead or hanging.
"""

import mmap
import os
import random
import signal
import sys
import tempfile
import warnings

import numpy as np

import zerostride as zs

# Seconds.
LONGEST = 0.25
# They change the process, or end with it.
LEFT_OUT = {"set_num_threads"}


class Interrupted(Exception):
    """What the alarm raises."""


class Lying:
    """A sequence whose length is not that of what it gives."""

    def __init__(self, claimed, given):
        self.claimed, self.given = claimed, given

    def __len__(self):
        return self.claimed

    def __iter__(self):
        return iter(self.given)

    def __getitem__(self, place):
        return self.given[place]

    def __repr__(self):
        return f"Lying({self.claimed}, {self.given})"


class Raising:
    """Raises whatever it is asked."""

    def __getattr__(self, name):
        raise ArithmeticError(name)

    def _refuse(self, *arguments):
        raise ArithmeticError

    __len__ = __iter__ = __index__ = __float__ = __bool__ = __array__ = __dlpack__ = __dlpack_device__ = _refuse


class Shrinking(list):
    """A list that loses its elements while it is read."""

    def __iter__(self):
        while self:
            yield self.pop()
            self.clear()


class Reentrant:
    """An index that computes before it answers."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __index__(self):
        self.tensor.add_(1)
        return int(self.tensor.sum().item()) % 3

    def __float__(self):
        return float(self.__index__())


class Misleading:
    """An array by its word, which is none."""

    def __init__(self, interface):
        self.__array_interface__ = interface


def hostile_values(chance):
    """What arguments are drawn from. Tensors among them change from call to call."""
    endless = []
    endless.append(endless)
    deep = 1
    for _ in range(2000):
        deep = [deep]
    read_only = np.arange(6.0)
    read_only.flags.writeable = False
    tensors = [
        zs.tensor(2.5), zs.tensor(3), zs.tensor(True), zs.zeros(0), zs.zeros(3, 0, 2), zs.ones(1), zs.arange(6), zs.arange(6.0),
        zs.arange(6.0).reshape(2, 3), zs.arange(24).reshape(2, 3, 4).permute(2, 0, 1), zs.ones(2, 2, dtype=zs.bool),
        zs.ones(3, dtype=zs.complex64), zs.ones(3, dtype=zs.bfloat16), zs.ones(3, dtype=zs.float16), zs.ones(3, dtype=zs.uint64),
        zs.ones(1, dtype=zs.int16).expand(2**40), zs.ones(1, 1).expand(2**20, 2**20), zs.zeros(0, 1).expand(0, 2**60),
        zs.asarray(read_only), zs.arange(10.0)[::-2], zs.ones(*(1,) * 64), zs.tensor([float("nan"), float("inf"), -0.0]),
    ]  # fmt: skip
    arrays = [
        np.arange(6.0).reshape(2, 3), np.arange(3, dtype=">f8"), np.array([1, "a", None], dtype=object), np.array(["a", "b"]),
        np.array("2026-01-01", dtype="datetime64[s]"), np.zeros(3, dtype=[("x", "i4"), ("y", "f8")])["y"], np.float32(2.5),
        np.ma.masked_array([1.0, 2.0], [True, False]), np.frombuffer(bytes(17), dtype=np.uint8)[1:].view(np.float64),
        np.array([2, 3, 255], dtype=np.uint8).view(bool), np.lib.stride_tricks.as_strided(np.ones(1), (2**20, 2**20), (0, 0)),
        np.zeros((0, 3)), np.longdouble(1.5), np.array(5),
    ]  # fmt: skip
    numbers = [
        0, 1, -1, 2, 3, -2, 63, 64, 65, 2**31, -(2**31), 2**40, 2**62, 2**63 - 1, -(2**63), 2**63, 2**64, 10**30, -(10**30), True,
        False, 0.0, -0.0, 0.5, 1e308, float("nan"), float("inf"), 1j, complex("nan"),
    ]  # fmt: skip
    words = [
        "", "a", "sum", "float32", "linear", "floor", "tanh", "x" * 10_000, "\0", "../../etc", "ñ", "error", "warn", "2 GiB", "1e400 GiB",
        "a + b", "(" * 500, "none.npy", b"", b"abc", bytearray(5),
    ]  # fmt: skip
    lists = [
        [], (), [1], (2, 3), [0, -1], [[1, 2], [3]], [[1.0, 2.0], [3.0, 4.0]], (2**40, 2**40), [1] * 100, endless, deep, {}, {"a": 1},
        set(), range(2**43), range(2**62), range(3), (1, "a"), [None], [zs.ones(2), zs.ones(2)], (zs.ones(3), np.ones(3)),
    ]  # fmt: skip
    others = [
        None, Ellipsis, NotImplemented, slice(None), slice(2**70, None, -1), slice(None, None, 0), int, zs.float32, zs.int8, zs.bool,
        zs.complex128, zs.Tensor, object(), len, lambda *arguments: arguments[0], iter([1, 2]), (number for number in range(3)),
        memoryview(b"abcdefgh"), memoryview(bytearray(16)).cast("d"), Raising(), Shrinking([1, 2, 3]), Lying(2**62, [1]),
        Lying(-1, []), Lying(3, []), Lying(0, [1, 2]), Reentrant(zs.zeros(2)),
        Misleading({"shape": (2**40,), "typestr": "<f8", "data": (0, False), "version": 3}),
    ]  # fmt: skip
    kinds = [tensors, tensors, arrays, numbers, numbers, words, lists, others]
    sizes = [[], [2], (2, 3), (0, 3), [-1], [1, 6], 1, 0, 2**40, (2**40, 2**40), range(2**43)]
    dtypes = [zs.float32, zs.float64, zs.int64, zs.uint8, zs.bool, zs.complex64, zs.bfloat16, None, "float16", float, np.int16]
    plausible = {
        "dim": [0, -1, 1, None, (0, 1), [], 64, -65], "keepdim": [True, False], "dtype": dtypes, "size": sizes, "shape": sizes,
        "sizes": sizes, "dims": [(0, 1), (1, 0), 0, [-1]], "out": tensors, "index": tensors + numbers, "tensors": lists + [tensors[:2]],
    }  # fmt: skip

    def draw(parameter=None):
        """What a parameter of that name would take, or anything."""
        if parameter is None or chance.random() < 0.25:
            return chance.choice(chance.choice(kinds))
        return chance.choice(plausible.get(parameter) or chance.choice((tensors, tensors, arrays, numbers)))

    return draw


def shown():
    """Everything that may be called, by name: functions, classes, and methods of tensors with their receiver open."""
    calls = []
    for name in zs.__all__:
        value = getattr(zs, name)
        if callable(value) and name not in LEFT_OUT:
            calls.append((name, value, False))
    for name in dir(zs.Tensor):
        value = getattr(zs.Tensor, name)
        if callable(value) and name not in ("__class__", "__new__", "__init__", "__init_subclass__", "__subclasshook__", "__del__"):
            calls.append((f"Tensor.{name}", value, True))
    return calls


def parameters(function):
    """The names of a function's arguments, as far as it tells: those that must be given, and the others."""
    text = getattr(function, "__text_signature__", None) or "(input, other, out=None, dim=None, dtype=None)"
    pieces = [piece.strip() for piece in text.strip("()").split(",")]
    given = [piece.strip("*") for piece in pieces if piece not in ("", "*", "/", "$self") and "=" not in piece]
    return given, [piece.split("=")[0] for piece in pieces if "=" in piece] or ["out"]


def alarm(_number, _frame):
    raise Interrupted


def run(seed, count):
    chance = random.Random(seed)
    draw, calls = hostile_values(chance), shown()
    path = os.environ.get("ZEROSTRIDE_ADVERSARY") or tempfile.NamedTemporaryFile(delete=False).name
    with open(path, "wb") as file:
        file.write(bytes(4096))
    with open(path, "r+b") as file:
        note = mmap.mmap(file.fileno(), 4096)
    signal.signal(signal.SIGALRM, alarm)
    raised = {}
    for number in range(count):
        name, function, is_method = chance.choice(calls)
        required, optional = parameters(function)
        positional = [draw(parameter) for parameter in required]
        if chance.random() < 0.1:
            positional = [draw() for _ in range(chance.randrange(5))]
        if is_method:
            receiver = draw()
            while not isinstance(receiver, zs.Tensor):
                receiver = draw()
            positional.insert(0, receiver)
        named = {parameter: draw(parameter) for parameter in chance.choices(optional, k=chance.choice((0, 0, 1, 2)))}
        text = f"{number}: {name}({', '.join(map(described, positional))}, **{{{', '.join(f'{key}: {described(value)}' for key, value in named.items())}}})"
        note[:] = text.encode(errors="replace")[:4095].ljust(4096, b"\0")
        try:
            signal.setitimer(signal.ITIMER_REAL, LONGEST)
            try:
                function(*positional, **named)
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        except Exception as error:
            if isinstance(error, SystemError):
                raise SystemExit(f"{text}\nraised {error!r}") from error
            raised[type(error).__name__] = raised.get(type(error).__name__, 0) + 1
        except BaseException as error:
            raise SystemExit(f"{text}\nraised {type(error).__name__}: {error}") from error
    print(f"{count} calls of {len(calls)} functions, {count - sum(raised.values())} returned; raised: {dict(sorted(raised.items()))}")


def described(value):
    """A value in few words, none of them its own."""
    if isinstance(value, zs.Tensor):
        return f"tensor{list(value.shape)}:{value.dtype}"
    if isinstance(value, np.ndarray):
        return f"array{list(value.shape)}:{value.dtype}"
    if isinstance(value, (int, float, complex, str, bytes, slice, range, type(None))):
        return repr(value)[:60]
    return type(value).__name__


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    os.chdir(tempfile.mkdtemp())
    run(int(sys.argv[1]), int(sys.argv[2]))
