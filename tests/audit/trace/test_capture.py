"""Tracing with transformations as equations gives the types that JAX itself gives.

`jax.eval_shape` transforms for real, and is the truth for types; what stands in the program is
compared with what was written.
"""

import threading
from functools import partial

import jax
import jax.numpy as jnp
import pytest
from jax import grad, jit, vmap
from jax.lax import scan

from verax.audit.trace.capture import regions
from verax.audit.trace.entry import trace

X = jnp.ones((4, 3))
V = jnp.ones(3)

# Made before any audit, and under names of this module's own.
rowwise = vmap(lambda row: row @ row)
slope = grad(lambda v: jnp.sum(jnp.sin(v)))


def counted(x):
    def body(carry, row):
        total, constant = carry
        return (total + row, constant), total.sum()

    return scan(body, (jnp.zeros(3), 2.0), x)


PROGRAMS = {
    "vmap made before": (rowwise, (X,)),
    "grad made before": (slope, (V,)),
    "vmap of grad": (lambda x: vmap(slope)(x), (X,)),
    "grad of vmap": (lambda x: grad(lambda y: rowwise(y).sum())(x), (X,)),
    "value_and_grad with auxiliary data": (
        lambda v: jax.value_and_grad(lambda v: (v.sum(), {"n": v * 2}), has_aux=True)(v),
        (V,),
    ),
    "grad for several arguments": (
        lambda x, v: grad(lambda v, x: (x @ v).sum(), argnums=(0, 1))(v, x),
        (X, V),
    ),
    "vjp": (lambda v: jax.vjp(lambda v: (v * 2, v.sum()), v)[1]((v, 1.0)), (V,)),
    "jvp": (lambda v: jax.jvp(jnp.sin, (v,), (v,)), (V,)),
    "linearize": (lambda v: jax.linearize(jnp.sin, v)[1](v), (V,)),
    "jacrev": (lambda v: jax.jacrev(jnp.sin)(v), (V,)),
    "jacfwd": (lambda v: jax.jacfwd(jnp.sin)(v), (V,)),
    "hessian": (lambda v: jax.hessian(lambda v: (v**3).sum())(v), (V,)),
    "out_axes": (lambda x: vmap(lambda row: (row, row.sum()), 0, (1, 0))(x), (X,)),
    "negative axes": (lambda x: vmap(jnp.sin, -1, -1)(x), (X,)),
    "out_axes of None": (lambda x, v: vmap(lambda r, v: v, (0, None), None)(x, v), (X, V)),
    "axis size only": (lambda v: vmap(lambda v: v * 2, None, 0, axis_size=5)(v), (V,)),
    "a size that is not mapped": (
        lambda x: vmap(lambda row, n: jnp.zeros(n) + row[0], (0, None))(x, 7),
        (X,),
    ),
    "a dtype that is not mapped": (
        lambda x: vmap(lambda row, dtype: row.astype(dtype), (0, None))(x, jnp.bfloat16),
        (X,),
    ),
    "collective": (lambda x: vmap(lambda r: jax.lax.psum(r, "i"), axis_name="i")(x), (X,)),
    "axis_index": (lambda x: vmap(lambda r: jax.lax.axis_index("i"), axis_name="i")(x), (X,)),
    "scan": (counted, (X,)),
    "scan by keyword": (
        lambda x: scan(f=lambda c, r: (c, r), init=0.0, xs=x, reverse=True),
        (X,),
    ),
    "while by keyword": (
        lambda v: jax.lax.while_loop(
            cond_fun=lambda c: c.sum() < 9, body_fun=lambda c: c + 1, init_val=v
        ),
        (V,),
    ),
    "associative scan": (lambda x: jax.lax.associative_scan(jnp.add, x), (X,)),
    "map in batches": (lambda x: jax.lax.map(jnp.sum, x, batch_size=2), (X,)),
    "checkpoint": (lambda v: grad(jax.checkpoint(lambda v: jnp.sin(v).sum()))(v), (V,)),
    "vectorize": (lambda x: jnp.vectorize(jnp.sum, signature="(n)->()")(x), (X,)),
    "jit around all": (jit(lambda x: vmap(slope)(x).sum()), (X,)),
    "integers in grad": (
        lambda v: grad(lambda v, i: v[i], allow_int=False)(v, jnp.int32(1)),
        (V,),
    ),
}


