"""Which functions take `out`: calls with and without it.

Owns `out.json`. A call is written in Python over the names `x`, `y`, `v`, `i` and `m`, which the header gives.
"""

import torch

from store import provenance, write_json

OPERANDS = {
    "x": "arange(6.0).reshape(2, 3)",
    "y": "arange(6.0).reshape(2, 3) + 1",
    "v": "arange(3.0)",
    "i": "tensor([0, 1])",
    "m": "arange(6).reshape(2, 3) % 2",
}

# The functions that are no element-wise operations, those among them that take no `out` too.
CALLS = """
aminmax(x) aminmax(x,dim=0) arange(3) arange(1,5,2) argsort(x) argwhere(x) bucketize(x,v) cat([x,y]) cat([x,y],1) concat([x,y])
clip(x,1,2) clip(x,max=v) clone(x) count_nonzero(x) cumprod(x,0) cumsum(x,0) diff(x) dstack([x,y]) empty(2,3) empty_like(x) eye(3)
flip(x,(0,)) frexp(x) full((2,3),1.5) full_like(x,1) gather(x,1,m) hstack([x,y]) index_add(x,0,i,y) index_put(x,(i,),v)
index_select(x,0,i) kthvalue(x,1) linspace(0,1,5) masked_scatter(x,m>0,y) masked_select(x,m>0) matmul(x,y.T) matmul(x,v)
mm(x,y.T) mv(x,v) dot(v,v) bmm(x[None],y.T[None])
max(x) max(x,0) max(x,y) median(x,0) min(x) min(x,0) min(x,y) nanmean(x) nanmedian(x,0) nanquantile(x,0.5) nansum(x) nansum(x,0)
nonzero(x) ones(2,3) ones_like(x) outer(v,v) quantile(x,0.5) quantile(x,v/2,0) rand(2,3) repeat_interleave(x,2) roll(x,1)
scatter(x,1,m,y) scatter_add(x,1,m,y) searchsorted(v,x) sort(x) sort(x,0,descending=True) stack([x,y]) std_mean(x) take(x,i)
take_along_dim(x,m,1) tensordot(x,y.T,1) tile(x,(2,)) topk(x,2) tril(x) triu(x,1) var_mean(x) vstack([x,y]) zeros(2,3) zeros_like(x)
linalg.vecdot(x,y) einsum('ij->i',x) sum(x,0) mean(x,0) prod(x,0) argmax(x,0) amax(x,0) std(x,0) softmax(x,0) where(m>0,x,y)
allclose(x,y) equal(x,y) isclose(x,y)
""".split()


def case(call):
    """A call, how many tensors it returns, and whether it takes `out` for them."""
    # A name that is computed is not one of torch's own functions.
    names = vars(torch) | {name: eval(text, vars(torch).copy()) for name, text in OPERANDS.items()}
    results = eval(call, names)
    several = isinstance(results, tuple)
    parts = results if several else (results,)
    row = {"call": call, "results": len(parts) if several else 1, "takes_out": False}
    if all(isinstance(part, torch.Tensor) for part in parts):
        targets = [torch.empty_like(part) for part in parts]
        names["target"] = tuple(targets) if several else targets[0]
        try:
            eval(f"{call[:-1]}, out=target)", names)
            row["takes_out"] = True
        except TypeError:
            pass
    return row


def main():
    write_json("out.json", provenance("out.py", operands=OPERANDS), {"cases": [case(call) for call in CALLS]})


if __name__ == "__main__":
    main()
