"""What a fused function's result depends on: never a stale one, traced no more often than needed, and nothing kept alive."""

import collections
import copy
import dataclasses
import enum
import functools
import gc
import math
import types
import weakref

import numpy as np
import pytest
import zerostride as zs


class Settings:
    def __init__(self, scale):
        self.scale = scale


@dataclasses.dataclass
class Data:
    scale: float


@dataclasses.dataclass(frozen=True)
class Frozen:
    scale: float


class Color(enum.Enum):
    RED = 2
    BLUE = 3


class Level(enum.IntEnum):
    LOW = 2
    HIGH = 3


class Weighted(float):
    """A float that has more to it."""


X = np.arange(1.0, 5.0)
CALLS = []


def counted(function):
    """The fused function, and how often it has been traced."""
    calls = []

    def inner(*arguments, **named):
        calls.append(1)
        return function(*arguments, **named)

    return zs.fuse(inner), calls


@pytest.mark.parametrize("make", [Settings, Data, lambda scale: types.SimpleNamespace(scale=scale)])
def test_objects_that_change_are_read_anew(make):
    f = zs.fuse(lambda x, settings: x * settings.scale)
    settings = make(2)
    assert f(X, settings).tolist() == (X * 2).tolist()
    settings.scale = 3
    assert f(X, settings).tolist() == (X * 3).tolist()
    assert f(X, settings=make(4)).tolist() == (X * 4).tolist()


def test_methods_read_their_object_and_its_class_anew():
    class Model:
        factor = 2

        def __init__(self):
            self.weight, self.steps = zs.ones(4), [1]

        @property
        def doubled(self):
            return 2 * self.factor

        @zs.fuse
        def run(self, x):
            return x * self.weight * self.doubled + len(self.steps)

    model = Model()
    assert model.run(X).tolist() == (4 * X + 1).tolist()
    model.weight.fill_(2)
    assert model.run(X).tolist() == (8 * X + 1).tolist()
    model.weight = zs.zeros(4)
    model.steps.append(2)
    assert model.run(X).tolist() == [2] * 4
    model.weight, Model.factor = zs.ones(4), 3
    assert model.run(X).tolist() == (6 * X + 2).tolist()


@pytest.mark.parametrize(
    "one, other",
    [
        (0.0, -0.0), (1, 1.0), (True, 1), (True, 1.0), (1, 1 + 0j), (2, 3), ("a", "b"), ("1", 1), (b"a", "a"), (None, 0), (None, False),
        (2**70, 2**70 + 1), (2**70, -(2**70)), ((1, 2), (2, 1)), ((1, 2), [1, 2]), ([1, 2], [1, 3]), ([[1], 2], [[1, 2]]), ({"a": 1}, {"a": 2}),
        ({"a": 1}, {"b": 1}), ({"a": 1}, ["a", 1]), (slice(1), slice(2)), (slice(0, 1), slice(0, 1, 1)), (range(3), range(4)), (..., None),
        (np.float64(1), 1.0), (np.float64(1), np.float64(2)), (Color.RED, Color.BLUE), (Level.LOW, Level.HIGH), (Level.LOW, 2),
        (zs.float32, zs.float64), (np.dtype("f4"), np.dtype("f8")), (np.float32, np.float64), (np.sin, np.cos), (math.sin, math.cos),
        (zs.sin, zs.cos), (float, int), (np.str_("a"), "a"), (Weighted(1), 1.0), (Frozen(1), Frozen(2)), (float("inf"), -float("inf")),
        (0j, complex(0.0, -0.0)), (lambda x: x, lambda x: x + 1), (functools.partial(int), functools.partial(int, 3)),
    ],
    # An address is another one in each process.
    ids=lambda value: value.__name__ if isinstance(value, types.FunctionType) else repr(value),
)  # fmt: skip
def test_what_differs_is_told_apart(one, other):
    seen = []
    f = zs.fuse(lambda x, value: seen.append(value) or x + 1)
    f(X, one)
    f(X, other)
    assert seen[0] is one and seen[1] is other


@pytest.mark.parametrize(
    "value",
    [
        0.0, float("nan"), 1, True, None, "word", b"bytes", 2**70, 1j, (1, (2.0, "a")), [1, [2]], {"a": (1, 2)}, slice(1, 2), range(3), ...,
        np.float64(2), Color.RED, Level.LOW, zs.float32, np.dtype("i8"), np.float32, np.sin, math.sin, zs.exp, int, np.str_("x"),
    ],
    ids=repr,
)  # fmt: skip
def test_what_is_the_same_is_traced_once(value):
    f, calls = counted(lambda x, value: x + 1)
    for _ in range(3):
        f(X, copy.deepcopy(value) if not callable(value) else value)
        f(X, value=value)
    assert len(calls) == 2


