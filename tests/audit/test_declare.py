"""`verax.axes` names axes inside of a program, and costs nothing outside of an audit."""

import jax
import jax.numpy as jnp
import pytest

import verax


def pooled_wrongly(x):
    x = verax.axes(x, "batch time feat")
    return verax.axes(x.mean(axis=2), "batch feat")


def test_a_declaration_that_contradicts_is_an_issue_at_its_line():
    report = verax.audit(pooled_wrongly, jnp.ones((4, 3, 3)))
    (issue,) = report.issues
    assert issue.code == "AX001"
    assert "time and feat" in issue.current
    assert issue.place.line == pooled_wrongly.__code__.co_firstlineno + 2


def test_declared_names_reach_the_outputs():
    def program(x):
        x = verax.axes(x, "batch _ feat")
        return jax.vmap(lambda row: row.sum(axis=0))(x)

    report = verax.audit(program, jnp.ones((4, 3, 2)))
    assert not report.issues
    assert str(report.data_flow[0].outputs[0].tensor) == "f32[batch=4,feat=2]"


def test_the_compiled_program_is_the_same():
    def bare(x):
        return jnp.tanh(x).sum()

    def declared(x):
        return jnp.tanh(verax.axes(x, "batch feat")).sum()

    x = jnp.ones((2, 3))
    texts = [
        jax.jit(function).lower(x).as_text().replace(function.__name__, "f")
        for function in (bare, declared)
    ]
    assert texts[0] == texts[1]
    # Other tools read the jaxpr, and would not know an equation of ours.
    programs = [str(jax.make_jaxpr(function)(x)) for function in (bare, declared)]
    assert programs[0] == programs[1]


def test_an_ellipsis_leaves_leading_axes_alone():
    report = verax.audit(lambda x: verax.axes(x, "... feat") * 2.0, jnp.ones((4, 3)))
    assert str(report.data_flow[0].outputs[0].tensor) == "f32[4,feat=3]"


@pytest.mark.parametrize("names", ["batch", "a b c", "... a b c"])
def test_the_number_of_names_is_checked_without_an_audit_too(names):
    with pytest.raises(ValueError, match=r"but the array has 2: shape \(2, 3\)"):
        verax.axes(jnp.ones((2, 3)), names)
