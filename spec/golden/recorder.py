"""Running one call and recording its answer: a result's bits, a refusal, or the elements that kill.

Owns the case format shared by all files of operations. Knows nothing of which operations exist.
"""

import os
import resource
import signal

import torch

from bits import FORMATS, PARTS, Pool, to_bits, ulps
from operations import NAMES, failure, label
from reference import correctly_rounded
from stepwise import stepwise
from store import number, provenance, tabulated, write_json, write_npz

# Refusals by Python's argument parser list every overload; the first line says what matters.
PARSER = "received an invalid combination of arguments"


def survives(call):
    """Whether the call, tried in a forked child, leaves the process alive."""
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.signal(signal.SIGFPE, signal.SIG_DFL)
        try:
            call()
        except Exception:
            pass
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


def computed(op, operands, result):
    """The dtype that the operands are converted to: the result's, unless it is only a part of it."""
    kind = result.dtype
    if op in {"abs", "angle"}:
        kind = operands[0].dtype
    if op == "polar":
        kind = torch.promote_types(operands[0].dtype, operands[1].dtype)
    name = NAMES[kind]
    return kind if name in FORMATS or name in PARTS else None


class Recorder:
    """The cases, the refusals' texts and the patterns of one file."""

    def __init__(self, script, name, inputs):
        self.script, self.name = script, name
        self.pool = Pool()
        self.texts = []
        self.cases = []
        self.deviations = []
        self.inputs = inputs
        self.index = {}

    def input(self, key, tensor=None):
        """Store a named input once and return its name."""
        if key not in self.index:
            self.index[key] = self.pool.tensor(self.inputs[key] if tensor is None else tensor)
        return key

    def text(self, error):
        """The index of a refusal among the texts."""
        entry = failure(error)
        if PARSER in entry["text"]:
            entry["text"] = entry["text"].splitlines()[0]
        if entry not in self.texts:
            self.texts.append(entry)
        return self.texts.index(entry)

    def store(self, case, result):
        """Add a result's place to the case."""
        if isinstance(result, tuple):
            case["outputs"] = [self.pool.tensor(part) for part in result]
        else:
            case.update(self.pool.tensor(result))
            if result.dim() != 1:
                case["shape"] = list(result.shape)

    def record(self, case, call, operands=None, kwargs=None):
        """Run `call`, append the case with its answer; with `operands` add the exact reference.

        Returns the refusal, if there was one.
        """
        self.cases.append(case)
        try:
            result = call()
        except (RuntimeError, TypeError, IndexError, ValueError, KeyError, OverflowError) as error:
            case["error"] = self.text(error)
            return error
        self.store(case, result)
        if operands is not None and not isinstance(result, tuple):
            self.refer(case, operands, result)
            steps = stepwise(case["op"], operands, kwargs or {}, result)
            if steps is not None:
                case["stepwise"] = self.pool.add(steps)
        return None

    def refer(self, case, operands, result):
        """Add the correctly rounded reference, and note where PyTorch is far from it."""
        if len(operands) > 2:
            return
        name = label(case["op"], case.get("kwargs", {}))
        result_name = NAMES[result.dtype]
        kind = computed(case["op"], operands, result)
        if kind is None:
            return
        patterns = [to_bits(operand.to(kind)) for operand in operands]
        answer = to_bits(result)
        exact = correctly_rounded(name, patterns, NAMES[kind], answer, result_name)
        if exact is None:
            return
        case["reference"] = self.pool.add(exact)
        distances = ulps(answer, exact, PARTS.get(result_name, result_name))
        case["ulp"] = -1 if min(distances) < 0 else max(distances)
        far = [i for i, d in enumerate(distances) if d > 4 or d < 0]
        if far:
            step = 2 if result_name in PARTS else 1
            worst = max(far, key=lambda i: (distances[i] < 0, distances[i]))
            self.deviations.append(
                {
                    "case": len(self.cases) - 1,
                    "op": name,
                    "dtype": result_name,
                    "elements": len({i // step for i in far}),
                    "worst_element": worst // step,
                    "ulp": distances[worst],
                    "torch": repr(result.flatten()[worst // step].item()),
                    "operands": [
                        repr(operand.flatten()[worst // step].item()) for operand in operands
                    ],
                }
            )

    def write(self, **sections):
        """Write the pair `name.json`, `name.npz`."""
        self.deviations.sort(key=lambda d: d["case"])
        write_npz(self.name + ".npz", self.pool.arrays())
        write_json(
            self.name + ".json",
            provenance(self.script),
            {
                "inputs": self.index,
                "errors": self.texts,
                **sections,
                **tabulated(self.cases),
                "deviations": self.deviations,
            },
        )


def encoded(value):
    """A keyword or operand as JSON."""
    if isinstance(value, (list, tuple)):
        return [encoded(item) for item in value]
    return number(value)


def keywords(kwargs):
    """Keywords as JSON."""
    return {key: encoded(value) for key, value in kwargs.items()}