def test_lists_are_compared_by_their_items_in_each_call():
    f, calls = counted(lambda x, dims: x.sum(tuple(dims)))
    dims, x = [0], np.ones((2, 3))
    assert f(x, dims).tolist() == [2, 2, 2]
    dims[0] = 1
    assert f(x, dims).tolist() == [3, 3]
    assert f(x, [0]).tolist() == [2, 2, 2]
    assert len(calls) == 2
    endless = []
    endless.append(endless)
    assert zs.fuse(lambda x, value: x)(X, endless) is X
    assert zs.fuse(lambda x, value: x)(X, list(range(100_000))) is X


SCALE, STEPS, TABLE, WEIGHT = 2, [1, 2], {"a": 1}, zs.ones(4)


def helper(x):
    return x * SCALE


def test_globals_that_change_are_read_anew(monkeypatch):
    here = globals()
    cases = [
        (lambda x: x * SCALE, "SCALE", 3, X * 3), (helper, "SCALE", 3, X * 3), (lambda x: helper(x), "SCALE", 3, X * 3),
        (lambda x: helper(x), "helper", lambda x: x + SCALE, X + 2), (lambda x: x * len(STEPS), "STEPS", [1], X),
        (lambda x: x * TABLE["a"], "TABLE", {"a": 5}, X * 5), (lambda x: x * WEIGHT, "WEIGHT", zs.zeros(4), X * 0),
        (lambda x: x + [y * SCALE for y in (1,)][0], "SCALE", 3, X + 3), (lambda x: (lambda y: y * SCALE)(x), "SCALE", 3, X * 3),
        (lambda x: x * float(WEIGHT.sum()), "WEIGHT", zs.zeros(4), X * 0), (lambda x: x * (WEIGHT * 2), "WEIGHT", zs.zeros(4), X * 0),
        (lambda x: x * getattr(SETTINGS, "scale"), "SETTINGS", Settings(7), X * 7), (lambda x: x * globals()["SCALE"], "SCALE", 4, X * 4),
    ]  # fmt: skip
    monkeypatch.setitem(here, "SETTINGS", Settings(2))
    for function, name, value, wanted in cases:
        f = zs.fuse(function)
        before = f(X).tolist()
        assert before == f(X).tolist() == function(X).tolist()
        with monkeypatch.context() as changed:
            changed.setitem(here, name, value)
            np.testing.assert_array_equal(f(X), wanted)
        assert f(X).tolist() == before


def test_what_is_inside_of_globals_is_read_anew():
    f = zs.fuse(lambda x: x * len(STEPS) + TABLE["a"] + WEIGHT)
    assert f(X).tolist() == (X * 2 + 2).tolist()
    STEPS.append(3)
    TABLE["a"] = 5
    WEIGHT.fill_(0)
    try:
        assert f(X).tolist() == (X * 3 + 5).tolist()
    finally:
        STEPS.pop()
        TABLE["a"] = 1
        WEIGHT.fill_(1)


def test_modules_closures_and_defaults_are_read_anew():
    module = types.ModuleType("config_of_a_test")
    module.scale, module.inner = 2, types.ModuleType("inner_of_a_test")
    module.inner.offset, module.change = 1, lambda x: x + 1
    scale, steps = 2, [1]

    def set_scale(value):
        nonlocal scale
        scale = value

    def function(x, extra=[0], *, factor=1):  # noqa: B006: what is mutable is the point
        return module.change(x * scale * module.scale + module.inner.offset + len(steps) + len(extra)) * factor

    f = zs.fuse(function)

    def same():
        assert f(X).tolist() == function(X).tolist()
        assert f(X, factor=2).tolist() == function(X, factor=2).tolist()

    same()
    set_scale(3)
    same()
    steps.append(2)
    same()
    module.scale = 5
    same()
    module.inner.offset = 7
    same()
    module.change = lambda x: x * 10
    same()
    function.__defaults__[0].append(3)
    same()
    function.__kwdefaults__["factor"] = 4
    same()


class Slotted:
    __slots__ = ("scale",)

    def __init__(self, scale):
        self.scale = scale


class Defaults:
    scale = 2


class Named(collections.namedtuple("Named", "scale other")):
    """A named tuple with more to it."""


def attribute_of(settings):
    """A function that reads an attribute of an object from outside, fused, and how often it has been traced."""
    calls = []

    def function(x):
        calls.append(1)
        return x * settings.scale

    return zs.fuse(function), calls


@pytest.mark.parametrize(
    "make", [Settings, Data, Slotted, lambda scale: types.SimpleNamespace(scale=scale), lambda scale: type("Made", (), {"scale": scale})]
)
def test_attributes_of_objects_from_outside_are_compared_by_value(make):
    settings = make(2)
    f, calls = attribute_of(settings)
    for scale, traced in ((2, 1), (2, 1), (3, 2), (3, 2), (2, 2), (2.0, 3)):
        settings.scale = scale
        assert f(X).tolist() == (X * scale).tolist()
        assert len(calls) == traced


