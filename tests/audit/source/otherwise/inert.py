"""The same values, by way of what does nothing to an array."""

from __future__ import annotations

import ast

from .scopes import audited, place

# What is made by these is an array, and no function or tree.
_OF_ARRAYS = ("jnp.", "jax.numpy.", "jax.nn.", "nn.")


def _is_array(value: ast.expr) -> bool:
    if isinstance(value, ast.Call):
        return ast.unparse(value.func).startswith(_OF_ARRAYS)
    return isinstance(value, ast.BinOp) and any(
        isinstance(it, ast.Name | ast.Call) for it in ast.walk(value)
    )


def _through(tree: ast.Module, text: str) -> ast.Module:
    """Each array that is named goes through a call, into which its expression is put."""
    for it in audited(tree):
        for statement in ast.walk(it):
            if not isinstance(statement, ast.Assign) or not _is_array(statement.value):
                continue
            target, value = statement.targets[0], statement.value
            if isinstance(target, ast.Name):
                call = ast.parse(text, mode="eval").body
                place(call, value)
                assert isinstance(call, ast.Call)
                call.args[0] = value
                statement.value = call
    return tree


def as_arrays(tree: ast.Module) -> ast.Module:
    """An array is made an array."""
    return _through(tree, "jax.numpy.asarray(ARRAY)")


def behind_barriers(tree: ast.Module) -> ast.Module:
    """The compiler may not move anything across."""
    return _through(tree, "jax.lax.optimization_barrier(ARRAY)")
