"""The Python peers of the benchmark: one process for each, chosen by its name.

    python python.py NumPy|numexpr|JAX|torch|torch.compile

Reads one request per line and answers each with one line, as `bench/src/protocol.rs` says. Each formula is written as
the library's users would write it; where a library has a function for it (softmax, layer_norm, gelu), that is used.
"""

import gc
import json
import sys
import time

import numpy as np

PERIOD = 65_521
KINDS = {"bool": np.bool_, "u8": np.uint8, "i32": np.int32, "bf16": np.float32, "f32": np.float32, "f64": np.float64}


class Absent(Exception):
    """The library cannot compute a workload."""


def values(seed, operand):
    """The elements of operand number `seed`: those of `bench/src/element.rs`."""
    shape, low, high = operand["shape"], operand["low"], operand["high"]
    numel = int(np.prod(shape))
    x = np.arange(1, min(numel, PERIOD) + 1, dtype=np.uint64) + seed * 0x9E3779B9
    x = x & 0xFFFFFFFF
    x = ((x ^ (x >> 16)) * 0x7FEB352D) & 0xFFFFFFFF
    x = ((x ^ (x >> 15)) * 0x846CA68B) & 0xFFFFFFFF
    x = x ^ (x >> 16)
    number = low + (x >> 8).astype(np.float64) / 16_777_216 * (high - low)
    if operand["dtype"] == "bool":
        number = number >= 0.5
    elif operand["dtype"] == "i32":
        number = np.floor(number)
    return np.resize(number.astype(KINDS[operand["dtype"]]), shape)


# Formulas that NumPy, PyTorch and JAX write alike; `m` is the library.


def gelu(m, x):
    return 0.5 * x * (1 + m.tanh(0.79788456 * (x + 0.044715 * x * x * x)))


def chain(length):
    def formula(m, x):
        for link in range(length):
            x = x * 1.001 if link % 2 == 0 else x + 0.5
        return x

    return formula


def softmax(m, x):
    exponentials = m.exp(x - x.max(-1, keepdims=True))
    return exponentials / exponentials.sum(-1, keepdims=True)


def layer_norm(m, x, weight, bias):
    return (x - x.mean(-1, keepdims=True)) / m.sqrt(x.var(-1, keepdims=True) + 1e-5) * weight + bias


FORMULAS = {
    "add": lambda m, x, y: x + y,
    "add_scalar": lambda m, x: x + 2.5,
    "transposed": lambda m, x, y: x + y.T,
    "normalise": lambda m, x, mean, std, weight, bias: (x - mean) / std * weight + bias,
    "gelu": gelu,
    "image": lambda m, x, mean, std: (x / m.float32(255) - mean) / std,
    "where": lambda m, c, x, row: m.where(c, x, row),
    "squared_distance": lambda m, a, b: ((a - b) ** 2).sum(-1),
    "exp_outer": lambda m, col, row: m.exp(col) * m.exp(row),
    "sum_outer": lambda m, x: x.sum(0),
    "sum_inner": lambda m, x: x.sum(1),
    "layer_norm": layer_norm,
    "softmax": softmax,
    "rbf": lambda m, a, b: m.exp(-((a - b) ** 2).sum(-1)).sum(-1),
    "matmul": lambda m, a, b: a @ b,
    "product": lambda m, a, b: a @ b,
    **{f"chain_{length}": chain(length) for length in (1, 4, 8, 12)},
}


# The same with every step written to `o`, for functions that NumPy and PyTorch name alike.


def gelu_into(m, o, x):
    m.multiply(x, x, out=o)
    m.multiply(o, x, out=o)
    m.multiply(o, 0.044715, out=o)
    m.add(o, x, out=o)
    m.multiply(o, 0.79788456, out=o)
    m.tanh(o, out=o)
    m.add(o, 1, out=o)
    m.multiply(o, x, out=o)
    m.multiply(o, 0.5, out=o)


