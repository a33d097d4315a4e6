"""What a fix says: its code is valid where it stands, and an edit repairs the program."""

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
import pytest

import verax
from verax.audit.finding import Edit, Finding
from verax.audit.phrases import unquoted
from verax.audit.rules._rule import Rule
from verax.audit.rules.registry import all_rules, find
from verax.audit.run import audit_source
from verax.audit.source.analyse import audit_text

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
TAKING = (jax.jit, jax.vmap, jax.grad, jax.lax.scan, jax.tree.map, jnp.nonzero, jnp.sum)
WORDS = frozenset(
    (
        *(name for it in TAKING for name in inspect.signature(it).parameters),
        *inspect.signature(jax.tree_util.register_dataclass).parameters,
        *("at", "donate_argnums", "fill_value", "mode", "tree_flatten", "tree_unflatten"),
        *dir(builtins),
    )
)


@pytest.fixture(autouse=True)
def jax_as_it_comes() -> Iterator[None]:
    """Our suite forbids broadcasts between ranks; the programs of rules live with them."""
    with jax.numpy_rank_promotion("allow"):
        yield


def problems(fix: str, program: str) -> Iterator[str]:
    """What is wrong with the code that a fix quotes, for a reader of a program."""
    visible = {it.id for it in ast.walk(ast.parse(program)) if isinstance(it, ast.Name)}
    visible |= {it.arg for it in ast.walk(ast.parse(program)) if isinstance(it, ast.arg)}
    visible |= {it.attr for it in ast.walk(ast.parse(program)) if isinstance(it, ast.Attribute)}
    visible |= {it.name for it in ast.walk(ast.parse(program)) if isinstance(it, ast.alias)}
    for code in re.findall(r"`([^`]+)`", fix):
        syntax = parsed(code)
        if syntax is None:
            yield f"`{code}` is not Python"
            continue
        own = {it.arg for it in ast.walk(syntax) if isinstance(it, ast.arg)}
        for node in ast.walk(syntax):
            if isinstance(node, ast.Attribute) and not exists(ast.unparse(node)):
                yield f"there is no `{ast.unparse(node)}`"
            if isinstance(node, ast.Name):
                known = visible | own | WORDS | MODULES.keys() | ELSEWHERE
                # The names of a class and of a parameter stand in strings as well.
                if node.id not in known and node.id not in program:
                    yield f"`{code}`: the program has no `{node.id}`"


def parsed(code: str) -> ast.AST | None:
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


def exists(name: str) -> bool:
    """Whether a dotted name is there, as far as it starts with a module that is at hand."""
    root, *rest = name.split(".")
    if root not in MODULES:
        return True
    value = MODULES[root]
    for attribute in rest:
        value = getattr(value, attribute, None)
    return value is not None


def findings_of(rule: Rule, program: str) -> list[Finding]:
    """What both engines find by one rule."""
    found = list(audit_text(program, rule.name, rules=(rule,), strict=True).findings)
    if rule.trace is not None:
        found += audit_source(program, rule.name, rules=(rule,), strict=True).findings
    return found


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_the_code_in_a_fix_is_valid_where_it_stands(rule: Rule):
    for finding in findings_of(rule, rule.wrong):
        assert not list(problems(finding.fix, rule.wrong)), finding.fix


@pytest.mark.parametrize(
    "fix",
    [
        "`key, sub = split(key)`",  # there is no `sub`
        "`jnp.einsum('batch feat', ...`",
        "`.add`",
        "use `jnp.where_not`",
        "`x = x.at[index].set(value)`",
    ],
)
def test_code_that_is_not_valid_is_noticed(fix: str):
    program = "import jax\n\ndef entry(key, x):\n    return jax.random.split(key), x\n"
    assert list(problems(fix, program))


# The rules whose fix needs no decision of the author, as far as their own program goes.
MECHANICAL = (
    "DF104 DF111 DF208 DF209 AX007 AX013 AX014 SC203 VM005 VM007 VM201 JT207 PT205 PT207 GR204 "
    "RK004 EN003 EN006"
).split()


@pytest.mark.parametrize("code", MECHANICAL)
def test_an_edit_repairs_the_wrong_program(code: str):
    rule = find(code)
    edits = {it.edit for it in findings_of(rule, rule.wrong) if it.edit is not None}
    assert edits
    program = applied(rule.wrong, edits)
    for report in (
        audit_text(program, rule.name, strict=True),
        audit_source(program, rule.name, strict=True),
    ):
        assert not report.issues, str(report)
        assert code not in {it.code for it in report.findings}
    module: dict[str, object] = {}
    exec(compile(program, rule.name, "exec"), module)
    module["entry"](*module["inputs"]())  # type: ignore[operator]


def applied(program: str, edits: set[Edit]) -> str:
    """A program with edits made, the last of them first, so that positions stay right."""
    for edit in sorted(edits, key=lambda it: it.place, reverse=True):
        lines = program.splitlines(keepends=True)
        start = sum(map(len, lines[: edit.place.line - 1])) + edit.place.column - 1
        assert program.startswith(edit.old, start)
        program = program[:start] + edit.new + program[start + len(edit.old) :]
    return program


def test_an_edit_keeps_what_it_does_not_change():
    program = (
        "import jax\n\n"
        "def entry(rewards, values, next_values):\n"
        "    def step(gae, inp):\n"
        "        reward, value, next_value = inp  # ä ß\n"
        "        gae = reward + 0.99 * next_value - value + 0.94 * gae\n"
        "        return gae, gae\n\n"
        "    return 'ö', jax.lax.scan(\n"
        "        step, 0.0,  # nothing yet\n"
        "        (rewards, values, next_values),\n"
        "    )[1]\n"
    )
    (finding,) = audit_text(program, rules=(find("EN003"),), strict=True).issues
    assert finding.edit is not None
    repaired = applied(program, {finding.edit})
    assert repaired == program.replace("values),\n", "values), reverse=True,\n")


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("add nothing where `the value` is set", "add nothing where the value is set"),
        ("`a f32[3]` meets `the f32[4] of line 2`", "a f32[3] meets the f32[4] of line 2"),
        ("`a + b` or `a if b else c`", "`a + b` or `a if b else c`"),
        ("`the` is not `another`", "`the` is not `another`"),
    ],
)
def test_what_has_no_name_is_not_quoted(said: str, shown: str):
    assert unquoted(said) == shown


def test_keys_without_a_name_are_no_code():
    program = (
        "import jax\n\n"
        "def entry(seed, x):\n"
        "    def lane(it):\n"
        "        noise = jax.random.normal(jax.random.split(jax.random.key(seed))[0])\n"
        "        return it + noise\n\n"
        "    return jax.vmap(lane)(x)\n\n"
        "def inputs():\n"
        "    return 3, jax.numpy.ones(4)\n"
    )
    report = audit_source(program, "lanes", strict=True)
    (fix,) = {it.fix for it in report.findings if it.code == "RK003"}
    assert not list(problems(fix, program)), fix