def test_fields_that_never_change_are_traced_once():
    for settings in (Frozen(2), Named(2, 3), collections.namedtuple("Plain", "scale")(2), Defaults(), Defaults):
        f, calls = attribute_of(settings)
        assert f(X).tolist() == f(X).tolist() == (X * 2).tolist()
        assert len(calls) == 1


def test_attributes_that_are_computed_or_handed_on_are_read_anew():
    class Counted:
        reads = 0

        @property
        def scale(self):
            Counted.reads += 1
            return Counted.reads

        @functools.cached_property
        def cached(self):
            return [1]

        def method(self):
            return self.reads

    class Missing:
        def __getattr__(self, name):
            if name != "scale":
                raise AttributeError(name)
            Counted.reads += 1
            return Counted.reads

    class Watched:
        scale = 0

        def __getattribute__(self, name):
            if name != "scale":
                return object.__getattribute__(self, name)
            Counted.reads += 1
            return Counted.reads

    class Meta(type):
        @property
        def scale(cls):
            Counted.reads += 1
            return Counted.reads

    for settings in (Counted(), Missing(), Watched(), Meta("Made", (), {})):
        f, calls = attribute_of(settings)
        for traced in (1, 2, 3):
            reads = Counted.reads
            assert f(X).tolist() == (X * (reads + 1)).tolist()
            assert (len(calls), Counted.reads) == (traced, reads + 1)
    settings, holder = Counted(), types.SimpleNamespace(weight=zs.ones(4), draw=np.random, inner=Settings(2), function=lambda x: x + 1)
    for function, change in (
        (lambda x: x * settings.method(), lambda: setattr(Counted, "reads", 7)),
        (lambda x: x * len(settings.cached), lambda: settings.cached.append(2)),
        (lambda x: x * holder.weight, lambda: holder.weight.fill_(3)),
        (lambda x: x * vars(holder.inner)["scale"], lambda: setattr(holder.inner, "scale", 5)),
        (lambda x: holder.function(x), lambda: setattr(holder, "function", lambda x: x + 2)),
    ):
        f = zs.fuse(function)
        assert f(X).tolist() == function(X).tolist()
        change()
        assert f(X).tolist() == function(X).tolist()
    drawn = zs.fuse(lambda x: x * holder.draw.rand())
    assert drawn(X).tolist() != drawn(X).tolist()


def test_objects_in_objects_may_be_replaced():
    settings = types.SimpleNamespace(inner=Settings(2), dtype=zs.float32, table={"a": 1}, activation=zs.exp)
    function = lambda x: settings.activation(x.to(settings.dtype) * settings.inner.scale + settings.table["a"])  # noqa: E731
    f = zs.fuse(function)
    for name, value in (("inner", Settings(3)), ("dtype", zs.float64), ("table", {"a": 2}), ("activation", zs.sin), ("inner", Named(4, 5))):
        assert f(X).tolist() == f(X).tolist() == function(zs.tensor(X)).tolist()
        setattr(settings, name, value)
    Settings.scale = property(lambda self: 9)
    try:
        settings.inner = Settings.__new__(Settings)
        assert f(X).tolist() == function(zs.tensor(X)).tolist()
    finally:
        del Settings.scale


def test_an_object_that_the_function_writes_to_is_read_anew():
    log = types.SimpleNamespace(shapes=[], count=0)

    @zs.fuse
    def f(x):
        log.shapes.append(x.shape)
        return x * len(log.shapes)

    @zs.fuse
    def g(x):
        log.count += 1
        return x * log.count

    for calls in (1, 2, 3):
        assert f(X).tolist() == g(X).tolist() == (X * calls).tolist()


def test_a_counter_of_traces_is_no_part_of_what_is_read():
    count, log, table = 0, [], {"n": 0}

    @zs.fuse
    def f(x, k=1):
        nonlocal count
        count += 1
        log.append(x.shape)
        table["n"] += 1
        CALLS.append(1)
        return x * k

    for _ in range(3):
        f(X)
        f(X, 2)
        f(X[:2])
    assert (count, len(log), table["n"], len(CALLS)) == (3, 3, 3, 3)