def normalise_into(m, o, x, mean, std, weight, bias):
    m.subtract(x, mean, out=o)
    m.divide(o, std, out=o)
    m.multiply(o, weight, out=o)
    m.add(o, bias, out=o)


def image_into(m, o, x, mean, std):
    m.divide(x, 255, out=o)
    m.subtract(o, mean, out=o)
    m.divide(o, std, out=o)


def chain_into(length):
    def formula(m, o, x):
        for link in range(length):
            m.multiply(x, 1.001, out=o) if link % 2 == 0 else m.add(x, 0.5, out=o)
            x = o

    return formula


INTO = {
    "add": lambda m, o, x, y: m.add(x, y, out=o),
    "add_scalar": lambda m, o, x: m.add(x, 2.5, out=o),
    "transposed": lambda m, o, x, y: m.add(x, y.T, out=o),
    "normalise": normalise_into,
    "gelu": gelu_into,
    "image": image_into,
    "exp_outer": lambda m, o, col, row: m.multiply(m.exp(col), m.exp(row), out=o),
    "matmul": lambda m, o, a, b: m.matmul(a, b, out=o),
    "product": lambda m, o, a, b: m.matmul(a, b, out=o),
    **{f"chain_{length}": chain_into(length) for length in (1, 4, 8, 12)},
}


class Peer:
    """A library: how it holds operands, computes, and waits for the result."""

    name = version = ""

    def operand(self, seed, operand):
        return values(seed, operand)

    def prepare(self, task, operands):
        """Functions that compute a new result, and into existing memory; `None` where that is not possible.
        """
        raise NotImplementedError

    def read(self, result):
        return np.asarray(result, dtype=np.float64)

    def kind(self, result):
        return str(result.dtype).removeprefix("torch.")

    def forget(self):
        gc.collect()


class NumPy(Peer):
    name, version = "NumPy", np.__version__

    def prepare(self, task, operands):
        if task["dtype"] == "bf16":
            raise Absent("no bf16")
        formula, into = FORMULAS.get(task["formula"]), INTO.get(task["formula"])
        out = np.zeros(task["shape"], KINDS[task["dtype"]])
        match task["formula"]:
            case "add_in_place":
                x, row = operands

                def add():
                    np.add(x, row, out=x)
                    return x

                return None, add
            case "where":

                def into(m, o, c, x, row):
                    np.copyto(o, row)
                    np.copyto(o, x, where=c)
            case "sum_outer":

                def into(m, o, x):
                    np.sum(x, 0, out=o)
            case "sum_inner":

                def into(m, o, x):
                    np.sum(x, 1, out=o)
        if formula is None:
            raise Absent("no such function")

        def reuse():
            into(np, out, *operands)
            return out

        return lambda: formula(np, *operands), reuse if into else None


class Numexpr(Peer):
    name = "numexpr"

    def __init__(self, threads):
        import numexpr

        self.library, self.version = numexpr, numexpr.__version__
        numexpr.set_num_threads(threads)

    def prepare(self, task, operands):
        names = [operand["name"] for operand in task["operands"]]
        # Constants that are Python floats would turn everything into f64.
        number = KINDS[task["dtype"]]
        local = dict(zip(names, operands))
        constants = {"half": 0.5, "one": 1, "a": 0.79788456, "b": 0.044715, "factor": 1.001, "white": 255, "shift": 2.5}
        local |= {name: number(constant) for name, constant in constants.items() if name not in local}
        if "y" in local and task["formula"] == "transposed":
            local["y"] = local["y"].T
        names = ", ".join(names)
        texts = {
            "add": "{} + {}",
            "add_scalar": "x + shift",
            "transposed": "x + y",
            "normalise": "(x - m) / s * g + b",
            "gelu": "half * x * (one + tanh(a * (x + b * x * x * x)))",
            "image": "(x / white - m) / s",
            "where": "where(c, x, row)",
            "squared_distance": "sum((a - b) ** 2, axis=2)",
            "exp_outer": "exp(col) * exp(row)",
            "sum_outer": "sum(x, axis=0)",
            "sum_inner": "sum(x, axis=1)",
            "add_in_place": "x + row",
        }
        for length in (1, 4, 8, 12):
            text = "x"
            for link in range(length):
                text = f"({text} * factor)" if link % 2 == 0 else f"({text} + half)"
            texts[f"chain_{length}"] = text
        if task["dtype"] in ("bf16", "u8"):
            raise Absent(f"no {task['dtype']}")
        evaluate = self.library.evaluate
        if task["formula"] == "rbf":

            def rbf():
                distances = evaluate("sum((a - b) ** 2, axis=2)", local)
                return evaluate("sum(exp(-d), axis=1)", {"d": distances})

            return rbf, None
        text = texts.get(task["formula"])
        if text is None:
            raise Absent("not one expression")
        text = text.format(*(operand["name"] for operand in task["operands"]))
        if task["formula"] == "add_in_place":
            return None, lambda: evaluate(text, local, out=local["x"])
        out = np.zeros(task["shape"], KINDS[task["dtype"]])
        return lambda: evaluate(text, local), lambda: evaluate(text, local, out=out)


