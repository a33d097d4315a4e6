"""What a fix says: its code is valid where it stands, and an edit repairs the program."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import jax
import pytest

from verax.audit.finding import Edit, Finding, Place
from verax.audit.phrases import quoted_name, unquoted
from verax.audit.rules._rule import Rule
from verax.audit.rules.registry import all_rules, find
from verax.audit.run import audit_source
from verax.audit.source.analyse import audit_text

from .quoting import problems
from .sample import ISSUE


@pytest.fixture(autouse=True)
def jax_as_it_comes() -> Iterator[None]:
    """Our suite forbids broadcasts between ranks; the programs of rules live with them."""
    with jax.numpy_rank_promotion("allow"):
        yield


def findings_of(rule: Rule, program: str) -> list[Finding]:
    """What both engines find by one rule."""
    found = list(audit_text(program, rule.name, rules=(rule,), strict=True).findings)
    if rule.trace is not None:
        found += audit_source(program, rule.name, rules=(rule,), strict=True).findings
    return found


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_the_code_in_a_fix_is_valid_where_it_stands(rule: Rule):
    for finding in findings_of(rule, rule.wrong):
        assert not list(problems(finding, rule.wrong)), finding.fix


@pytest.mark.parametrize(
    "fix",
    [
        "`key, sub = split(key)`",  # there is no `split`
        "`jnp.einsum('batch feat', ...`",
        "`.add`",
        "use `jnp.where_not`",
        "`x = x.at[index].set(value)`",
        "multiply by `1 - done`",  # which is in another function
    ],
)
def test_code_that_is_not_valid_is_noticed(fix: str):
    program = (
        "import jax\n\ndef entry(key, x):\n    return jax.random.split(key), x\n\n"
        "def other(done):\n    return 1 - done\n"
    )
    assert list(problems(replace(ISSUE, fix=fix, place=Place("p.py", 4)), program))


@pytest.mark.parametrize(
    "fix", ["`1 - done`", "use `scale`", "`where=done`", "`kept = done * scale`", "`done.at`"]
)
def test_code_that_is_valid_is_accepted(fix: str):
    program = "scale = 2\n\ndef other(done):\n    return 1 - done\n"
    assert not list(problems(replace(ISSUE, fix=fix, place=Place("p.py", 4)), program))


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


@pytest.mark.parametrize("name", ["key", "self.key", "state.keys['noise']", "keys[0]"])
def test_a_fix_names_what_has_a_name(name: str):
    assert quoted_name(name, "the key") == f"`{name}`"


@pytest.mark.parametrize("text", ["fold_in(key, t)", "keys()[0]", "1 - done", "the key of line 3"])
def test_a_fix_writes_no_expression_anew(text: str):
    assert quoted_name(text, "the key") == "the key"


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
    found = next(it for it in report.findings if it.code == "RK003")
    assert not list(problems(found, program)), found.fix