def test_where_an_array_begins_does_not_matter():
    base = zs.arange(1000, dtype=zs.float64)
    f, calls = counted(lambda x, y: (x[1:] * 2 + y[:-1]).sum() + x.exp().mean() + (x @ y))
    for offset in range(100):
        x, y = base[offset : offset + 20], base[2 * offset : 2 * offset + 20]
        assert f(x, y).item() == f.__wrapped__(x, y).item()
    # The two are the same slice once.
    assert len(calls) == 2 + 100
    g, calls = counted(lambda x: (x * 2).sum(0) + x[0])
    for view in (base.reshape(10, 100)[:, k : k + 5] for k in range(90)):
        np.testing.assert_array_equal(g(view).numpy(), g.__wrapped__(view).numpy())
        np.testing.assert_array_equal(g(view.flip(0)).numpy(), g.__wrapped__(view.flip(0)).numpy())
    assert len(calls) == 2 + 2 * 90
    h, calls = counted(lambda x: x * 2 + 1)
    for offset in range(100):
        assert h(base[offset : offset + 3]).tolist() == [2 * (offset + k) + 1 for k in range(3)]
        assert h(base[offset : offset + 0]).tolist() == []
    assert len(calls) == 2


def test_nothing_is_kept_alive():
    class Model:
        def __init__(self):
            self.weight = np.ones(4)

        @zs.fuse
        def run(self, x, settings, function):
            return function(x * self.weight * settings.scale)

    big, model, settings = np.ones(4), Model(), Settings(2)
    function = lambda x: x + 1  # noqa: E731
    assert model.run(big, settings, function).tolist() == [3] * 4
    kept = [weakref.ref(held) for held in (big, model, model.weight, settings, function)]
    tensor = zs.ones(3)
    plain = zs.fuse(lambda x, f: f(x) * 2)
    plain(tensor, zs.exp)
    kept.append(weakref.ref(tensor))

    class Local(enum.Enum):
        A = 1

    plain = zs.fuse(lambda x, word: x * 2)
    plain(zs.ones(3), Local.A)
    kept.append(weakref.ref(Local))
    del big, model, settings, function, tensor, Local
    gc.collect()
    assert [held() for held in kept] == [None] * len(kept)


def test_a_function_that_knows_itself_is_let_go_of():
    def make():
        big = np.ones(4)

        @zs.fuse
        def f(x):
            return x + 1 if x.ndim else f(x) + big

        f(X)
        return f, weakref.ref(big)

    f, big = make()
    assert big() is not None
    del f
    gc.collect()
    assert big() is None


def test_any_callable_may_be_fused():
    @dataclasses.dataclass
    class Scale:
        factor: float

        def __call__(self, x):
            return x * self.factor

    scale = Scale(2)
    for function in (scale, functools.partial(lambda factor, x: x * factor, 2), scale.__call__, np.exp, zs.exp):
        f = zs.fuse(function)
        for _ in range(2):
            np.testing.assert_array_equal(f(X), np.asarray(function(X)))
    f = zs.fuse(scale)
    f(X)
    scale.factor = 3
    assert f(X).tolist() == (X * 3).tolist()


def test_fused_functions_are_parts_of_fused_functions():
    inner, calls = counted(lambda x, k: x * k)
    outer = zs.fuse(lambda x: inner(x, 2) + inner(x, k=3))
    assert outer(X).tolist() == (X * 5).tolist()
    assert outer.plan(X).count("pass") == 1
    scale = 2
    nested = zs.fuse(lambda x: zs.fuse(lambda y: y * scale)(x) + 1)
    assert nested(X).tolist() == (X * 2 + 1).tolist()


def test_a_function_that_fails_is_traced_again():
    fails = [True]

    @zs.fuse
    def f(x):
        if fails[0]:
            raise KeyError("not yet")
        return x + 1

    with pytest.raises(KeyError, match="not yet"):
        f(X)
    fails[0] = False
    assert f(X).tolist() == (X + 1).tolist()


def test_more_signatures_than_are_kept_still_compute():
    f = zs.fuse(lambda x, k: x * k)
    for k in [*range(200), *range(200)]:
        assert f(X, k).tolist() == (X * k).tolist()


def test_what_returns_something_else_in_each_call_is_asked_in_each():
    import os
    import random
    import time

    rng = np.random.default_rng(0)
    for draw in [
        lambda x: x + zs.rand(4), lambda x: x + random.random(), lambda x: x + time.perf_counter(), lambda x: x + time.time_ns() % 1e9,
        lambda x: x + np.random.normal(), lambda x: x + np.random.rand(4), lambda x: x + rng.normal(), lambda x: x + len(os.urandom(1)) * rng.random(),
    ]:  # fmt: skip
        f = zs.fuse(draw)
        assert f(X).tolist() != f(X).tolist()
    f, calls = counted(lambda x: zs.exp(x) * np.pi + np.sin(x) + math.pi + np.linalg.norm.__class__.__name__.count("z"))
    f(X), f(X)
    assert len(calls) == 1


def test_a_name_of_the_closure_may_be_without_a_value_for_a_while():
    f = zs.fuse(lambda x: x * 2 if x.ndim == 1 else x * later)
    assert f(X).tolist() == (2 * X).tolist()
    later = 3
    assert f(X[None]).tolist() == [(3 * X).tolist()]
    del later
    assert f(X).tolist() == (2 * X).tolist()
