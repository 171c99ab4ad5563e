"""Matrix products that take operands of certain ranks alone."""

import numpy as np
import pytest
import zerostride as zs

ones = zs.ones


def test_they_are_the_matrix_product():
    x, y = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
    assert zs.mm(x, y).tolist() == zs.tensor(x).mm(mat2=y).tolist() == (x @ y).tolist()
    assert zs.mv(x, y[:, 0]).tolist() == (x @ y[:, 0]).tolist()
    assert zs.dot(x[0], tensor=x[1]).item() == x[0] @ x[1]
    assert zs.bmm(np.stack([x, x]), np.stack([y, y])).tolist() == [(x @ y).tolist()] * 2
    np.testing.assert_array_equal(zs.fuse(lambda x, y: zs.mm(x, y) + 1)(x, y), x @ y + 1)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: zs.mm(ones(2), ones(2, 3)), "mm: self must be a matrix, got 1-D tensor"),
        (lambda: zs.mm(ones(2, 3), ones(3)), "mm: mat2 must be a matrix, got 1-D tensor"),
        (lambda: zs.mm(ones(2, 3), ones(2, 3)), r"mm: mat1 and mat2 shapes cannot be multiplied \(2x3 and 2x3\)"),
        (lambda: zs.bmm(ones(2, 3), ones(2, 3)), "batch1 must be a 3D tensor"),
        (lambda: zs.bmm(ones(2, 3, 4), ones(2, 3)), "batch2 must be a 3D tensor"),
        (lambda: zs.bmm(ones(2, 3, 4), ones(1, 4, 3)), r"batch2 tensor to be: \[2, 4\] but got: \[1, 4\]."),
        (lambda: zs.bmm(ones(2, 3, 4), ones(2, 3, 3)), r"batch2 tensor to be: \[2, 4\] but got: \[2, 3\]."),
        (lambda: zs.mv(ones(2, 3, 3), ones(3)), r"vector \+ matrix @ vector expected, got 1, 3, 1"),
        (lambda: zs.mv(ones(2, 3), ones(2)), r"size mismatch, got input \(2\), mat \(2x3\), vec \(2\)"),
        (lambda: zs.dot(ones(2, 2), ones(2)), "1D tensors expected, but got 2D and 1D tensors"),
        (lambda: zs.dot(ones(2), ones(2).double()), "expected both vectors to have same dtype, but found Float and Double"),
    ],
)
def test_other_shapes_are_refused_in_pytorchs_words(call, text):
    with pytest.raises(RuntimeError, match=text):
        call()
