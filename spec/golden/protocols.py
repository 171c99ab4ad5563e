"""What Python's own protocols, and the overloads of PyTorch's functions, do with tensors: expressions and their answers.

Owns `protocols.json`. An answer is what is printed of the value, with its dtype, or the class and the first line of the error.
"""

import copy
import math
import operator
import sys
import warnings

import numpy as np

EXPRESSIONS = """
3.0 in x
x[0] in x
99 in x
"a" in x
None in x
s in s
2.5 in s
float("nan") in x
np.float64(3) in x
[1] in x
zs.tensor([0.,4,9]) in x
True in m
list(iter(i))
list(iter(s))
list(iter(e))
list(iter(x))
len(x)
len(s)
len(e)
format(s)
format(s,".3f")
format(x,"")==str(x)
format(x,".2f")
format(i,"d")
f"{n:04d}"
f"{n}"
f"{b}"
f"{z}"
f"{one}"
format(one,"d")
format(z,".1f")
bool(s)
bool(x)
bool(e)
bool(zs.tensor([0]))
bool(one)
bool(z)
not n
operator.index(n)
operator.index(s)
operator.index(one)
operator.index(x)
operator.index(b)
[10,20,30,40][n]
range(n)
operator.index(zs.tensor([[3]]))
round(s)
round(s,1)
round(x)
round(n)
round(zs.tensor(2.345),2)
round(x,1)
hash(s)==hash(s)
hash(s)==hash(zs.tensor(2.5))
{s:1}[s]
len({n,zs.tensor(3)})
list(reversed(i))
type(reversed(i)).__name__
reversed(s)
reversed(x)
copy.copy(x) is x
copy.copy(x).data_ptr()==x.data_ptr()
copy.deepcopy(x).data_ptr()==x.data_ptr()
(lambda l: l[0] is l[1])(copy.deepcopy([x,x]))
copy.copy(x)
copy.deepcopy({"a":x})
sys.getsizeof(x)>0
abs(zs.tensor(-2))
divmod(n,2)
divmod(7,n)
divmod(x,2)
math.floor(s)
math.ceil(s)
math.trunc(s)
math.floor(x)
math.sqrt(s)
math.isnan(s)
math.trunc(n)
math.floor(n)
math.prod(i)
sum(i)
max(i)
min(i)
sorted(i)
int(s)
float(n)
complex(n)
complex(z)
int(z)
float(z)
int(x)
int(one)
float(zs.tensor([[2.]]))
int(b)
int(zs.tensor(float("inf")))
int(zs.tensor(float("nan")))
float(e)
complex(x)
x==None
x!=None
x=="a"
x!="a"
x==object()
x<None
x<"a"
x==[1,2,3]
i==[0,1,5]
i==(0,1,5)
None==x
"a"==x
s==2.5
x==x
n=="3"
x is None
x==NotImplemented
x<[1.,2,3]
x+None
None+x
x+[1.,2.,3.]
[1.,2.,3.]+x
x*[1,2,3]
x@None
None@x
2@x
x@2
[1.,2.]@x
x@x
x**None
None**x
x//None
x<<None
pow(n,2)
pow(2,n)
pow(n,2,5)
-b
+b
~n
~s
-x
+x
~m
(lambda a: operator.iadd(a,1))(zs.tensor(1))
(lambda a: operator.iadd(a,1.5))(zs.tensor(1))
(lambda a: operator.imul(a,a))(zs.tensor(3))
(lambda a: operator.itruediv(a,2))(zs.tensor(3))
(lambda a: operator.ipow(a,2))(zs.tensor(3))
(lambda a: operator.imatmul(a,a))(zs.ones(2,2))
(lambda a: operator.iand(a,True))(zs.tensor(True))
(lambda a: operator.ifloordiv(a,2))(zs.tensor(3))
(lambda a: operator.imod(a,2))(zs.tensor(3))
(lambda a: operator.ilshift(a,2))(zs.tensor(3))
(lambda a: operator.ixor(a,1))(zs.tensor(3))
x[0,0].item()
x.item()
(lambda a,b: (a,b))(*x)
(lambda a: a)(*x)
dict(zip(i,"abc")).__len__()
list(zip(i,x.T))
[*i]
max(x.sum(0),key=float)
any(m)
all(m)
list(map(int,i))
list(enumerate(i))
"".join(map(str,i))
list(filter(None,i))
i.tolist()
s.tolist()
e.tolist()
x.tolist()
m.tolist()
z.tolist()
zs.zeros(0,3).tolist()
zs.zeros(2,0).tolist()
repr(s)
str(s)
repr(e)
repr(x)
repr(b)
ascii(n)
str(x)==repr(x)
"%s"%s
"%d"%n
"%.2f"%s
"{:>8.2f}".format(s)
isinstance(x,zs.Tensor)
callable(x)
operator.length_hint(x)
operator.contains(i,2)
operator.countOf(i,2)
operator.indexOf(i,2)
operator.truth(n)
operator.not_(n)
operator.eq(n,3)
operator.itemgetter(0)(i)
operator.attrgetter("ndim")(x)
x.real
x.imag
z.real
z.imag
zs.tensor([1+2j,3-1j]).real
zs.tensor([1+2j,3-1j]).imag
zs.tensor([True]).real
zs.std(x,0,False)
zs.std(x,False)
zs.var(x,unbiased=False)
zs.var(x,0,unbiased=True,keepdim=True)
zs.std_mean(x,0,False)
zs.var_mean(x,unbiased=False)
zs.clamp_min(x,2)
zs.clamp_max(x,s)
zs.clamp_min(i,1.5)
x.clamp_min(1)
zs.rsub(x,1)
zs.rsub(x,1,alpha=2)
zs.rsub(i,i,alpha=3)
zs.where(x>1)
zs.where(n)
zs.where(condition=m)
zs.clamp_min(m,m)
zs.clamp_min(m,True)
zs.clamp(m,min=m)
zs.clamp_min(z,1)
zs.std(x,unbiased=True,correction=1)
zs.std(x,correction=None)
zs.std(x,1,2)
zs.ones(2,3,dtype=zs.bool).sum_to_size(1,3)
zs.ones(2,3,dtype=zs.bool).sum_to_size(2,3)
x.clone().clamp_min_(2)
x.clone().clamp_max_(2)
copy.deepcopy(x)
z.real.data_ptr() == z.data_ptr()
(lambda a: (setattr(a, "real", 5), a))(zs.tensor([1+2j]))
(lambda a: (setattr(a, "imag", 5.5), a))(zs.tensor([1+2j]))
(lambda a: (setattr(a, "real", 5), a))(zs.tensor([1.5]))
(lambda a: (a.real.add_(1), a))(zs.tensor([1+2j, 3j]))
zs.tensor([[1j, 2], [3, 4j]]).T.imag
int(zs.tensor(3+0j))
zs.rsub(m, m)
zs.rsub(m, 1)
zs.rsub(i, 1, alpha=2.5)
zs.clamp_max(i, -1.5)
zs.clamp_min(zs.arange(3, dtype=zs.uint8), 300)
zs.clamp_max(zs.arange(3, dtype=zs.uint8), 300)
zs.clamp(m, True)
zs.clamp_min(zs.ones(2,3), zs.ones(4))
zs.std_mean(x, False)
zs.var_mean(x, 1, True, True)
zs.std_mean(x, correction=0)
x.std(0, False, True)
x.var(True)
zs.var(x, (0, 1), False, True)
zs.clamp_min(min=1, input=x)
zs.where(zs.zeros(2, 2))
zs.where(m, 1, 2)
zs.rsub(zs.ones(2,3), zs.ones(4))
zs.nansum(zs.tensor([1.5,math.nan,2.5]),dtype=zs.int64)
zs.nansum(zs.tensor([[1.,math.nan]]),1,dtype=zs.int32)
zs.nansum(zs.tensor([1.5,math.nan]),dtype=zs.float64)
zs.zeros(3,dtype=zs.int8).masked_fill_(zs.tensor([True,False,False]),zs.tensor(300))
zs.zeros(3).masked_fill(zs.tensor([True,False,False]),zs.tensor(1+1j))
zs.zeros(3,dtype=zs.int64).masked_fill(zs.tensor([True,False,False]),zs.tensor(math.nan))
zs.zeros(3).masked_fill(zs.tensor([True,False,False]),zs.tensor(1e300,dtype=zs.float64))
zs.zeros(3,dtype=zs.int8).masked_fill(zs.tensor([True,False,False]),zs.tensor(2.5))
zs.zeros(3,dtype=zs.int8).fill_(zs.tensor(300))
zs.zeros(3).fill_(zs.tensor(1e300,dtype=zs.float64))
zs.zeros(3).fill_(zs.tensor(1j))
zs.zeros(3).fill_(zs.ones(1))
zs.zeros(3,dtype=zs.int8).fill_(300)
zs.cat([zs.zeros(0,dtype=zs.int64),zs.zeros(0)])
zs.cat([zs.zeros(0,dtype=zs.int32),zs.zeros(0,dtype=zs.complex64)])
zs.hstack([zs.zeros(0,dtype=zs.bool),zs.zeros(0,dtype=zs.int16)])
zs.cat([zs.zeros(0,dtype=zs.float64),zs.arange(2)])
zs.zeros(3,dtype=zs.uint8).index_add_(0,zs.tensor([0]),zs.tensor([1],dtype=zs.uint8),alpha=300)
zs.zeros(3,dtype=zs.int32).index_add(0,zs.tensor([0]),zs.tensor([2],dtype=zs.int32),alpha=2.5)
zs.zeros(3,dtype=zs.bool).index_add(0,zs.tensor([0]),zs.tensor([True]),alpha=2)
zs.bucketize(zs.tensor([[1],[2]]),zs.tensor([[1,2],[3,4]]))
zs.bucketize(x,zs.tensor(1.))
zs.bucketize(zs.tensor([[0,1],[2,3]]),zs.tensor([1,3]))
zs.zeros(0).std(correction=-1)
zs.var(zs.zeros(0,3),0,correction=-2)
zs.std(zs.ones(2),correction=-1)
zs.full((3,),1e40)
zs.full((2,),1e38)
zs.full((2,),True)
zs.full((2,),7)
zs.full((2,),1j)
x.where(condition=x>2,other=zs.tensor(9.))
x.where(x>2,other=9.)
x.clone().copy_(other=zs.ones(3))
zs.as_tensor(data=[1])
x.view(size=(3,2))
zs.frexp(x).mantissa
zs.frexp(x).exponent
""".strip().splitlines()


