"""Owns ``fft`` of the array API: NumPy's functions on the memory of tensors."""

import numpy
from numpy.fft import (  # noqa: F401
    fft, fftn, fftshift, hfft, ifft, ifftn, ifftshift, ihfft, irfft, irfftn, rfft, rfftn,
)  # fmt: skip

from .array_api import asarray, float32


def fftfreq(n, /, *, d=1.0, dtype=None, device=None):
    return asarray(numpy.fft.fftfreq(n, d), dtype=dtype or float32, device=device)


def rfftfreq(n, /, *, d=1.0, dtype=None, device=None):
    return asarray(numpy.fft.rfftfreq(n, d), dtype=dtype or float32, device=device)
