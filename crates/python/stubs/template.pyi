# The template of the package's stubs: `cargo xtask gen` puts the tables' rows in the two marked places.

import builtins
from collections.abc import Callable, Iterator, Sequence
from contextlib import ContextDecorator
from os import PathLike
from pathlib import Path
from types import EllipsisType, ModuleType
from typing import Any, Literal, NamedTuple, ParamSpec, Self, SupportsIndex, TypeAlias, TypeVar, overload

import numpy as np
import numpy.typing as npt

from . import pool as pool

_Number: TypeAlias = builtins.bool | builtins.int | builtins.float | builtins.complex
# A tensor, an array of NumPy, torch or JAX, or a number.
_Operand: TypeAlias = Tensor | npt.NDArray[Any] | _Number | Any
_Dims: TypeAlias = builtins.int | Sequence[builtins.int] | None
_Sizes: TypeAlias = builtins.int | Sequence[builtins.int]
_DType: TypeAlias = dtype | builtins.str | builtins.type | Any
_Items: TypeAlias = SupportsIndex | slice | EllipsisType | None | Tensor | npt.NDArray[Any] | Sequence[Any]
_Parameters = ParamSpec("_Parameters")
_Returned = TypeVar("_Returned")

__version__: str

class BroadcastError(RuntimeError):
    """Shapes that do not broadcast; the diagnosis is a note that tracebacks show."""
    shapes: tuple[tuple[builtins.int, ...], ...]
    dim: builtins.int | None
    repairs: list[dict[str, Any]]

class TraceError(TypeError):
    """A function does something with an array that cannot be traced, as it needs the values of elements."""

class BroadcastWarning(UserWarning):
    """An implicit broadcast that a policy warns of."""

class dtype:
    """The type of a tensor's elements, as ``torch.dtype``."""
    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def type(self) -> builtins.type[np.generic]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def itemsize(self) -> builtins.int: ...
    @property
    def is_floating_point(self) -> builtins.bool: ...
    @property
    def is_complex(self) -> builtins.bool: ...
    @property
    def is_signed(self) -> builtins.bool: ...
    def to_real(self) -> Self: ...
    def to_complex(self) -> Self: ...

# dtypes

# PyTorch's other names of them.
half: dtype
float: dtype
double: dtype
cfloat: dtype
cdouble: dtype
short: dtype
int: dtype
long: dtype

pi: builtins.float
e: builtins.float
inf: builtins.float
nan: builtins.float
newaxis: None

class finfo:
    """The limits of a floating-point dtype; of a complex one, those of its parts."""
    dtype: dtype
    bits: builtins.int
    eps: builtins.float
    max: builtins.float
    min: builtins.float
    tiny: builtins.float
    smallest_normal: builtins.float
    resolution: builtins.float
    def __init__(self, type: _DType = ...) -> None: ...

class iinfo:
    """The limits of an integer dtype."""
    dtype: dtype
    bits: builtins.int
    max: builtins.int
    min: builtins.int
    def __init__(self, type: _DType) -> None: ...

