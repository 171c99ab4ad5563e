"""PyTorch programs through the engine: ``torch.compile(model, backend="zerostride")``.

PyTorch finds the backend by its entry point, so that a program imports nothing for it. ``report()`` says what ran here,
what PyTorch ran, and why.

>>> import torch
>>> import zerostride.torch
>>> @torch.compile(backend="zerostride")
... def distances(a, b):
...     return ((a[:, None] - b) ** 2).sum(-1)
>>> distances(torch.ones(3, 2), torch.zeros(2, 2)).tolist()
[[2.0, 2.0], [2.0, 2.0], [2.0, 2.0]]
"""

from ._backend import backend
from ._report import Report, report

__all__ = ["Report", "backend", "report"]
