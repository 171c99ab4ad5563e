"""The guard: finds unintended broadcasts, in programs of PyTorch, NumPy, JAX and other arrays.

With pytest: ``pytest --broadcasts=report``. Without: ``python -m zerostride.guard script.py``. In a program:

>>> from zerostride.guard import Guard
>>> with Guard() as found:
...     pass
>>> found.mistakes
[]

``install`` rewrites the modules of the program that are imported later, which is how arrays other than torch's are seen.
"""

from ._guard import Guard
from ._importer import install
from ._record import Mistake

__all__ = ["Guard", "Mistake", "install"]