class Jax(Peer):
    name = "JAX"

    def __init__(self, threads):
        import jax

        jax.config.update("jax_enable_x64", True)
        jax.config.update("jax_platforms", "cpu")
        self.library, self.version = jax, jax.__version__

    def operand(self, seed, operand):
        array = self.library.numpy.asarray(values(seed, operand))
        return array.astype("bfloat16") if operand["dtype"] == "bf16" else array

    def prepare(self, task, operands):
        jax = self.library
        m = jax.numpy
        if task["formula"] == "add_in_place":
            x, row = operands
            operands.clear()
            add = jax.jit(lambda x, row: x + row, donate_argnums=0)

            def in_place():
                nonlocal x
                x = add(x, row)
                return x.block_until_ready()

            return None, in_place
        own = {"softmax": lambda x: jax.nn.softmax(x, -1), "gelu_call": lambda x: jax.nn.gelu(x, approximate=True)}
        formula = own.get(task["formula"])
        if formula is None:
            shared = FORMULAS.get(task["formula"])
            if shared is None:
                raise Absent("no such function")
            formula = lambda *operands: shared(m, *operands)
        compiled = jax.jit(formula)
        return lambda: compiled(*operands).block_until_ready(), None

    def read(self, result):
        return np.asarray(result.astype("float64"))

    def forget(self):
        self.library.clear_caches()
        gc.collect()


class Torch(Peer):
    name = "torch"

    def __init__(self, threads):
        import torch

        torch.set_num_threads(threads)
        self.library, self.version = torch, torch.__version__
        functional = torch.nn.functional
        self.own = {
            "softmax": lambda x: torch.softmax(x, -1),
            "layer_norm": lambda x, weight, bias: functional.layer_norm(x, weight.shape, weight, bias),
            "gelu_call": lambda x: functional.gelu(x, approximate="tanh"),
            "image": lambda x, mean, std: (x / 255 - mean) / std,
        }

    def operand(self, seed, operand):
        tensor = self.library.from_numpy(values(seed, operand))
        return tensor.bfloat16() if operand["dtype"] == "bf16" else tensor

    def formula(self, task):
        shared = FORMULAS.get(task["formula"])
        formula = self.own.get(task["formula"]) or (shared and (lambda *operands: shared(self.library, *operands)))
        if formula is None:
            raise Absent("no such function")
        return formula

    def out(self, task):
        torch = self.library
        kinds = {"u8": "uint8", "i32": "int32", "bf16": "bfloat16", "f32": "float32", "f64": "float64"}
        return torch.zeros(task["shape"], dtype=getattr(torch, kinds[task["dtype"]]))

    def prepare(self, task, operands):
        torch = self.library
        if task["formula"] == "add_in_place":
            x, row = operands
            return None, lambda: x.add_(row)
        formula, out = self.formula(task), self.out(task)
        own = {
            "where": lambda m, o, c, x, row: torch.where(c, x, row, out=o),
            "sum_outer": lambda m, o, x: torch.sum(x, 0, out=o),
            "sum_inner": lambda m, o, x: torch.sum(x, 1, out=o),
            "softmax": lambda m, o, x: torch.softmax(x, -1, out=o),
        }
        into = own.get(task["formula"]) or INTO.get(task["formula"])

        def reuse():
            into(torch, out, *operands)
            return out

        return lambda: formula(*operands), reuse if into else None

    def read(self, result):
        return result.double().numpy()


