"""A file may be only so much work, and a report says where it was more."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from verax.audit import Report
from verax.audit.finding import Place
from verax.audit.rules.registry import all_rules
from verax.audit.source.analyse import analyse, audit_text
from verax.audit.source.engine import Options, audit_paths
from verax.audit.source.limits import Limits
from verax.audit.source.project import Project

FIRST = """\
import jax
import jax.numpy as jnp

@jax.jit
def first(x):
    return float(x)

"""
LAST = FIRST.partition("\n\n")[2].replace("first", "last")
LONG = FIRST + "".join(f"def f{i}(x):\n    return jnp.sin(x) + {i}\n\n" for i in range(200)) + LAST


def of(steps: int) -> Limits:
    return Limits(steps=steps, steps_of_node=0)


def lines(report: Report) -> set[tuple[str, int]]:
    return {(it.code, it.place.line) for it in report.findings}


def test_what_runs_too_long_is_left_at_a_place_that_is_told():
    assert not audit_text(LONG, strict=True).unfollowed
    report = audit_text(LONG, strict=True, limits=of(5_000))
    (left,) = report.unfollowed
    assert re.fullmatch(r"f\d+", left.place.function)
    assert LONG.split("\n")[left.place.line - 1].strip().startswith("return")
    assert left.reason == "more than 5,000 steps of work for the whole file"
    assert report.verified == ()


def test_a_rule_that_compares_too_much_is_named_and_the_others_go_on():
    scans = "".join(
        f"    def b{i}(c, s):\n        return c + s, c\n    x, y{i} = jax.lax.scan(b{i}, x, s)\n"
        for i in range(60)
    )
    text = f"{FIRST}@jax.jit\ndef f(x, s):\n{scans}    return x\n"
    whole = audit_text(text, strict=True)
    report = audit_text(text, strict=True, limits=of(100_000))
    (note,) = report.notes
    assert re.search(r"program\.py: (rule|\d+ rules).* stopped after 12,500 steps of work", note)
    assert "JT202" in {it.code for it in report.issues}
    assert lines(report) <= lines(whole)


@pytest.mark.parametrize("steps", [30, 300, 1_000, 3_000])
def test_nothing_is_said_of_correct_programs_that_are_left_in_the_middle(steps: int):
    stopped = 0
    for rule in all_rules():
        whole = audit_text(rule.right)
        report = audit_text(rule.right, limits=of(steps), strict=True)
        stopped += bool(report.notes or report.unfollowed)
        assert lines(report) <= lines(whole), rule.code
        assert set(report.verified) <= set(whole.verified), rule.code
    assert stopped


@pytest.mark.parametrize("steps", [300, 3_000, 30_000])
def test_a_file_ends_at_the_same_step_whatever_was_audited_before(tmp_path: Path, steps: int):
    (tmp_path / "shared.py").write_text(LONG)
    uses = (
        "import shared\nimport jax\n\n@jax.jit\ndef use(x):\n    return shared.f7(shared.last(x))\n"
    )
    paths = [str(tmp_path / name) for name in ("one.py", "shared.py", "two.py")]
    for path in (paths[0], paths[2]):
        Path(path).write_text(uses)
    together = Project([str(tmp_path)])
    for path in (*paths, *reversed(paths)):
        alone = Project([str(tmp_path)])
        after_others = analyse(path, together, limits=of(steps)).report
        assert after_others == analyse(path, alone, limits=of(steps)).report


def test_the_cache_and_other_processes_know_the_budget(tmp_path: Path, own_cache: Path):
    for name in ("one.py", "two.py"):
        (tmp_path / name).write_text(LONG)
    places: list[set[Place]] = []
    for options in (Options(limits=of(5_000)), Options(), Options(limits=of(5_000), jobs=2)):
        report = audit_paths([str(tmp_path)], options)
        assert report == audit_paths([str(tmp_path)], replace(options, cache=False))
        places.append({it.place for it in report.unfollowed})
    assert places[0] == places[2] != places[1]
