"""Mathematical functions beside PyTorch's kernels, in one process and on one thread: ns an element.

`cargo xtask bench functions [OPTION]...` builds the engine and runs this; by hand, after `pip install ./crates/python`:

    python bench/functions.py [FILTER] [--seconds 0.2] [--inductor] [--dtypes f32,f64]

Both write into memory that is there and take turns. A figure is the shortest time of a call less that of a call on
a quarter of the elements, divided by the others. (Calls on a few elements take a shorter way, so that their time would
not be that of a call alone.) 2,048 elements are in L1, 32,768 in L2. A ratio above 1 means that zerostride is faster.
`--inductor` adds the loops that TorchInductor compiles, which takes a C++ compiler and some seconds for each function.
Close other programs.
"""

import argparse
import functools
import os
import statistics
import time

os.environ["OMP_NUM_THREADS"] = "1"

import torch
import zerostride as zs

SIZES = {"L1": 2048, "L2": 32768}
DTYPES = {"f32": torch.float32, "f64": torch.float64}
# Calls of one measurement take about so long.
SAMPLE = 2e-4

# The arguments are drawn evenly from this interval, and for functions of two arguments both of them.
RANGES = {
    "acos acosh asin asinh atan atanh": (-1, 1),
    "cos sin tan sinc": (-20, 20),
    "cosh sinh tanh expm1 exp exp2 sigmoid silu gelu gelu_tanh softplus": (-6, 6),
    "erf erfc": (-3, 3),
    "erfinv": (-1, 1),
    "log log2 log10 log1p sqrt rsqrt reciprocal": (0.01, 20),
    "logit": (0, 1),
    "lgamma digamma": (0.1, 20),
    "i0": (-10, 10),
    "deg2rad rad2deg": (-360, 360),
    "add mul div maximum minimum hypot atan2 logaddexp logaddexp2": (-10, 10),
    "pow xlogy": (0.1, 8),
    "abs neg sign floor ceil round trunc relu square": (-10, 10),
}
FUNCTIONS = {name: bounds for names, bounds in RANGES.items() for name in names.split()}
FUNCTIONS["acosh"] = (1, 20)
BINARY = set("add mul div maximum minimum hypot atan2 logaddexp logaddexp2 pow xlogy".split())


# PyTorch's variants that write into memory, where they are not called `out`.
VARIANTS = {"pow": "Tensor_Tensor_out", "xlogy": "OutTensor"}


def theirs(name, into_memory):
    """PyTorch's function of that name. Into memory it is the variant itself: to find that takes up to 300 us a call."""
    packet = getattr(torch.ops.aten, name.removesuffix("_tanh"))
    function = getattr(packet, VARIANTS.get(name, "out")) if into_memory else packet
    return functools.partial(function, approximate="tanh") if name == "gelu_tanh" else function


def best(call, operands, result, seconds):
    """The shortest time of a call, which is repeated until the clock can measure it."""
    start = time.perf_counter()
    call(*operands, out=result)
    often = max(1, int(SAMPLE / (time.perf_counter() - start)))
    shortest, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        for _ in range(often):
            call(*operands, out=result)
        shortest = min(shortest, (time.perf_counter() - start) / often)
    return shortest


def measure(sides, operands, count, seconds):
    """ns an element for each side, a call on tensors and one that shares their memory in turns."""
    few = count // 4
    whole, quarter = ([operand[:n].clone() for operand in operands] for n in (count, few))
    times = {}
    for _ in range(4):
        for side, (call, share) in sides.items():
            for part in (whole, quarter):
                result = torch.empty_like(part[0])
                shared = [share(tensor) for tensor in part], share(result)
                key = side, len(result)
                times[key] = min(times.get(key, float("inf")), best(call, *shared, seconds / 4))
    # Noise may leave nothing of a short time.
    return {side: max((times[side, count] - times[side, few]) / (count - few) * 1e9, 1e-3) for side in sides}


def compiled(function):
    """The loop that TorchInductor makes of a function; it has no `out`, so that a result is memory from its pool."""
    # The lambda is one piece of code for all functions, and PyTorch gives up compiling one again after eight
    # times.
    torch.compiler.reset()
    loop = torch.compile(lambda *operands: function(*operands), dynamic=True)
    return lambda *operands, out: loop(*operands)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("filter", nargs="?", default="", help="only these functions, with commas between")
    parser.add_argument("--seconds", type=float, default=0.2, help="for each figure")
    parser.add_argument("--dtypes", default="f32,f64")
    parser.add_argument("--inductor", action="store_true")
    options = parser.parse_args()
    zs.set_num_threads(1)
    torch.set_num_threads(1)
    names = options.filter.split(",") if options.filter else FUNCTIONS
    unknown = [name for name in names if name not in FUNCTIONS]
    if unknown:
        parser.error(f"there is no function {unknown[0]}; those to compare are {' '.join(FUNCTIONS)}")
    capability = torch.backends.cpu.get_cpu_capability()
    print(f"zerostride {zs.__version__}, torch {torch.__version__} ({capability}); ns an element\n")
    sides = ["zerostride", "PyTorch"] + ["inductor"] * options.inductor
    print("| function | dtype | in | " + " | ".join(sides) + " | PyTorch / ours |")
    print("|---|---|---|" + "---|" * (len(sides) + 1))
    generator, ratios = torch.Generator().manual_seed(1), []
    for name in names:
        low, high = FUNCTIONS[name]
        own, same = (getattr(zs, name), zs.from_dlpack), lambda tensor: tensor
        calls = {"zerostride": own, "PyTorch": (theirs(name, True), same)}
        if options.inductor:
            calls["inductor"] = compiled(theirs(name, False)), same
        for dtype in options.dtypes.split(","):
            for place, count in SIZES.items():
                draw = lambda: torch.rand(count, generator=generator, dtype=DTYPES[dtype]) * (high - low) + low
                operands = [draw() for _ in range(1 + (name in BINARY))]
                found = measure(calls, operands, count, options.seconds)
                ratios.append(found["PyTorch"] / found["zerostride"])
                figures = " | ".join(f"{found[side]:.3f}" for side in sides)
                print(f"| {name} | {dtype} | {place} | {figures} | {ratios[-1]:.2f} |", flush=True)
    slower = sum(ratio < 0.95 for ratio in ratios)
    print(f"\nmedian {statistics.median(ratios):.2f}, least {min(ratios):.2f}, {slower} of {len(ratios)} below 0.95")


if __name__ == "__main__":
    main()
