"""Fused functions under torch's transformations, and on tensors of classes made from torch's."""

import pytest
import zerostride as zs
from zerostride import TraceError


# Torch's own forward mode warns of what it calls itself.
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:FutureWarning")


def pairs(x, y):
    return ((x[:, None] - y) ** 2).sum(-1).exp()


def several(x, y):
    return {"product": x @ y.T, "parts": (x.softmax(-1), [y.amax(), x.T.reshape(-1)])}


def shapes(x):
    return x.flatten().unfold(0, 3, 2).flip(0).T[1:].sum(0) + x.diagonal().mean() + x[..., -1].argmax()


TRANSFORMS = {
    "jvp": lambda f, torch: lambda x, y: torch.func.jvp(lambda x: f(x, y), (x,), (x.cos(),)),
    "jvp of both": lambda f, torch: lambda x, y: torch.func.jvp(f, (x, y), (x.cos(), y.sin())),
    "vjp": lambda f, torch: lambda x, y: torch.func.vjp(f, x, y)[1](torch.ones_like(f(x, y))),
    "jacfwd": lambda f, torch: torch.func.jacfwd(f, argnums=(0, 1)),
    "jacrev": lambda f, torch: torch.func.jacrev(f, argnums=1),
    "hessian": lambda f, torch: torch.func.hessian(lambda x, y: f(x, y).sum()),
    "jacfwd of jacfwd": lambda f, torch: torch.func.jacfwd(torch.func.jacfwd(lambda x, y: f(x, y).sum(0))),
    "gradient of a jvp": lambda f, torch: torch.func.grad(
        lambda x, y: torch.func.jvp(f, (x, y), (x.cos(), y.sin()))[1].sum()
    ),
    "vectorized": lambda f, torch: lambda x, y: torch.autograd.functional.jacobian(f, (x, y), vectorize=True),
    "vectorized forward": lambda f, torch: lambda x, y: torch.autograd.functional.jacobian(
        f, (x, y), vectorize=True, strategy="forward-mode"
    ),
    "vectorized hessian": lambda f, torch: lambda x, y: torch.autograd.functional.hessian(
        lambda x: f(x, y).sum(), x, vectorize=True
    ),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_derivatives_of_a_fused_function_are_those_of_the_function(torch, name):
    transform = TRANSFORMS[name]
    x, y = torch.rand(4, 3, dtype=torch.float64), torch.rand(5, 3, dtype=torch.float64)
    torch.testing.assert_close(transform(zs.fuse(pairs), torch)(x, y), transform(pairs, torch)(x, y))


@pytest.mark.parametrize("dims", [(0, None), (None, 0), (0, 0), (2, -1), (1, 2)])
def test_examples_are_one_more_dimension(torch, dims):
    shape = lambda dim, one: one if dim is None else (*one[: dim % 3], 6, *one[dim % 3 :])
    x, y = (torch.rand(shape(dim, (4, 3))) for dim in dims)
    torch.testing.assert_close(torch.vmap(zs.fuse(several), dims)(x, y), torch.vmap(several, dims)(x, y))
    for each in (pairs, torch.func.grad(lambda x, y: pairs(x, y).sum())):
        fused = zs.fuse(pairs) if each is pairs else torch.func.grad(lambda x, y: zs.fuse(pairs)(x, y).sum())
        torch.testing.assert_close(torch.vmap(fused, dims, out_dims=1)(x, y), torch.vmap(each, dims, out_dims=1)(x, y))
    if dims[1] is None:
        torch.testing.assert_close(torch.vmap(zs.fuse(shapes), dims[0])(x), torch.vmap(shapes, dims[0])(x))
        evaluated = torch.vmap(lambda x: zs.evaluate("x.exp() / x.sum(0)", x=x), dims[0])(x)
        torch.testing.assert_close(evaluated, torch.vmap(lambda x: x.exp() / x.sum(0), dims[0])(x))


def test_examples_of_examples_and_gradients_of_batches(torch):
    x, y = torch.rand(2, 6, 4, 3), torch.rand(6, 5, 3)
    mapped = lambda f: torch.vmap(torch.vmap(f), in_dims=(0, None))(x, y)
    torch.testing.assert_close(mapped(zs.fuse(pairs)), mapped(pairs))
    jacobians = lambda f: torch.vmap(torch.func.jacfwd(f))(x[0], y)
    torch.testing.assert_close(jacobians(zs.fuse(pairs)), jacobians(pairs))
    a = x[0, 0].clone().requires_grad_()
    rows = torch.eye(20).reshape(20, 4, 5)
    batched = lambda f: torch.autograd.grad(f(a, y[0]), a, rows, is_grads_batched=True)
    torch.testing.assert_close(batched(zs.fuse(pairs)), batched(pairs))


def test_many_examples_are_one_evaluation(torch):
    calls = []

    @zs.fuse
    def row(x):
        calls.append(tuple(x.shape))
        return (x * x).sum() * x

    x = torch.rand(1000, 8)
    torch.testing.assert_close(torch.vmap(row)(x), (x * x).sum(1, keepdim=True) * x)
    assert calls == [(8,)]
    assert torch.vmap(row)(torch.rand(0, 8)).shape == (0, 8)


def test_tangents_are_carried_or_refused_and_never_lost(torch):
    forward = torch.autograd.forward_ad
    x, t = torch.rand(4), torch.rand(4)
    with forward.dual_level():
        for dual in (forward.make_dual(x, t), forward.make_dual(x.clone().requires_grad_(), t)):
            for result in (zs.fuse(lambda x: x.sin())(dual), zs.evaluate("sin(x)", x=dual)):
                torch.testing.assert_close(forward.unpack_dual(result).tangent, t * x.cos())
            with torch.no_grad():
                assert forward.unpack_dual(zs.fuse(lambda x: x.sin())(dual)).tangent is not None
        for take in (zs.sin, zs.asarray, zs.tensor, lambda x: zs.ones(4) + x):
            with pytest.raises(NotImplementedError, match="forward AD"):
                take(forward.make_dual(x, t))
        assert zs.sin(x).shape == (4,)


def test_what_torch_records_as_its_own_operations_says_so(torch):
    with pytest.raises(NotImplementedError, match="records its own operations"):
        torch.func.linearize(zs.fuse(lambda x: x.sin()), torch.rand(4))


def test_tensors_of_other_classes_stay_of_their_class(torch):
    class Image(torch.Tensor):
        pass

    class Told(torch.Tensor):
        told = []

        @classmethod
        def __torch_function__(cls, function, types, arguments=(), named=None):
            cls.told.append(function)
            return super().__torch_function__(function, types, arguments, named)

    x, y = torch.rand(4, 3), torch.rand(5, 3)
    fused, image = zs.fuse(several), x.as_subclass(Image)
    eager = several(image, y)
    for result in (fused(image, y), fused(image, y=y), fused(image, y.as_subclass(Image))):
        assert type(result["product"]) is type(eager["product"]) is Image
        assert [type(part) for part in (result["parts"][0], *result["parts"][1])] == [Image] * 3
        torch.testing.assert_close(result["product"].as_subclass(torch.Tensor), x @ y.T)
    assert type(zs.evaluate("2 * x", x=image)) is Image
    assert type(fused(torch.nn.Parameter(x), y)["product"]) is torch.Tensor
    variable = image.clone().requires_grad_()
    result = zs.fuse(pairs)(variable, y)
    assert type(result) is Image and result.requires_grad
    result.sum().backward()
    other = image.clone().requires_grad_()
    pairs(other, y).sum().backward()
    assert type(variable.grad) is type(other.grad)
    torch.testing.assert_close(variable.grad, other.grad)
    with torch.no_grad():
        assert type(zs.fuse(pairs)(variable, y)) is Image
    scaled = zs.fuse(lambda x: x * 2)
    assert type(scaled(x.as_subclass(Told))) is Told and Told.told == [scaled]


def test_products_follow_torch_s_autocast(torch):
    product = lambda x, y: (x @ y).relu()
    fused, other = zs.fuse(product), torch.rand(3, 5, requires_grad=True)
    same = dict(rtol=0.02, atol=0.02)
    for dtype in (torch.bfloat16, torch.float16, torch.float32):
        x = torch.rand(4, 3).to(dtype).requires_grad_()
        for wanted in (torch.bfloat16, torch.float16):
            with torch.autocast("cpu", dtype=wanted):
                results = fused(x, other), product(x, other)
            torch.testing.assert_close(*results, **same)
            # Derivatives are those of the call, wherever they are asked for.
            gradients = [torch.autograd.grad(result.float().sum(), (x, other)) for result in results]
            torch.testing.assert_close(*gradients, **same)
    for function in (fused, product):
        with pytest.raises(RuntimeError, match="same dtype"):
            function(torch.rand(4, 3, dtype=torch.bfloat16), other)
        assert function(torch.rand(4, 3), other).dtype is torch.float32


def test_a_class_without_elements_is_refused(torch):
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        fake = torch.rand(3)
    with pytest.raises((TypeError, BufferError, RuntimeError, NotImplementedError, TraceError)):
        zs.fuse(lambda x: x * 2)(fake)
