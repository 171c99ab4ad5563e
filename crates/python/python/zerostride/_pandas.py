"""Owns what pandas asks of an engine: ``df.apply(f, engine=zs.fuse)`` and ``series.map(f, engine=zs.fuse)``."""


class Engine:
    """Runs functions of columns, rows and elements fused (pandas' ``BaseExecutionEngine``)."""

    @staticmethod
    def map(data, func, args, kwargs, decorator, skip_na):
        """A function of one element, run on all of a series at once."""
        import numpy

        values = numpy.asarray(data)
        found = decorator(func)(values, *args, **kwargs)
        if skip_na:
            found = numpy.where(data.isna(), values, found)
        return found if isinstance(data, numpy.ndarray) else data._constructor(found, index=data.index, name=data.name)

    @staticmethod
    def apply(data, func, args, kwargs, decorator, axis):
        """A function of a column (`axis` 0) or a row, as an array; of the results one series, or a frame."""
        import numpy

        is_raw = isinstance(data, numpy.ndarray)
        # The columns and rows of a frame divide by `n - 1` in `std` and `var`, as torch's tensors do.
        fused = decorator(func, getattr(func, "rules", None) or (None if is_raw else "torch"))
        by_column = axis in (0, "index")
        if is_raw or not by_column:
            values = numpy.asarray(data)
            parts = values.T if by_column else values
        else:
            parts = [column.to_numpy() for _, column in data.items()]
        found = numpy.stack([fused(part, *args, **kwargs) for part in parts], axis=-1 if by_column else 0)
        if is_raw:
            return found
        labels, others = (data.columns, data.index) if by_column else (data.index, data.columns)
        if found.ndim == 1:
            return data._constructor_sliced(found, index=labels)
        # As many results as elements go by their names, others by numbers.
        rest = others if found.shape[0 if by_column else -1] == len(others) else None
        return data._constructor(found, index=rest if by_column else labels, columns=labels if by_column else rest)