class TorchCompile(Torch):
    name = "torch.compile"

    def prepare(self, task, operands):
        torch = self.library
        torch.compiler.reset()
        if task["formula"] == "add_in_place":
            x, row = operands
            add = torch.compile(lambda x, row: x.add_(row), dynamic=False)
            return None, lambda: add(x, row)
        formula = torch.compile(self.formula(task), dynamic=False)
        return lambda: formula(*operands), None


PEERS = {"NumPy": lambda threads: NumPy(), "numexpr": Numexpr, "JAX": Jax, "torch": Torch, "torch.compile": TorchCompile}
NAMES = {"uint8": "u8", "int32": "i32", "bfloat16": "bf16", "float32": "f32", "float64": "f64"}


def resident(line):
    """A line of /proc/self/status, in bytes."""
    with open("/proc/self/status") as status:
        return next(int(text.split()[1]) * 1024 for text in status if text.startswith(line))


def peak(evaluate):
    """The peak of memory during an evaluation, above what was resident before."""
    gc.collect()
    with open("/proc/self/clear_refs", "w") as marks:
        marks.write("5")
    before = resident("VmRSS")
    result = evaluate()
    high = resident("VmHWM")
    del result
    return max(0, high - before)


def seconds(evaluate, warm, repeats):
    for _ in range(warm):
        evaluate()
    start = time.perf_counter()
    for _ in range(repeats):
        evaluate()
    return time.perf_counter() - start


def ready(peer, task):
    """The modes of a workload and their functions; checks that the dtype of the result is that of all peers.
    """
    operands = [peer.operand(seed, operand) for seed, operand in enumerate(task["operands"])]
    modes = dict(zip(("fresh", "reuse"), peer.prepare(task, operands)))
    modes = {mode: evaluate for mode, evaluate in modes.items() if evaluate}
    if "fresh" in modes:
        kind = peer.kind(modes["fresh"]())
        if NAMES.get(kind) != task["dtype"]:
            raise Absent(f"computes to {kind}")
    return modes


def serve(peer):
    modes = {}
    for line in sys.stdin:
        request = json.loads(line)
        try:
            match request["do"]:
                case "hello":
                    reply = {"hello": {"name": peer.name, "version": peer.version}}
                case "prepare":
                    modes = {}
                    modes = ready(peer, request["task"])
                    reply = {"ready": list(modes)}
                case "check":
                    result = peer.read(next(iter(modes.values()))())
                    np.ascontiguousarray(result.ravel()[:: request["stride"]]).tofile(request["path"])
                    reply = {"shape": list(result.shape)}
                case "sample":
                    reply = {"seconds": seconds(modes[request["mode"]], request["warm"], request["repeats"])}
                case "memory":
                    reply = {"bytes": peak(next(iter(modes.values())))}
                case "drop":
                    modes = {}
                    peer.forget()
                    reply = "done"
        except Absent as reason:
            reply = {"absent": str(reason)}
        except Exception as error:
            reply = {"error": f"{type(error).__name__}: {error}".replace("\n", " ")[:300]}
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    threads = int(sys.argv[2])
    try:
        peer = PEERS[sys.argv[1]](threads)
    except ImportError as missing:
        print(json.dumps({"error": f"not installed: {missing.name}"}), flush=True)
        sys.exit(0)
    serve(peer)