def types(tree):
    return [(leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(tree)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_have_the_types_that_jax_gives(name):
    function, args = PROGRAMS[name]
    traced = trace(function, args, {})
    assert traced.failure is None
    assert traced.notes == []
    found = [(value.shape, value.dtype) for value in traced.program.body.outputs]
    assert found == types(jax.eval_shape(function, *args))


def kinds(function, *args):
    return [step.kind for step in trace(function, args, {}).program.walk() if step.bodies]


def test_transformations_that_leave_no_equation_are_in_the_program():
    assert kinds(rowwise, X) == ["map"]
    assert kinds(lambda x: vmap(slope)(x), X) == ["map", "derive"]
    assert kinds(lambda x: grad(lambda y: rowwise(y).sum())(x), X) == ["derive", "map"]


def test_the_settings_of_grad_are_kept():
    function = grad(lambda v, x: (x @ v).sum(), argnums=(1,))
    steps = list(trace(function, (V, X), {}).program.walk())
    derive = next(step for step in steps if step.kind == "derive")
    assert derive.detail.kind == "grad"
    assert derive.detail.argnums == (1,)
    assert [inner.shape for _, inner in derive.detail.differentiated] == [(4, 3)]


def test_a_carry_that_does_not_change_stays_in_its_scan():
    steps = trace(counted, (X,), {}).program.walk()
    loop = next(step for step in steps if step.kind == "scan").detail
    unchanged = [a is b for a, b in zip(loop.carry, loop.carried, strict=True)]
    assert unchanged == [False, True]


def test_a_function_that_was_compiled_before_is_traced_anew():
    compiled = jit(lambda x: rowwise(x))
    compiled(X)
    assert "map" in kinds(compiled, X)


def test_jax_is_what_it_was_afterwards():
    before = jax.vmap, jax.grad, jax.lax.scan, jax.lax.while_loop, scan

    def interrupted():
        with regions():
            assert jax.lax.scan is not before[2]
            raise RuntimeError("in between")

    with pytest.raises(RuntimeError, match="in between"):
        interrupted()
    assert (jax.vmap, jax.grad, jax.lax.scan, jax.lax.while_loop, scan) == before
    assert float(slope(V)[0]) == pytest.approx(float(jnp.cos(1.0)))


def test_functions_with_derivatives_of_their_own_are_what_they_were_afterwards():
    before = jax.custom_jvp.__call__, jax.custom_vjp.__call__
    with regions(salvage=True):
        assert jax.custom_jvp.__call__ is not before[0]
    assert (jax.custom_jvp.__call__, jax.custom_vjp.__call__) == before


def test_other_threads_do_not_notice():
    found = []
    with regions():
        thread = threading.Thread(target=lambda: found.append(counted(X)))
        thread.start()
        thread.join()
    (total, constant), sums = found[0]
    assert total.tolist() == [4.0, 4.0, 4.0]
    assert (float(constant), sums.tolist()) == (2.0, [0.0, 3.0, 6.0, 9.0])


def sign(row):
    """What `vmap` accepts, while a call for one row does not fit."""
    return jax.lax.select(row > 0, 1.0, -1.0)


def signed_sines(x):
    signs = vmap(sign)(x)
    return jnp.sum(vmap(lambda row, s: jnp.sin(row) * s)(x, signs))


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (vmap(sign), []),
        (signed_sines, ["map"]),
        (grad(signed_sines), ["derive", "map"]),
        (jit(grad(signed_sines)), ["derive", "map"]),
        (lambda x: vmap(vmap(sign))(jnp.stack([x, x])), ["map"]),
        (
            lambda x: vmap(lambda y: grad(signed_sines)(y) + 1)(jnp.stack([x, x])),
            ["map", "derive", "map"],
        ),
    ],
)
def test_what_only_vmap_accepts_costs_nothing_but_its_own_region(function, expected):
    traced = trace(function, (X,), {})
    steps = [step.kind for step in traced.program.walk() if step.bodies]
    assert [kind for kind in steps if kind in ("map", "derive")] == expected
    found = [(value.shape, value.dtype) for value in traced.program.body.outputs]
    assert found == types(jax.eval_shape(function, X))
    (note,) = traced.notes
    assert note.startswith("`vmap` of `sign` could not be marked while tracing")


def averaged(x):
    mean = jit(lambda y: jax.lax.pmean(y, "i"))(x)
    return mean, jax.lax.psum(1, "i"), jnp.where(mean > 0, jax.lax.pmax(x, "i"), mean)


def test_what_devices_agree_on_is_one_result():
    function = vmap(averaged, axis_name="i", out_axes=None)
    traced = trace(function, (X,), {})
    assert (traced.failure, traced.notes) == (None, [])
    found = [(value.shape, value.dtype) for value in traced.program.body.outputs]
    assert found == types(jax.eval_shape(function, X))
    assert "map" in kinds(function, X)


@pytest.mark.parametrize(
    ("function", "args", "error"),
    [
        (lambda x: grad(lambda y: y * 2)(x), (V,), TypeError),
        (lambda x: vmap(lambda a, b: a + b)(x, x[:2]), (X,), ValueError),
        (lambda x: vmap(lambda r: r, out_axes=None)(x), (X,), ValueError),
        (lambda x: scan(lambda c, r: (c[:1], r), x[0], x), (X,), TypeError),
        (lambda x: grad(lambda y: y.sum(), argnums=2)(x), (V,), TypeError),
        (lambda x: vmap(partial(jax.lax.psum, axis_name="j"), axis_name="i")(x), (X,), NameError),
    ],
)
def test_what_jax_refuses_fails_in_the_same_way(function, args, error):
    with pytest.raises(error):
        jax.eval_shape(function, *args)
    assert isinstance(trace(function, args, {}).failure, error)
