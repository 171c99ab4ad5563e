"""Owns the tuples with names that functions return, as PyTorch's do."""

from collections import namedtuple

sort = namedtuple("sort", "values indices")
topk = namedtuple("topk", "values indices")
unique_all = namedtuple("unique_all_result", "values indices inverse_indices counts")
unique_counts = namedtuple("unique_counts_result", "values counts")
unique_inverse = namedtuple("unique_inverse_result", "values inverse_indices")
