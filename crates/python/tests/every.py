"""Every public function and method, and what a call of it gives, in values that can be compared."""

import inspect

import numpy as np
import zerostride as zs

# What gives other values each time, shows addresses, changes the process, or hands the memory on as it is.
LEFT_OUT = {
    "__array__", "__buffer__", "__dlpack__", "__hash__", "__reduce__", "__reduce_ex__", "__sizeof__", "data_ptr", "empty_like",
    "set_num_threads", "rand", "randn", "randint", "randperm", "rand_like", "randn_like", "seed", "__class__", "__new__", "__init__",
    "__init_subclass__", "__subclasshook__", "__del__", "view", "view_as", "fuse", "grad", "value_and_grad",
}  # fmt: skip


def calls():
    """Everything that is shown, functions and methods, by name."""
    for name in zs.__all__:
        value = getattr(zs, name)
        if callable(value) and not inspect.isclass(value) and name not in LEFT_OUT:
            yield name, value
    for name in dir(zs.Tensor):
        value = getattr(zs.Tensor, name)
        if callable(value) and name not in LEFT_OUT:
            yield f"Tensor.{name}", value


def values(found):
    """A result in values of Python and NumPy, bools as truth values, all NaN as one."""
    if isinstance(found, zs.Tensor):
        found = found.cpu()
        array = np.asarray(found.float() if found.dtype == zs.bfloat16 else found)
        if array.dtype.kind in "fc":
            array = np.where(np.isnan(array), array.dtype.type(np.nan), array)
        return ("tensor", str(found.dtype), array.shape, (array.view(np.uint8) != 0 if array.dtype == bool else array).tobytes(), str(found) if array.size < 100 else None)
    if isinstance(found, (list, tuple)):
        return [values(part) for part in found]
    return [values(part) for part in found] if hasattr(found, "__next__") else repr(found)
