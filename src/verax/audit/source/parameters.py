"""The parameters that a function is written with."""

from __future__ import annotations

import ast

NamedFunction = ast.FunctionDef | ast.AsyncFunctionDef
FunctionSyntax = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def positional(function: FunctionSyntax) -> list[ast.arg]:
    """Those that can be given by position."""
    return [*function.args.posonlyargs, *function.args.args]


def parameters(function: FunctionSyntax) -> list[ast.arg]:
    """All of them, without `*args` and `**kwargs`."""
    return [*positional(function), *function.args.kwonlyargs]