class _Operations:
    """What tensors, and arrays in files, have in common."""

    # operators
    # methods
    @property
    def shape(self) -> tuple[builtins.int, ...]:
        """The sizes of the dimensions."""
    @property
    def ndim(self) -> builtins.int:
        """The number of dimensions."""
    @property
    def dtype(self) -> dtype:
        """The type of the elements."""
    @property
    def T(self) -> Tensor:
        """The dimensions in reverse order."""
    @property
    def mT(self) -> Tensor:
        """The last two dimensions swapped."""
    @property
    def real(self) -> Tensor:
        """The real parts: of a complex tensor those in its memory, of another one itself."""
    @property
    def imag(self) -> Tensor:
        """The imaginary parts of a complex tensor, in its memory; of another one zeros."""
    def size(self, dim: builtins.int | None = None) -> Any:
        """The sizes of the dimensions, or of one."""
    def dim(self) -> builtins.int:
        """The number of dimensions."""
    @property
    def itemsize(self) -> builtins.int:
        """Bytes of one element."""
    def element_size(self) -> builtins.int:
        """Bytes of one element."""
    @property
    def nbytes(self) -> builtins.int:
        """Bytes of all elements."""
    @property
    def device(self) -> str:
        """Where the elements are: "cpu", or an NVIDIA GPU as "cuda:0"."""
    def detach(self) -> Self:
        """The same values, which gradients take as constants."""
    def is_floating_point(self) -> builtins.bool:
        """Whether the elements are floats."""
    def is_complex(self) -> builtins.bool:
        """Whether the elements are complex numbers."""
    def numel(self) -> builtins.int:
        """The number of elements."""
    def item(self) -> Any:
        """The only element, as a Python number."""
    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers."""
    def numpy(self) -> npt.NDArray[Any]:
        """A NumPy array on the same memory."""
    def __array__(self, dtype: Any = None, copy: builtins.bool | None = None) -> npt.NDArray[Any]: ...
    def __bool__(self) -> builtins.bool: ...
    def __int__(self) -> builtins.int: ...
    def __float__(self) -> builtins.float: ...
    def __index__(self) -> builtins.int: ...
    def __len__(self) -> builtins.int: ...
    def __iter__(self) -> Iterator[Tensor]: ...
    def __getitem__(self, key: _Items | tuple[_Items, ...]) -> Tensor: ...

class Tensor(_Operations):
    """An n-dimensional array of elements of one dtype. Made by ``tensor``, ``asarray``, ``zeros`` and the like."""

    def stride(self, dim: builtins.int | None = None) -> Any:
        """Elements between neighbours along each dimension, or along one."""
    @property
    def writable(self) -> builtins.bool:
        """Whether the elements may be written; not so on memory that was lent for reading."""
    def storage_offset(self) -> builtins.int:
        """The element of the memory at which the tensor starts."""
    def data_ptr(self) -> builtins.int:
        """The address of the first element."""
    def is_contiguous(self) -> builtins.bool:
        """Whether the elements lie next to each other in row-major order."""
    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **keywords: Any) -> Any: ...
    def __array_function__(self, function: Any, types: Any, arguments: Any, keywords: Any) -> Any: ...
    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[builtins.int, builtins.int] | None = None,
        dl_device: tuple[builtins.int, builtins.int] | None = None,
        copy: builtins.bool | None = None,
    ) -> Any: ...
    def __dlpack_device__(self) -> tuple[builtins.int, builtins.int]: ...
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...
    def __array_namespace__(self, *, api_version: str | None = None) -> ModuleType: ...
    def to_device(self, device: str, /, *, stream: None = None) -> Tensor:
        """The tensor on a device: the tensor itself if it is there."""
    def __buffer__(self, flags: builtins.int, /) -> memoryview: ...
    def __complex__(self) -> builtins.complex: ...
    def __setitem__(self, key: _Items | tuple[_Items, ...], value: _Operand) -> None: ...
    def __contains__(self, element: Any) -> builtins.bool: ...
    def __reversed__(self) -> Tensor: ...
    def __copy__(self) -> Tensor: ...
    def __deepcopy__(self, memo: Any) -> Tensor: ...

class Expr(_Operations):
    """An array while a function is traced, or while it is in a file: a computation whose shape and dtype are known."""

class Source(Expr):
    """An array in a file, whose elements are read when they are needed; made by ``open``."""

    @property
    def path(self) -> Path:
        """The file, as it was opened."""

def open(path: str | PathLike[str]) -> Source:
    """An array in a file (npy, npz, safetensors), of which the header is read now and elements when they are needed."""

class Explanation:
    """A broadcast explained: ``str()`` is the text, a notebook shows the picture."""

    def to_dict(self) -> dict[str, Any]:
        """What is known about the broadcast, as ``zs explain --format json`` has it."""
    @property
    def svg(self) -> str:
        """The picture."""
    def html(self) -> str:
        """The report as a page."""
    def _repr_html_(self) -> str: ...

def explain(*operands: Any, lang: str = "en", op: str | None = None, in_place: builtins.bool = False, **named: Any) -> Explanation:
    """Explains how shapes, or arrays of them, broadcast, or why they do not."""

class Fused:
    """A function that runs in one pass over its operands; made by ``fuse``."""

    @property
    def rules(self) -> Literal["numpy", "torch"] | None:
        """Whose rules methods and operators follow inside; ``None`` if the operands decide."""
    def __call__(self, *arguments: Any, **named: Any) -> Any: ...
    def plan(self, *arguments: Any, **named: Any) -> str:
        """What a call with these arguments will do: passes over memory, operations, bytes, scratch memory."""

@overload
def fuse(
    function: Callable[_Parameters, _Returned], rules: Literal["numpy", "torch"] | None = None
) -> Callable[_Parameters, _Returned]:
    """Makes a function of arrays run in one pass, without intermediate arrays, by NumPy's or PyTorch's ``rules``."""

@overload
def fuse(
    function: None = None, rules: Literal["numpy", "torch"] | None = None
) -> Callable[[Callable[_Parameters, _Returned]], Callable[_Parameters, _Returned]]: ...

def grad(function: Callable[..., Any], argnums: builtins.int | Sequence[builtins.int] = 0) -> Callable[..., Any]:
    """The function that returns the gradient of a function of arrays, with respect to one positional argument or several."""

def value_and_grad(
    function: Callable[..., Any], argnums: builtins.int | Sequence[builtins.int] = 0
) -> Callable[..., tuple[Any, Any]]:
    """The function that returns what a function of arrays returns, and its gradient."""

def vjp(function: Callable[..., Any], *args: Any) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """The value of a function, and the function that takes a cotangent of it to those of the arguments."""

def jvp(function: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """The value of a function, and how it changes as its arguments change by their tangents."""

def isin(
    elements: Any, test_elements: Any, *, assume_unique: builtins.bool = False, invert: builtins.bool = False, out: Any = None
) -> Tensor:
    """Whether each of ``elements`` is among ``test_elements``; with ``invert``, whether it is not."""

def evaluate(
    expression: str | Expr | Callable[..., Any] | Sequence[Any] | dict[Any, Any],
    out: Any = None,
    *,
    max_memory: builtins.int | str | None = None,
    force: builtins.bool = False,
    progress: builtins.bool | Callable[[builtins.int, builtins.int], Any] = False,
    **arrays: Any,
) -> Any:
    """Computes a formula in one pass, without intermediate arrays; ``out``, arrays or paths of files, takes the results."""

class policy(ContextDecorator):
    """Says what happens to implicit broadcasts in a block: "allow", "warn" or "error" for each class."""

    def __init__(self, *, max_bytes: builtins.int | str | None = None, **classes: str) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *error: Any) -> None: ...

class Record(NamedTuple):
    """One implicit broadcast, and how often it was met."""

    op: str
    shapes: tuple[tuple[builtins.int, ...], ...]
    result: tuple[builtins.int, ...]
    bytes: builtins.int
    stored: builtins.bool
    classes: tuple[str, ...]
    file: str
    line: builtins.int
    times: builtins.int

class audit(ContextDecorator):
    """Records every implicit broadcast of a block: of tensors of this package and, where torch is imported, of torch's."""

    def __init__(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *error: Any) -> None: ...
    @property
    def records(self) -> list[Record]:
        """The broadcasts, in the order in which they were met first."""
    def report(self) -> None:
        """Prints the broadcasts, the worst first."""
    def html(self) -> str:
        """The report as a page."""

def set_num_threads(threads: builtins.int) -> None:
    """Sets how many threads work on one evaluation."""

def get_num_threads() -> builtins.int:
    """How many threads work on one evaluation."""

def show_config() -> None:
    """Prints what computes in this process: the version, the instruction set, whether formulas become machine code, and
    the threads."""


# functions
