"""Telling traced values from real ones, and the message of the guard."""

import jax
import jax.numpy as jnp
import pytest

from verax.transforms import NotJaxCompatibleError, is_traced, no_jax_tracing


@no_jax_tracing
def save(path, state, *, step=0):
    """Write the state down."""
    return f"{path}:{step}"


@pytest.mark.parametrize("value", [1, 2.0, None, "text", jnp.ones(2), {"x": [jnp.ones(2)]}])
def test_real_values_are_not_traced(value):
    assert not is_traced(value)


@pytest.mark.parametrize(
    "transform",
    [jax.jit, jax.vmap, jax.grad, lambda f: lambda xs: jax.lax.map(f, xs)],
    ids=["jit", "vmap", "grad", "map"],
)
def test_values_are_traced_inside_transformations_also_in_trees(transform):
    seen = []

    def body(x):
        seen.append((is_traced(x), is_traced({"real": 1, "tree": [x]}), is_traced(x.shape)))
        return jnp.sum(x)

    x = jnp.ones(3) if transform is not jax.grad else jnp.float32(1)
    transform(body)(x)
    assert seen
    assert set(seen) == {(True, True, False)}


def test_a_guarded_function_is_otherwise_the_same():
    assert save("file", {"x": 1.0}, step=3) == "file:3"
    assert (save.__name__, save.__doc__) == ("save", "Write the state down.")


@pytest.mark.parametrize("transform", [jax.jit, jax.vmap, jax.grad])
def test_a_guarded_function_refuses_every_transformation(transform):
    with pytest.raises(NotJaxCompatibleError):
        transform(lambda x: save("file", x))(jnp.ones(2) if transform is not jax.grad else 1.0)


def test_the_message_names_function_argument_and_way_out():
    with pytest.raises(NotJaxCompatibleError) as caught:
        jax.jit(lambda x: save("file", {"a": [1.0, x]}))(jnp.ones(3))
    text = str(caught.value)
    assert text.startswith("save needs real values, but state['a'][1] is traced: ")
    assert "float32[3]" in text
    assert "outside of jit" in text
    assert "jax.pure_callback" in text


def test_keyword_and_variadic_arguments_are_named():
    with pytest.raises(NotJaxCompatibleError, match="but step is traced"):
        jax.jit(lambda x: save("file", None, step=x))(1)

    @no_jax_tracing
    def show(*values, **named):
        return values, named

    with pytest.raises(NotJaxCompatibleError, match=r"but values\[1\] is traced"):
        jax.jit(lambda x: show(1, x))(1)
    with pytest.raises(NotJaxCompatibleError, match=r"but named\['y'\] is traced"):
        jax.jit(lambda x: show(1, y=x))(1)


def test_a_wrong_call_is_still_python_error_with_real_values():
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        save("file")


def test_functions_without_a_signature():
    largest = no_jax_tracing(max)
    assert largest(1, 2) == 2
    with pytest.raises(NotJaxCompatibleError, match="max needs real values, but argument 1 is"):
        jax.jit(lambda x: largest(1, x))(2)