def values(zs):
    """What the names in the expressions stand for."""
    return {
        "zs": zs, "np": np, "copy": copy, "math": math, "operator": operator, "sys": sys, "x": zs.arange(6.0).reshape(2, 3),
        "i": zs.arange(3), "s": zs.tensor(2.5), "n": zs.tensor(3), "b": zs.tensor(True), "e": zs.zeros(0), "one": zs.tensor([7]),
        "z": zs.tensor(1 + 2j), "m": zs.tensor([True, False]),
    }  # fmt: skip


def shown(value):
    """A value in one line, with the dtype of every tensor in it."""
    if isinstance(value, (list, tuple)):
        return f"{type(value).__name__}({', '.join(map(shown, value))})"
    dtype = f" {str(value.dtype).split('.')[-1]}" if hasattr(value, "dtype") else ""
    return " ".join(str(value).split()) + dtype


def answer(expression, names):
    """What an expression is, or what it raises."""
    try:
        return shown(eval(expression, names))
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"


def main():
    # The tests of the package ask the same of zerostride, where there is no PyTorch.
    import torch

    from store import provenance, write_json

    warnings.simplefilter("ignore")
    answers = [{"expression": text, "answer": answer(text, values(torch))} for text in EXPRESSIONS]
    write_json("protocols.json", provenance("protocols.py"), {"cases": answers})


if __name__ == "__main__":
    main()
