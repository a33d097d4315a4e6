"""One defect, shown once: found by both engines, or seen in several places."""

from dataclasses import replace

import verax
from verax.audit import Confidence, Engine, Evidence, Place, Report
from verax.audit.causes import one_a_cause
from verax.audit.report import merged

from .sample import ISSUE, WARNING, at


def of_both(traced, read):
    (found,) = merged([Report("a", issues=(read,)), Report("b", issues=(traced,))]).issues
    return found


def test_the_trace_tells_what_both_engines_found():
    read = replace(ISSUE, engine=Engine.SOURCE, current="read", evidence=(Evidence("r", at(1)),))
    assert of_both(ISSUE, read) == ISSUE
    bare = replace(ISSUE, evidence=())
    assert of_both(bare, read) == replace(bare, evidence=read.evidence)


def test_what_the_trace_has_no_name_for_is_told_by_reading():
    read = replace(ISSUE, engine=Engine.SOURCE, current="`x` is lost", confidence=Confidence.LIKELY)
    nameless = replace(ISSUE, current="`the f32[8,4] of line 3` is lost")
    # One that is certain makes it certain, whoever tells it.
    assert of_both(nameless, read) == replace(read, confidence=Confidence.CERTAIN)


def test_what_engines_find_at_two_lines_is_told_where_it_is_written():
    read = replace(ISSUE, engine=Engine.SOURCE, place=at(3), evidence=(Evidence("used", at(9)),))
    traced = replace(ISSUE, place=at(9), current="index 2", evidence=(Evidence("made", at(3)),))
    assert of_both(traced, read) == read
    # One of them need not know of the other, and both may go back to the same lines.
    bare = replace(read, evidence=(), confidence=Confidence.LIKELY)
    assert of_both(traced, bare) == replace(
        read, confidence=Confidence.CERTAIN, evidence=(Evidence("index 2", at(9)),)
    )
    alike = replace(read, evidence=(Evidence("first", at(1)),))
    found = of_both(replace(traced, evidence=(Evidence("the first time", at(1)),)), alike)
    assert found == replace(alike, evidence=(*alike.evidence, Evidence("index 2", at(9))))


def test_findings_of_engines_that_do_not_know_of_each_other_are_two():
    read = replace(ISSUE, engine=Engine.SOURCE, place=at(3), evidence=(Evidence("used", at(4)),))
    traced = replace(ISSUE, place=at(9), evidence=(Evidence("made", at(8)),))
    other_rule = replace(read, code="DF102", evidence=(Evidence("used", at(9)),))
    for one in (read, other_rule, replace(read, evidence=())):
        report = merged([Report("a", issues=(one,)), Report("b", issues=(traced,))])
        assert report.issues == (one, traced)


def test_a_traced_finding_belongs_to_one_that_was_read():
    first = replace(ISSUE, engine=Engine.SOURCE, place=at(3), evidence=(Evidence("used", at(9)),))
    second = replace(first, place=at(4))
    traced = replace(ISSUE, place=at(9), evidence=())
    report = merged([Report("a", issues=(first, second)), Report("b", issues=(traced,))])
    assert report.issues == (first, second)


def test_places_of_one_cause_are_gathered():
    cause = Evidence("it becomes probabilities here", at(3))
    first, second, other = (
        replace(ISSUE, code="DF102", place=at(line), evidence=(cause,)) for line in (10, 20, 30)
    )
    other = replace(other, evidence=(replace(cause, place=at(4)),))
    report = one_a_cause(Report("t", issues=(first, ISSUE, second, other), warnings=(WARNING,)))
    also = Evidence("the same happens here", at(20))
    assert report.issues == (replace(first, evidence=(cause, also)), ISSUE, other)
    assert report.warnings == (WARNING,)


def test_evidence_of_other_rules_is_no_cause():
    twice = tuple(replace(ISSUE, place=at(line)) for line in (10, 20))
    assert one_a_cause(Report("t", issues=twice)).issues == twice
    unknown = replace(ISSUE, code="XX001", place=Place("a.py", 1))
    assert one_a_cause(Report("t", issues=(unknown,))).issues == (unknown,)


def test_functions_inside_of_functions_have_one_name():
    import jax
    import jax.numpy as jnp

    def outer(key):
        def inner(key):
            return jax.random.normal(key) + jax.random.normal(key)

        return inner(key)

    (issue,) = verax.audit(outer, jax.random.key(0)).issues
    (name,) = {issue.place.function.partition("outer")[2]}
    assert (issue.code, name) == ("RK001", ".inner")
    assert jnp.isfinite(outer(jax.random.key(0)))


def test_keys_are_called_as_the_function_that_uses_them_calls_them():
    import jax

    def rollout(key):
        def step(x, own):
            x = x + jax.random.normal(own)
            return x, jax.random.split(own, 3)

        return jax.lax.scan(step, 0.0, jax.random.split(key, 4))

    (issue,) = verax.audit(rollout, jax.random.key(0)).issues
    assert issue.current.startswith("`own` is split here, after it was drawn from")
    assert issue.fix.startswith("split `own` and give each use a key of its own")
