"""An entry goes away when the program becomes wrong.

Each mutant is the right program of a rule with one edit. That it violates what was verified of the
right one is seen by running both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import patch

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import checkify

from verax.audit.rules.registry import find
from verax.audit.run import audit_source
from verax.audit.source.analyse import audit_text

from .custom_rules import derivative_is_right

Program = dict[str, Any]


@pytest.fixture(autouse=True)
def jax_as_it_comes() -> Iterator[None]:
    """Our suite forbids broadcasts between ranks; the programs of rules live with them."""
    with jax.numpy_rank_promotion("allow"):
        yield


def consumes_a_key_twice(program: Program) -> bool:
    used: Counter[bytes] = Counter()

    def watched(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(key: Any, *args: Any, **options: Any) -> Any:
            used[np.asarray(jax.random.key_data(key)).tobytes()] += 1
            return function(key, *args, **options)

        return call

    def unrolled(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args: jnp.stack([function(*lane) for lane in zip(*args, strict=True)])

    names = ("normal", "uniform", "bernoulli", "split")
    with (
        jax.disable_jit(),
        patch.multiple(jax.random, **{it: watched(getattr(jax.random, it)) for it in names}),
        patch.object(jax, "vmap", unrolled),
    ):
        program["entry"](*program["inputs"]())
    return max(used.values()) > 1


SIZES = {"batch": 2, "time": 3, "hid": 4, "feat": 5, "class": 6}


def depends_on_equal_sizes(program: Program) -> bool:
    """Whether axes are paired that only fit because they happen to have one size."""
    shapes = {name: [SIZES[it] for it in axes.split()] for name, axes in program["AXES"].items()}
    code = program["entry"].__code__
    parameters = code.co_varnames[: code.co_argcount]
    try:
        program["entry"](*(jnp.ones(shapes[it]) for it in parameters))
    except (TypeError, ValueError):
        return True
    return False


def is_undefined(program: Program) -> bool:
    return not np.isfinite(program["entry"](*program["inputs"]())).all()


def indexes_outside(program: Program) -> bool:
    checked = checkify.checkify(program["entry"], errors=checkify.index_checks)
    error, _ = checked(*program["inputs"]())
    return error.get() is not None


def leaves_untrained(program: Program) -> bool:
    """Whether a parameter changes the loss, and its gradient is zero."""
    loss = program.get("loss") or program["reward"]
    given, rng = program["inputs"](), np.random.default_rng(0)

    def drawn(tree: Any) -> Any:
        return jax.tree.map(lambda it: jnp.asarray(rng.normal(size=it.shape), it.dtype), tree)

    points = [drawn(given) for _ in range(5)]
    leaves = range(len(jax.tree.leaves(given[0])))
    trained, moving = set[int](), set[int]()
    for parameters, *data in points:
        for index, slope in enumerate(jax.tree.leaves(jax.grad(loss)(parameters, *data))):
            trained |= {index} if slope.any() else set()
        flat, tree = jax.tree.flatten(parameters)
        for index in leaves:
            moved = [3 - 2 * it if at == index else it for at, it in enumerate(flat)]
            if loss(tree.unflatten(moved), *data) != loss(parameters, *data):
                moving.add(index)
    return bool(moving - trained)


def differs_from_its_rule(program: Program) -> bool:
    return not derivative_is_right(program["text"], "power")


VIOLATES = {
    "RK001": consumes_a_key_twice,
    "AX001": depends_on_equal_sizes,
    "DF201": is_undefined,
    "DF203": indexes_outside,
    "GR010": leaves_untrained,
    "GR017": differs_from_its_rule,
}
EMPTY = "jnp.ones((2, 5)), jnp.array([0, 0])"
# The entry, the rule whose right program has it, the edit, and inputs that show what is wrong.
MUTANTS = [
    ("RK001", "RK001", "bernoulli(keep_key", "bernoulli(noise_key", ""),
    ("RK001", "RK002", "jax.random.split(key, 5)", "jnp.stack([key] * 5)", ""),
    ("RK001", "RK003", "jax.random.split(key, 4)", "jnp.stack([key] * 4)", ""),
    ("RK001", "RK004", "keys[i]", "keys[i // 2]", ""),
    ("RK001", "EN008", "start(first)", "start(rest)", "jax.random.key(0), jnp.ones(3)"),
    ("AX001", "AX001", "mask[..., None]", "mask", ""),
    ("AX001", "AX001", "mask[..., None]", "mask[:, None]", ""),
    ("AX001", "SC001", "jnp.ones(4), drive)", "jnp.ones(4), drive.T)", ""),
    ("AX001", "VM001", "in_axes=(None, 0)", "in_axes=(0, 0)", ""),
    ("DF201", "DF201", "jnp.where(probs > 0, probs, 1.0)", "probs", ""),
    ("DF201", "DF201", "probs > 0", "probs >= 0", ""),
    ("DF201", "DF109", "jnp.maximum(jnp.sum(mask), 1)", "jnp.sum(mask)", EMPTY),
    ("DF201", "DF109", "jnp.maximum(", "jnp.minimum(", EMPTY),
    ("DF203", "DF203", "shape[0] - 1, climb", "shape[0], climb", ""),
    ("DF203", "DF203", "heights[i]", "heights[i + 2]", ""),
    ("DF203", "DF127", "place[order]", "place[order + 4]", ""),
    ("DF203", "JT205", "mode, 0, 1", "mode, 0, 2", "jnp.ones((2, 3)), jnp.int32(2)"),
    ("DF203", "SC004", "(jnp.zeros(3), 0)", "(jnp.zeros(3), 1)", ""),
    ("GR010", "GR010", "chances @ values", "values[jnp.argmax(chances)]", ""),
    ("GR010", "GR010", "chances @ values", "jax.lax.stop_gradient(chances) @ values", ""),
    ("GR010", "GR011", 'log_probs + x @ params["pi"]', 'jnp.round(x @ params["pi"])', ""),
    ("GR010", "GR013", "(w + jax.lax.stop_gradient(q - w))", "q", ""),
    ("GR010", "GR014", 'jnp.tanh(now @ params["w"])', 'jnp.sign(now @ params["w"])', ""),
    ("GR017", "GR017", "3 * x**2 * dx", "-3 * x**2 * dx", ""),
    ("GR017", "GR017", "3 * x**2 * dx", "3 * x * dx", ""),
    ("GR017", "GR017", "3 * x**2 * dx", "jnp.where(x > 0, 3, 2) * x**2 * dx", ""),
    ("GR017", "GR017", "x**3, 3 * x**2 * dx", "x**3, dx", ""),
]


def is_verified(code: str, text: str) -> bool:
    rules = (find(code),)
    reports = (audit_source(text, rules=rules), audit_text(text, "program", rules=rules))
    return any(report.verified for report in reports)


@pytest.mark.parametrize(("code", "rule", "old", "new", "shown"), MUTANTS)
def test_an_entry_goes_with_what_it_says(code: str, rule: str, old: str, new: str, shown: str):
    right = find(rule).right
    assert right.count(old) == 1
    mutant = right.replace(old, new)
    for text, is_wrong in ((right, False), (mutant, True)):
        assert is_verified(code, text) != is_wrong, text
        program: Program = {"text": text}
        exec(text, program)
        if shown:
            program["inputs"] = lambda: eval(shown)
        assert VIOLATES[code](program) == is_wrong, text


def test_every_rule_with_an_entry_has_a_mutant():
    assert {it[0] for it in MUTANTS} == VIOLATES.keys()
