"""From the values of a failed assertion to the text that a person reads."""

from __future__ import annotations

import string
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np


def placeholders(message: str) -> list[str]:
    """The names that a message wants values for, e.g. `["x"]` for `"got {x[0]:.2f}"`."""
    names: list[str] = []
    for _, field, spec, _ in string.Formatter().parse(message):
        if field is None:
            continue
        names.append(field.split(".")[0].split("[")[0])
        names.extend(placeholders(spec or ""))
    return names


def fill_in(message: str, values: Mapping[str, Any]) -> str:
    """The message with values in place of its placeholders."""
    return _FORMATTER.vformat(message, (), {name: _readable(v) for name, v in values.items()})


def _readable(value: Any) -> Any:
    return jax.tree.map(lambda leaf: _Shown(leaf) if _is_array(leaf) else leaf, value)


def _is_array(value: Any) -> bool:
    return isinstance(value, (jax.Array, np.ndarray, np.generic))


class _Shown:
    """An array that formats as a number where it holds one, and element by element otherwise."""

    def __init__(self, array: Any):
        is_key = jax.numpy.issubdtype(array.dtype, jax.dtypes.prng_key)
        self.array = np.asarray(jax.random.key_data(array) if is_key else array)

    def __getitem__(self, index: Any) -> _Shown:
        return _Shown(self.array[index])

    def __getattr__(self, name: str) -> Any:
        return getattr(self.array, name)

    def __format__(self, spec: str) -> str:
        if self.array.size == 1:
            scalar = self.array.reshape(())[()]
            # A NumPy scalar prints with the digits that its own precision has.
            return format(scalar.item(), spec) if spec else str(scalar)
        if not spec:
            return np.array2string(self.array, threshold=20)
        show: Any = {"all": lambda element: format(element.item(), spec)}
        return np.array2string(self.array, threshold=20, formatter=show)

    def __str__(self) -> str:
        return format(self, "")

    __repr__ = __str__


class _Formatter(string.Formatter):
    """`str.format`, but for an index (`{x[3]}`) that leads out of an array."""

    def get_field(self, field_name: str, args: Any, kwargs: Any) -> Any:
        try:
            return super().get_field(field_name, args, kwargs)
        except (IndexError, AttributeError, KeyError) as error:
            return f"<{field_name}: {error}>", field_name


_FORMATTER = _Formatter()
