"""Owns the named tuples that functions return, as PyTorch's do. It does not know the functions."""

from collections import namedtuple

aminmax = namedtuple("aminmax", "min max")
frexp = namedtuple("frexp", "mantissa exponent")
kthvalue = namedtuple("kthvalue", "values indices")
max = namedtuple("max", "values indices")
median = namedtuple("median", "values indices")
min = namedtuple("min", "values indices")
nanmedian = namedtuple("nanmedian", "values indices")
sort = namedtuple("sort", "values indices")
topk = namedtuple("topk", "values indices")
unique_all = namedtuple("unique_all_result", "values indices inverse_indices counts")
unique_counts = namedtuple("unique_counts_result", "values counts")
unique_inverse = namedtuple("unique_inverse_result", "values inverse_indices")
