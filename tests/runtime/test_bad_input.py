"""Mistakes are refused at the call, in words that name the thing, the place and the way out."""

import re
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from verax import (
    as_result_function,
    check_assertions,
    propagate,
    propagate_and_fix,
    runtime_assert,
    with_runtime_assertions,
)
from verax.runtime import LARGEST, InspectedWhileTracingError


def fix(state, needed):
    return state


ONE = jnp.array(1)


def at_the_call(call, error, *parts):
    """Bare, collected and jitted alike; each part of the text is there, and so is this file."""

    def program(x):
        call(x)
        return x

    for run in (program, with_runtime_assertions(program), jax.jit(as_result_function(program))):
        with pytest.raises(error) as caught:
            run(ONE)
        text = str(caught.value)
        for part in ("runtime_assert at", __file__, *parts):
            assert part in text, text


MISTAKES = {
    "predicate_of_floats": (
        lambda x: runtime_assert(x * 1.0, ""), TypeError, "predicate", "float32", "`x > 0`"
    ),
    "predicate_of_integers": (
        lambda x: runtime_assert(x, ""), TypeError, "predicate", "int32", "`x != 0`"
    ),
    "predicate_is_a_number": (
        lambda x: runtime_assert(1, ""), TypeError, "predicate", "int32", "booleans"
    ),
    "predicate_is_text": (lambda x: runtime_assert("yes", ""), TypeError, "predicate", "str"),
    "predicate_is_a_list": (
        lambda x: runtime_assert([x > 0, "no"], ""), TypeError, "predicate", "list"
    ),
    "predicate_is_a_key": (
        lambda x: runtime_assert(jax.random.key(0), ""), TypeError, "predicate", "key"
    ),
    "predicate_is_none": (lambda x: runtime_assert(None, ""), TypeError, "predicate", "NoneType"),
    "fmt_args_is_a_list": (lambda x: runtime_assert(x > 0, "{a}", [x]), TypeError, "fmt_args"),
    "fmt_args_with_numbers_as_names": (
        lambda x: runtime_assert(x > 0, "text", {1: x}),
        TypeError,
        "fmt_args",
    ),
    "fix_args_with_text": (
        lambda x: runtime_assert(x > 0, "", fix_fn=fix, fix_args="edges"),
        TypeError,
        "fix_args",
    ),
    "message_is_not_text": (
        lambda x: runtime_assert(x > 0, 3), TypeError, "message", "int"
    ),
    "placeholder_missing": (
        lambda x: runtime_assert(x > 0, "{a} and {b}", {"a": x}),
        ValueError, "{b}", "['a']", "{{ and }}",
    ),
    "placeholder_without_values": (
        lambda x: runtime_assert(x > 0, "{a}"), ValueError, "{a}", "nothing"
    ),
    "placeholder_with_index_missing": (
        lambda x: runtime_assert(x > 0, "{a[0]:.2f}", {"b": x}), ValueError, "{a}", "['b']"
    ),
    "placeholder_in_a_format_spec": (
        lambda x: runtime_assert(x > 0, "{a:{w}}", {"a": x}), ValueError, "{w}", "['a']"
    ),
    "positional_placeholder": (
        lambda x: runtime_assert(x > 0, "{}", {"a": x}), ValueError, "{}", "['a']", "name"
    ),
    "numbered_placeholder": (
        lambda x: runtime_assert(x > 0, "{0}", {"a": x}), ValueError, "{0}", "['a']", "name"
    ),
    "lonely_brace": (
        lambda x: runtime_assert(x > 0, "set {1, 2"), ValueError, "{{ and }}", "'set {1, 2'"
    ),
    "fmt_args_unhashable": (
        lambda x: runtime_assert(x > 0, "{a}", {"a": ["text", x]}),
        TypeError, "fmt_args['a']", "list", "str(value)",
    ),
    "exception_instance": (
        lambda x: runtime_assert(x > 0, "", exception_type=ValueError("no")),
        TypeError, "exception_type", "ValueError('no')",
    ),
    "exception_is_no_exception": (
        lambda x: runtime_assert(x > 0, "", exception_type=int), TypeError, "exception_type", "int"
    ),
    "exception_is_too_wide": (
        lambda x: runtime_assert(x > 0, "", exception_type=KeyboardInterrupt),
        TypeError, "exception_type", "KeyboardInterrupt",
    ),
    "static_info_unhashable": (
        lambda x: runtime_assert(x > 0, "", static_info=[1]),
        TypeError, "static_info", "hashable", "tuple",
    ),
    "static_info_is_an_array": (
        lambda x: runtime_assert(x > 0, "", static_info=x), TypeError, "static_info", "fmt_args"
    ),
    "fix_fn_without_args": (
        lambda x: runtime_assert(x > 0, "", fix_fn=fix), TypeError, "fix_fn", "fix_args"
    ),
    "fix_args_without_fn": (
        lambda x: runtime_assert(x > 0, "", fix_args=x), TypeError, "fix_args", "fix_fn"
    ),
    "fix_fn_is_no_function": (
        lambda x: runtime_assert(x > 0, "", fix_fn=3, fix_args=x), TypeError, "fix_fn", "int"
    ),
    "fix_fn_of_one_argument": (
        lambda x: runtime_assert(x > 0, "", fix_fn=lambda state: state, fix_args=x),
        TypeError, "fix_fn(state, fix_args)", "(state)",
    ),
    "fix_fn_of_three_arguments": (
        lambda x: runtime_assert(x > 0, "", fix_fn=lambda a, b, c: a, fix_args=x),
        TypeError, "fix_fn(state, fix_args)", "(a, b, c)",
    ),
    "largest_of_complex": (
        lambda x: runtime_assert(x > 0, "", fix_fn=fix, fix_args=x * 1j, fix_law=LARGEST),
        TypeError, "LARGEST", "complex64",
    ),
    "largest_of_keys": (
        lambda x: runtime_assert(
            x > 0, "", fix_fn=fix, fix_args=jax.random.key(0), fix_law=LARGEST
        ),
        TypeError, "LARGEST", "key<fry>",
    ),
    "largest_of_booleans": (
        lambda x: runtime_assert(x > 0, "", fix_fn=fix, fix_args=x > 3, fix_law=LARGEST),
        TypeError, "LARGEST", "bool",
    ),
    "law_is_text": (
        lambda x: runtime_assert(x > 0, "", fix_fn=fix, fix_args=x, fix_law="largest"),
        TypeError, "fix_law", "FIRST", "LARGEST", "'largest'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
def test_runtime_assert(mistake):
    at_the_call(*mistake)


@pytest.mark.parametrize(
    "fix_fn",
    [
        partial(lambda a, state, needed: state, 1),
        lambda *args: args[0],
        lambda state, needed, *, keep=True: state,
        max,
        np.maximum,
    ],
)
def test_fix_functions_of_every_kind_are_taken(fix_fn):
    runtime_assert(ONE > 0, "", fix_fn=fix_fn, fix_args=ONE)


INSPECTIONS = {
    "valid": lambda a: a.valid,
    "failed": lambda a: a.failed,
    "check": lambda a: a.check(),
    "exception": lambda a: a.exception,
    "str": str,
    "fix": lambda a: a.fix(None),
}


def failing(x):
    runtime_assert(x > 5, "too {x}", {"x": x}, fix_fn=lambda s, v: v, fix_args=x)
    return x


@pytest.mark.parametrize("look", INSPECTIONS.values(), ids=INSPECTIONS)
def test_inspecting_an_assertion_while_tracing(look):
    @jax.jit
    def step(x):
        value, (assertion,) = with_runtime_assertions(failing)(x)
        look(assertion)
        return value

    with pytest.raises(InspectedWhileTracingError, match=re.escape("'too {x}'")) as caught:
        step(ONE)
    assert "while JAX is tracing" in str(caught.value)
    assert "check_assertions()" in str(caught.value)


@pytest.mark.parametrize(
    "look",
    [
        lambda r: r.all_assertions_pass,
        lambda r: r.failed_assertions,
        lambda r: r.raise_assertion(),
        lambda r: r.fix_or_raise(1),
    ],
    ids=["all_assertions_pass", "failed_assertions", "raise_assertion", "fix_or_raise"],
)
@pytest.mark.parametrize("transformation", [jax.jit, jax.vmap], ids=lambda f: f.__name__)
def test_inspecting_a_result_while_tracing(look, transformation):
    def step(x):
        result = as_result_function(failing)(x)
        look(result)
        return result.value

    x = jnp.ones((2,)) if transformation is jax.vmap else jnp.array(1.0)
    with pytest.raises(InspectedWhileTracingError, match="while JAX is tracing"):
        transformation(step)(x)


def test_fix_of_an_assertion_without_one():
    _, (assertion,) = with_runtime_assertions(lambda x: runtime_assert(x > 5, "too {x}", {"x": x}))(
        ONE
    )
    with pytest.raises(TypeError, match="no fix for: too 1"):
        assertion.fix(None)


@pytest.mark.parametrize("function", [with_runtime_assertions, as_result_function])
@pytest.mark.parametrize(
    ("options", "parts"),
    [({"on_unknown": "explode"}, ["on_unknown", "'raise'", "'warn'", "'ignore'", "'explode'"])],
)
def test_policies(function, options, parts):
    with pytest.raises(ValueError, match="on_unknown") as caught:
        function(failing, **options)
    for part in parts:
        assert part in str(caught.value)


def test_propagate_and_fix_of_a_plain_function():
    with pytest.raises(TypeError, match=r"returns a Result.*as_result_function"):
        propagate_and_fix(lambda state: state, ONE)


def test_propagate_and_fix_of_a_function_that_returns_pairs():
    with pytest.raises(TypeError, match=r"returned tuple.*as_result_function"):
        propagate_and_fix(with_runtime_assertions(failing), ONE)


STEPS = {
    "structure": (lambda s: (s["x"],), r"same structure[\s\S]*given:[\s\S]*returned:"),
    "dtype": (
        lambda s: {**s, "x": s["x"] * 1.0}, r"\['x'\] goes in as int32\[\] and comes out as float32"
    ),
    "shape": (
        lambda s: {**s, "y": s["y"][None]}, r"\['y'\] goes in as float32\[2\] .*float32\[1,\s*2\]"
    ),
    "nothing": (lambda s: None, "same structure"),
}  # fmt: skip


@pytest.mark.parametrize(("step", "text"), STEPS.values(), ids=STEPS)
def test_step_that_changes_the_state_in_kind(step, text):
    with pytest.raises(TypeError, match=text):
        propagate(step, {"x": jnp.array(1), "y": jnp.zeros(2)}, 3)


@pytest.mark.parametrize(
    ("num_steps", "options", "name"),
    [
        (-1, {}, "num_steps"),
        (3, {"every": 2}, "callback"),
        (3, {"callback": print}, "every"),
        (3, {"every": 0, "callback": print}, "every"),
        (3, {"every": -1, "callback": print}, "every"),
    ],
)
def test_numbers_of_propagate(num_steps, options, name):
    with pytest.raises((TypeError, ValueError), match=name):
        propagate(lambda x: x + 1, ONE, num_steps, **options)


@pytest.mark.parametrize("function", [with_runtime_assertions, as_result_function])
def test_not_a_function(function):
    with pytest.raises(TypeError, match="function"):
        function(3)


@pytest.mark.parametrize("retries", [-1, 1.5, None])
def test_retries_that_are_no_count(retries):
    with pytest.raises((TypeError, ValueError), match="max_retries"):
        propagate_and_fix(as_result_function(failing), ONE, max_retries=retries)
    with pytest.raises((TypeError, ValueError), match="max_retries"):
        propagate(lambda x: x, ONE, 1, max_retries=retries)


def test_half_a_step():
    with pytest.raises((TypeError, ValueError), match="num_steps"):
        propagate(lambda x: x + 1, ONE, 2.5)


def test_state_of_propagate_that_is_not_made_of_arrays():
    with pytest.raises(TypeError, match="name"):
        propagate(lambda s: s, {"name": "run 7", "x": ONE}, 3)


def test_check_assertions_outside_of_a_collector_is_true():
    assert bool(check_assertions())
    assert bool(jax.jit(check_assertions)())


def test_bare_mistakes_are_found_in_loops_too():
    with pytest.raises(TypeError, match="predicate"):
        lax.scan(lambda c, x: (runtime_assert(x, "no"), None), None, jnp.zeros(3))
