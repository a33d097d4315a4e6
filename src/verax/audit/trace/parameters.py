"""What a function calls the arguments that it is given by position."""

from __future__ import annotations

import inspect
from typing import Any


def parameter_name(function: Any, index: int) -> str:
    """The name of the parameter that takes an argument; `arg` and its number, if none is known."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return f"arg{index}"
    positional = [it for it in parameters if it.kind not in (it.KEYWORD_ONLY, it.VAR_KEYWORD)]
    for position, parameter in enumerate(positional):
        if parameter.kind is parameter.VAR_POSITIONAL:
            return f"{parameter.name}[{index - position}]"
        if position == index:
            return parameter.name
    return f"arg{index}"
