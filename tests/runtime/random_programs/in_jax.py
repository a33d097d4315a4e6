"""Programs as JAX runs them, with `runtime_assert` and `check_assertions` in their places."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from verax import check_assertions, runtime_assert
from verax.runtime import FIRST, LARGEST

from . import grammar as g

Registers = tuple[Any, Any]


def function_of(program: g.Program) -> Any:
    """A function of two `float32` numbers that returns two."""

    def function(a: Any, b: Any) -> Registers:
        return _block(program.block, (a, b), jnp.float32(1))

    return function


def weighted(registers: Registers) -> Any:
    """What is differentiated: one number out of two."""
    return sum(w * r for w, r in zip(g.WEIGHTS, registers, strict=True))


def what_was_needed(state: Any, needed: Any) -> Any:
    """A `fix_fn` that shows what it was given."""
    return state, needed


def _block(block: g.Block, registers: Registers, e: Any) -> Registers:
    for statement in block:
        registers = _RUN[type(statement)](statement, registers, e)
    return registers


def _wrapped(x: Any) -> Any:
    return x - g.MODULUS * jnp.floor(x / g.MODULUS)


def _as_int(x: Any) -> Any:
    return x.astype(jnp.int32)


def _value(name: g.Name, registers: Registers, e: Any) -> Any:
    return {"a": registers[0], "b": registers[1], "e": e}[name]


def _with(registers: Registers, target: g.Register, value: Any) -> Registers:
    a, b = registers
    return (value, b) if target == "a" else (a, value)


def _moved(target: g.Register, registers: Registers, by: Any) -> Registers:
    return _with(registers, target, _wrapped(_value(target, registers, None) + by))


def _test(test: g.Test, registers: Registers, e: Any) -> Any:
    x = _value(test.name, registers, e)
    match test.operator:
        case "<":
            return x < test.constant
        case ">=":
            return x >= test.constant
        case "!=":
            return x != test.constant


def _expression(expression: g.Expression, registers: Registers, e: Any) -> Any:
    x = _value(expression.x, registers, e)
    match expression:
        case g.Add(y=y):
            return _wrapped(x + _value(y, registers, e))
        case g.Multiply(y=y):
            return _wrapped(x * _value(y, registers, e))
        case g.Scale(factor=factor, summand=summand):
            return _wrapped(x * factor + summand)
        case g.Choose(test=test, y=y):
            return jnp.where(_test(test, registers, e), x, _value(y, registers, e))


def _assign(s: g.Assign, registers: Registers, e: Any) -> Registers:
    return _with(registers, s.target, _expression(s.expression, registers, e))


def _assert(s: g.Assert, registers: Registers, e: Any) -> Registers:
    tests = [_test(test, registers, e) for test in s.tests]
    a, b = registers
    values = {"a": a, "b": b, "e": e, "int": _as_int(a), "pair": jnp.stack([a, b]), "flag": b < 4}
    specs = {"e": ":.2f"}
    holes = " ".join(f"{name}={{{name}{specs.get(name, '')}}}" for name in s.shown)
    fix = {}
    if s.law is not None:
        fix = {
            "fix_fn": what_was_needed,
            "fix_args": {"size": a, "counts": _as_int(jnp.stack([b, a]))},
            "fix_law": FIRST if s.law == "first" else LARGEST,
        }
    runtime_assert(
        tests[0] if len(tests) == 1 else jnp.stack(tests),
        f"{{name}}: {holes}",
        {"name": f"#{s.site}", **{name: values[name] for name in s.shown}},
        static_info=s.site,
        **fix,
    )
    return registers


def _ask(s: g.Ask, registers: Registers, e: Any) -> Registers:
    x = _value(s.target, registers, e)
    return _with(registers, s.target, jnp.where(check_assertions(), x, _wrapped(x + 1)))


def _scan(s: g.Scan, registers: Registers, e: Any) -> Registers:
    def step(carry: Registers, element: Any) -> Any:
        after = _block(s.body, _moved(s.moved, carry, element), element)
        return after, _value(s.moved, after, element)

    elements = _wrapped(jnp.asarray(s.elements, jnp.float32) + _value(s.shift, registers, e))
    (a, b), stacked = lax.scan(step, registers, elements, reverse=s.reverse)
    return _wrapped(a + _weighted_sum(stacked)), b


def _weighted_sum(values: Any) -> Any:
    return (values * jnp.arange(1, values.shape[0] + 1, dtype=jnp.float32)).sum()


def _fori(s: g.Fori, registers: Registers, e: Any) -> Registers:
    upper = s.lower + s.count
    if s.extra is not None:
        upper = upper + _as_int(_value(s.extra, registers, e)) % 3

    def step(i: Any, carry: Registers) -> Registers:
        return _block(s.body, _moved(s.moved, carry, g.STRIDE), jnp.asarray(i, jnp.float32))

    return lax.fori_loop(s.lower, upper, step, registers)


def _while(s: g.While, registers: Registers, e: Any) -> Registers:
    def more(carry: Any) -> Any:
        count, now = carry
        tried = _block(s.condition, now, e)
        return (count < s.limit) & _test(s.test, tried, e)

    def step(carry: Any) -> Any:
        count, now = carry
        return count + 1, _block(s.body, _moved(s.moved, now, g.STRIDE), e)

    return lax.while_loop(more, step, (jnp.int32(0), registers))[1]


def _cond(s: g.Cond, registers: Registers, e: Any) -> Registers:
    return lax.cond(
        _test(s.test, registers, e),
        lambda registers: _block(s.then, registers, e),
        lambda registers: _block(s.otherwise, registers, e),
        registers,
    )


def _switch(s: g.Switch, registers: Registers, e: Any) -> Registers:
    branches = [lambda registers, block=b: _block(block, registers, e) for b in s.branches]
    return lax.switch(_as_int(_value(s.index, registers, e)), branches, registers)


def _lane(s: g.Vmap | g.Map, registers: Registers, e: Any) -> Any:
    def lane(offset: Any) -> Registers:
        return _block(s.body, _moved(s.target, registers, offset), offset)

    return lane


def _vmap(s: g.Vmap, registers: Registers, e: Any) -> Registers:
    a, b = jax.vmap(_lane(s, registers, e))(jnp.asarray(s.offsets, jnp.float32))
    return _wrapped(_weighted_sum(a)), _wrapped(_weighted_sum(b))


def _map(s: g.Map, registers: Registers, e: Any) -> Registers:
    a, b = lax.map(_lane(s, registers, e), jnp.asarray(s.offsets, jnp.float32))
    return _wrapped(_weighted_sum(a)), _wrapped(_weighted_sum(b))


def _derive(s: g.Derive, registers: Registers, e: Any) -> Registers:
    def function(a: Any, b: Any) -> Any:
        return weighted(_block(s.body, (a, b), e))

    a, b = registers
    one, two = map(jnp.float32, g.WEIGHTS)
    match s.way:
        case "value_and_grad":
            value, (da, db) = jax.value_and_grad(function, argnums=(0, 1))(a, b)
        case "vjp":
            value, pull_back = jax.vjp(function, a, b)
            da, db = pull_back(jnp.float32(1))
        case "jvp":
            value, da = jax.jvp(function, (a, b), (one, two))
            db = da
        case "linearize":
            value, push_forward = jax.linearize(function, a, b)
            da = db = push_forward(one, two)
    return _wrapped(value + da), _wrapped(b + db)


def _wrap(s: g.Wrap, registers: Registers, e: Any) -> Registers:
    transformation = jax.jit if s.way == "jit" else jax.checkpoint
    return transformation(lambda a, b, e: _block(s.body, (a, b), e))(*registers, e)


def _custom(s: g.Custom, registers: Registers, e: Any) -> Registers:
    for_a, for_b = g.CUSTOM_FACTORS

    def function(a: Any, b: Any, e: Any) -> Registers:
        # The rule says that each result depends on its register, so it must: vmap would
        # otherwise take for unmapped what has a different derivative in each lane.
        new_a, new_b = _block(s.body, (a, b), e)
        return new_a + 0 * a, new_b + 0 * b

    if s.way == "custom_jvp":
        with_jvp = jax.custom_jvp(function)

        @with_jvp.defjvp
        def rule(primals: Any, tangents: Any) -> Any:
            da, db, _ = tangents
            return with_jvp(*primals), (for_a * da, for_b * db)

        return with_jvp(*registers, e)

    with_vjp = jax.custom_vjp(function)
    with_vjp.defvjp(
        lambda a, b, e: (with_vjp(a, b, e), None),
        lambda _, cts: (for_a * cts[0], for_b * cts[1], jnp.zeros_like(cts[0])),
    )
    return with_vjp(*registers, e)


def _drop(s: g.Drop, registers: Registers, e: Any) -> Registers:
    def function(registers: Registers, e: Any) -> Registers:
        return _block(s.body, registers, e)

    (jax.jit(function) if s.way == "jit" else function)(registers, e)
    return registers


_RUN: dict[type, Any] = {
    g.Assign: _assign,
    g.Assert: _assert,
    g.Ask: _ask,
    g.Scan: _scan,
    g.Fori: _fori,
    g.While: _while,
    g.Cond: _cond,
    g.Switch: _switch,
    g.Vmap: _vmap,
    g.Map: _map,
    g.Derive: _derive,
    g.Wrap: _wrap,
    g.Custom: _custom,
    g.Drop: _drop,
}
