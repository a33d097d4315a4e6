"""What is wrong with the code that a fix quotes, for who reads it beside the line it is about."""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import re
from collections.abc import Iterator
from types import ModuleType

import jax
import jax.numpy as jnp
import numpy as np
import optax

import verax
from verax.audit.finding import Finding

# What is called by its full name, whatever the program has imported it as.
MODULES: dict[str, ModuleType] = {
    "jax": jax,
    "jnp": jnp,
    "np": np,
    "optax": optax,
    "functools": functools,
    "verax": verax,
}
# Modules of packages that the tests do without.
ELSEWHERE = frozenset(("eqx", "nnx"))
# A fix may name an argument of these, or what classes and arrays have.
TAKING = (
    *(jax.jit, jax.vmap, jax.grad, jax.lax.scan, jax.tree.map, jnp.sum),
    *(jnp.nonzero, jnp.repeat, jnp.delete, jnp.bincount, jax.ops.segment_sum),
)
WORDS = frozenset(
    (
        *(name for it in TAKING for name in inspect.signature(it).parameters),
        *inspect.signature(jax.tree_util.register_dataclass).parameters,
        *("at", "donate_argnums", "fill_value", "mode", "tree_flatten", "tree_unflatten"),
        *("clone", "replace", "_replace"),
        *dir(builtins),
    )
)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_BINDING = (*_FUNCTIONS[:2], ast.ClassDef)


def problems(finding: Finding, program: str) -> Iterator[str]:
    """All that is not as a reader may expect.

    What is only a name is that of anything in the program. In other code, each name is one of those
    that the line of the finding has.
    """
    tree = ast.parse(program)
    there = set(re.findall(r"\w+", program)) | WORDS | MODULES.keys() | ELSEWHERE
    visible = names_at(tree, finding.place.line) | set(dir(builtins)) | MODULES.keys() | ELSEWHERE
    for code in re.findall(r"`([^`]+)`", finding.fix):
        syntax = parsed(code)
        if syntax is None:
            yield f"`{code}` is not Python"
            continue
        own = {it.arg for it in ast.walk(syntax) if isinstance(it, ast.arg)}
        own |= {
            it.id
            for it in ast.walk(syntax)
            if isinstance(it, ast.Name) and isinstance(it.ctx, ast.Store)
        }
        for node in ast.walk(syntax):
            if isinstance(node, ast.Attribute) and not exists(ast.unparse(node)):
                yield f"there is no `{ast.unparse(node)}`"
            if isinstance(node, ast.Name):
                if node.id not in there | own:
                    yield f"`{code}`: the program has no `{node.id}`"
                elif not is_name(syntax) and node.id not in visible | own:
                    yield f"`{code}`: line {finding.place.line} has no `{node.id}`"


def parsed(code: str) -> ast.Module | None:
    """Code as Python, be it an expression, a statement or an argument of a call."""
    for text in (code, f"call({code})"):
        try:
            tree = ast.parse(text)
        except SyntaxError:
            continue
        if text == code:
            return tree
        call = tree.body[0].value  # type: ignore[attr-defined]
        return ast.Module([ast.Expr(it) for it in (*call.args, *(k.value for k in call.keywords))])
    return None


def is_name(code: ast.Module) -> bool:
    """Whether code is a name, or that of a part."""
    node = code.body[0] if len(code.body) == 1 else code
    while isinstance(node, (ast.Expr, ast.Attribute, ast.Subscript)):
        node = node.value
    return isinstance(node, ast.Name)


def exists(name: str) -> bool:
    """Whether a dotted name is there, as far as it starts with a module that is at hand."""
    root, *rest = name.split(".")
    if root not in MODULES:
        return True
    value = MODULES[root]
    for attribute in rest:
        value = getattr(value, attribute, None)
    return value is not None


def names_at(tree: ast.Module, line: int) -> set[str]:
    """The names of a module and of the functions around one of its lines."""
    names = set(bound(tree))
    for node in ast.walk(tree):
        # A finding at a decorator, or at the beginning of a call, may be about what it is given.
        if isinstance(node, _FUNCTIONS) and first_line(node) <= line <= (node.end_lineno or line):
            names.update(it.arg for it in ast.walk(node.args) if isinstance(it, ast.arg))
            names.update(bound(node))
    return names


def first_line(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> int:
    return min([node.lineno, *(it.lineno for it in getattr(node, "decorator_list", ()))])


def bound(scope: ast.AST) -> Iterator[str]:
    """What a scope binds itself, and not the functions in it."""
    pending = [*ast.iter_child_nodes(scope)]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).partition(".")[0]
        elif isinstance(node, _BINDING):
            yield node.name
        if not isinstance(node, (*_BINDING, ast.Lambda)):
            pending += ast.iter_child_nodes(node)
