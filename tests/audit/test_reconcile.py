"""What the static analysis and a trace say of one program: never both a thing and its opposite."""

from __future__ import annotations

import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from textwrap import dedent
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from verax.audit.child import Given
from verax.audit.command import audit_targets
from verax.audit.finding import Confidence, Engine, Evidence, Finding, Severity, Verified
from verax.audit.reconcile import needs_witness, reconciled
from verax.audit.report import Report, merged
from verax.audit.rules._rule import Rule
from verax.audit.rules.registry import all_rules, find
from verax.audit.run import audit_callable
from verax.audit.source.analyse import audit_text
from verax.audit.source.engine import Options
from verax.audit.source.events import Call

from .sample import example_rule

HEAD = "import jax\nimport jax.numpy as jnp\n"


def sines(facts: Any):
    """Every sine is said to raise, which no sine does."""
    for call in facts.events(Call):
        if call.name == "jax.numpy.sin":
            yield SINES.finding(
                call.place, current="raises", expected="", fix="", engine=Engine.SOURCE
            )


SINES = replace(example_rule("AX201", "sines"), severity=Severity.ERROR, source=sines)


def lines_left(text: str, *args: object, entry: str = "entry", given_by: str = "") -> list[int]:
    """The lines of the sines that are still said to raise, after `entry` was traced."""
    text = HEAD + dedent(text)
    path = Path("program.py").resolve()
    module: dict[str, Any] = {"__name__": "program"}
    exec(compile(text, str(path), "exec"), module)
    read = audit_text(text, "program", rules=(SINES,))
    assert read.findings
    traced = audit_callable(
        module[entry],
        args or (jnp.ones(3),),
        {},
        rules=(),
        witness=True,
        given_by=module[given_by] if given_by else None,
    )
    return sorted(it.place.line - 2 for it in reconciled(read, traced).findings)


def test_a_line_that_the_trace_has_passed_does_not_raise():
    text = """
        def entry(x):
            return jnp.sin(x)
    """
    assert lines_left(text) == []


@pytest.mark.parametrize(
    "call",
    [
        "jax.vmap(helper)(x)",
        "jax.grad(lambda v: helper(v).sum())(x)",
        "jax.jit(lambda v: helper(v))(x)",
        "jax.lax.scan(lambda c, _: (helper(c), c), x, None, length=2)[0]",
        "jnp.stack([helper(it) for it in (x, x)])",
        "sum(helper(it) for it in (x, x))",
        "jax.lax.cond(x[0] > 0, helper, jnp.cos, x)",
    ],
)
def test_whatever_way_the_trace_came(call: str):
    text = f"""
        @jax.jit
        def helper(x):
            return jnp.sin(x)

        def entry(x):
            return {call}
    """
    assert lines_left(text) == []


def test_what_was_traced_before_is_seen():
    text = """
        @jax.jit
        def helper(x):
            return jnp.sin(x)

        def entry(x):
            return helper(x)

        helper(jnp.ones(3))
    """
    assert lines_left(text) == []


def test_what_the_trace_did_not_reach_stays():
    text = """
        def entry(x, flag=False):
            if flag:
                return jnp.sin(x)
            return x

        def other(x):
            return jnp.sin(x)
    """
    assert lines_left(text) == [4, 8]


def test_another_way_through_the_same_line_stays():
    text = """
        def entry(x):
            def helper(x):
                return jnp.sin(x)

            def own(x):
                return helper(x)

            def others(x):
                return helper(x)

            return own(x) if x.ndim == 1 else others(x)
    """
    assert lines_left(text) == [4]


def test_an_example_is_the_trace_of_what_it_gives():
    text = """
        class Layer:
            def __call__(self, x):
                return jnp.sin(x)

        def inputs():
            return (jnp.ones(3),)

        def entry(x):
            return make(x)

        make = Layer()
    """
    assert lines_left(text, given_by="inputs") == []


def test_a_trace_that_raises_withdraws_nothing():
    text = """
        def entry(x):
            y = jnp.sin(x)
            return y @ jnp.ones(5)
    """
    assert lines_left(text) == [3]


def test_what_raises_when_it_runs_is_not_seen_by_a_trace():
    rule = find("JT106")
    (read,) = audit_text(rule.wrong, "program").issues
    paths = frozenset(read.paths)
    traced = Report("entry", passed=paths)
    assert reconciled(Report("a", issues=(read,)), traced).issues == (read,)
    other = replace(read, code="JT105")
    assert reconciled(Report("a", issues=(other,)), traced).issues == ()


def reused(program: str) -> tuple[Finding, Report]:
    """A static finding that a key is reused, and a trace of another program with the same lines."""
    (read,) = audit_text(find("RK001").wrong, "program").issues
    return read, Report("entry", passed=read.paths)


def test_what_a_rule_has_proved_of_the_trace_rules_out_its_static_findings():
    read, traced = reused(find("RK001").wrong)
    proof = Verified("RK001", "prng", "distinct keys", "they were followed", read.place)
    for code in ("RK001", "RK002", "RK003"):
        found = Report("a", issues=(replace(read, code=code),))
        assert reconciled(found, replace(traced, verified=(proof,))).issues == ()
        assert reconciled(found, traced).issues == found.issues
        elsewhere = replace(proof, place=replace(read.place, line=1))
        assert reconciled(found, replace(traced, verified=(elsewhere,))).issues == found.issues
    other = Report("a", issues=(replace(read, code="RK004"),))
    assert reconciled(other, replace(traced, verified=(proof,))).issues == other.issues


