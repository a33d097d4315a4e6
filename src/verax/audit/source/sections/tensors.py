"""What is known of a value, as the report shows it."""

from __future__ import annotations

import re
from typing import Any

from ...report import Tensor
from ..graph import Node
from ..shapes.dims import show
from ..shapes.shape import Partial


def tensor_of(node: Node) -> Tensor:
    """Type and shape of a value: with a question mark or dots where they are not known."""
    dtype = (node.dtype or "?").rstrip("*")
    shape = node.shape
    if isinstance(shape, tuple):
        return Tensor(dtype, tuple(_size(size) for size in shape))
    if isinstance(shape, Partial):
        lead, trail = (tuple(_size(it) for it in part) for part in (shape.lead, shape.trail))
        return Tensor(dtype, (*lead, "…", *trail))
    return Tensor(dtype, ("…",))


def _size(size: Any) -> int | str:
    if size is None:
        return "?"
    return size if isinstance(size, int) else readable(show(size))


def readable(text: str) -> str:
    """A symbol without what makes it unique: `batch#140…` is `batch`."""
    return re.sub(r"#[~\d.]*", "", text)