def test_an_entry_does_not_stand_beside_a_finding_that_denies_it():
    read, _ = reused(find("RK001").wrong)
    entry = Verified("RK001", "prng", "each key is used once", "", read.place)
    traced = Report("entry", issues=(replace(read, engine=Engine.TRACE),))
    assert reconciled(Report("a", verified=(entry,)), traced).verified == ()
    elsewhere = replace(entry, place=replace(read.place, function="other", line=1))
    assert reconciled(Report("a", verified=(elsewhere,)), traced).verified == (elsewhere,)


def test_what_is_verified_of_one_line_is_denied_by_a_finding_there_alone():
    read, _ = reused(find("RK001").wrong)
    found = replace(read, code="DF203", family="dataflow", evidence=())
    entry = Verified("DF201", "dataflow", "a log is defined", "", read.place)
    traced = Report("entry", issues=(found,))
    assert merged([Report("a", verified=(entry,)), traced]).verified == ()
    above = replace(entry, place=replace(read.place, line=1))
    assert merged([Report("a", verified=(above,)), traced]).verified == (above,)
    led_here = replace(found, evidence=(Evidence("the index", above.place),))
    assert merged([Report("a", verified=(above,)), Report("b", issues=(led_here,))]).verified == ()


@pytest.mark.parametrize("code", ["AX201", "SC203", "SC204", "SC205", "JT105", "PT204", "GR202"])
def test_one_cause_is_one_finding(tmp_path: Path, code: str):
    """Both engines find what makes these programs raise, some under two codes at two lines."""
    file = tmp_path / "program.py"
    file.write_text(find(code).wrong)
    report = audit_targets([f"{file}:entry"], Given(inputs="inputs"), options=Options(cache=False))
    assert [it.severity for it in report.findings] == [Severity.ERROR]


def test_the_static_analysis_explains_what_the_trace_only_met():
    rule = find("PT205")
    file = Path("program.py").resolve()
    (read,) = audit_text(rule.wrong, "program").issues
    met = replace(
        read,
        code="JT299",
        current="it raises AttributeError",
        engine=Engine.TRACE,
        place=replace(read.place, line=9),
        evidence=(Evidence("called here", read.place),),
    )
    likely = replace(read, confidence=Confidence.LIKELY)
    (found,) = reconciled(Report("a", issues=(likely,)), Report("b", issues=(met,))).issues
    assert (found.code, found.confidence) == ("PT205", Confidence.CERTAIN)
    assert found.evidence[-1] == Evidence("it raises AttributeError", met.place)
    assert found.place.file == str(file)


def test_what_raised_is_reported_although_its_rule_is_in_preview(tmp_path: Path):
    """The trace only met it, and has no rule of its own for it; the static one was wrong before."""
    program = """
        def entry(grads, count):
            grads /= count
            return grads
        def inputs():
            return {"w": jnp.ones(3)}, jnp.float32(2)
    """
    path = tmp_path / "program.py"
    path.write_text(HEAD + dedent(program))
    report = audit_targets([f"{path}:entry"], Given(inputs="inputs"))
    (found,) = report.issues
    assert (found.place.line, found.preview) == (5, False)


def test_two_defects_in_one_line_are_two_findings():
    (read,) = audit_text(find("RK001").wrong, "program").issues
    other = replace(read, code="DF201", family="dataflow", engine=Engine.TRACE, evidence=())
    both = reconciled(Report("a", issues=(read,)), Report("b", issues=(other,))).issues
    assert {it.code for it in both} == {"RK001", "DF201"}


def test_another_trace_is_only_asked_for_where_it_could_contradict():
    (read,) = audit_text(find("RK001").wrong, "program").issues
    assert needs_witness(Report("a", issues=(read,)))
    assert not needs_witness(Report("a", issues=(replace(read, code="DF106"),)))
    assert needs_witness(
        Report("a", issues=(replace(read, code="DF106", severity=Severity.ERROR),))
    )


# Rules about other packages: their programs run only where these are at hand.
RUNNABLE = [
    rule
    for rule in all_rules()
    if not any(
        find_spec(line.split()[1].partition(".")[0]) is None
        for line in rule.wrong.splitlines()
        if line.startswith(("import ", "from "))
    )
]


@pytest.mark.parametrize("rule", RUNNABLE, ids=lambda rule: rule.code)
def test_a_wrong_program_has_one_defect_for_both_engines(rule: Rule, tmp_path: Path, monkeypatch):
    """Whatever rules see of it: one of them tells it, in the words of one engine."""
    monkeypatch.chdir(tmp_path)
    file = Path("program.py").resolve()
    file.write_text(rule.wrong)
    module = ModuleType("program")
    monkeypatch.setitem(sys.modules, "program", module)
    with jax.numpy_rank_promotion("allow"):
        exec(compile(rule.wrong, str(file), "exec", dont_inherit=True), module.__dict__)
        args = tuple(module.inputs())
        told = {"axes": getattr(module, "AXES", None), "given_by": module.inputs}
        traced = audit_callable(module.entry, args, {}, witness=True, **told)
    found = reconciled(audit_text(rule.wrong, "program"), traced).findings
    shown = [it for it in found if not it.preview]
    assert len({(it.code, it.engine) for it in shown}) <= 1, [str(it) for it in shown]
    assert found
