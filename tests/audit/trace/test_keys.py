"""Identities of keys are those of the keys: held against random programs that are run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verax.audit.trace.entry import trace
from verax.audit.trace.facts import Facts

# Steps of a program: each takes keys that there are, by number, and gives more.
Key = Any
STEPS: dict[str, Callable[[list[Key], int, int], list[Key]]] = {
    "split": lambda keys, i, n: list(jax.random.split(keys[i], 2 + n % 3)),
    "index_from_end": lambda keys, i, n: [jax.random.split(keys[i], 4)[-1 - n % 4]],
    "beyond_the_end": lambda keys, i, n: [jax.random.split(keys[i], 2)[2 + n]],
    "fold_in": lambda keys, i, n: [jax.random.fold_in(keys[i], n)],
    "stack": lambda keys, i, n: [jnp.stack([keys[i], keys[n % len(keys)]])[n % 2]],
    "reverse": lambda keys, i, n: list(jnp.flip(jnp.stack(keys[-3:]), 0)),
    "reshape": lambda keys, i, n: [_matrix(keys[i])[n % 2, n % 3]],
    "broadcast": lambda keys, i, n: [_repeated(keys[i])[n % 3]],
    "mapped_split": lambda keys, i, n: list(
        jax.vmap(lambda k: jax.random.split(k)[n % 2])(jax.random.split(keys[i], 3))
    ),
    "mapped_over_copies": lambda keys, i, n: list(jax.vmap(lambda k: k)(_repeated(keys[i]))),
    "scanned": lambda keys, i, n: list(
        jax.lax.scan(lambda c, k: (c, jax.random.fold_in(k, n)), 0, jax.random.split(keys[i]))[1]
    ),
    "carried": lambda keys, i, n: [
        jax.lax.fori_loop(0, 2, lambda _, k: jax.random.split(k)[0] if n % 2 else k, keys[i])
    ],
    "same_in_both_branches": lambda keys, i, n: [
        jax.lax.cond(jnp.bool_(n % 2), lambda: keys[i], lambda: keys[i])
    ],
}


def _matrix(key: Key) -> Any:
    return jax.random.split(key, 6).reshape(2, 3, *key.shape)


def _repeated(key: Key) -> Any:
    return jnp.broadcast_to(key, (3, *key.shape))


programs = st.lists(
    st.tuples(st.sampled_from(sorted(STEPS)), st.integers(0, 5), st.integers(0, 5)), max_size=6
)


def _run(program: list[tuple[str, int, int]], *inputs: Key) -> list[Key]:
    keys = list(inputs)
    for name, i, n in program:
        keys += STEPS[name](keys, i % len(keys), n)
    return keys


def _identities(program: list[tuple[str, int, int]], inputs: tuple[Key, ...]) -> list[Any]:
    facts = Facts(trace(lambda *keys: _run(program, *keys), inputs, {}), None, None)
    return [facts.keys.of(value) for value in facts.program.body.outputs]


@pytest.mark.parametrize("make", [jax.random.key, jax.random.PRNGKey])
@given(program=programs)
@settings(max_examples=12, deadline=None)
def test_equal_identities_are_equal_keys(make: Any, program: list[tuple[str, int, int]]) -> None:
    inputs = (make(0), make(1))
    identities = _identities(program, inputs)
    contents = [np.asarray(_data(key)).tobytes() for key in _run(program, *inputs)]
    seen: dict[Any, bytes] = {}
    for identity, content in zip(identities, contents, strict=True):
        assert identity is not None
        assert seen.setdefault(identity, content) == content


@given(program=programs)
@settings(max_examples=12, deadline=None)
def test_keys_made_in_the_same_way_have_one_identity(program: list[tuple[str, int, int]]) -> None:
    # What lanes and iterations make has an identity of its own, and loops hand on new ones.
    program = [step for step in program if not step[0].startswith(("mapped_split", "sca", "car"))]
    inputs = (jax.random.key(0), jax.random.key(1))
    identities = _identities(program, inputs)
    contents = [np.asarray(_data(key)).tobytes() for key in _run(program, *inputs)]
    seen: dict[bytes, Any] = {}
    for identity, content in zip(identities, contents, strict=True):
        assert seen.setdefault(content, identity) is identity


def _data(key: Key) -> Any:
    return jax.random.key_data(key) if jnp.issubdtype(key.dtype, jax.dtypes.prng_key) else key


def test_large_arrays_of_keys_are_not_taken_apart() -> None:
    def program(key: Key) -> Any:
        keys = jax.random.split(key, 100_000)
        return jax.vmap(jax.random.normal)(keys)

    facts = Facts(trace(program, (jax.random.key(0),), {}), None, None)
    (split, draw) = facts.keys.uses
    assert (split.kind, draw.kind) == ("split", "draw")
    (mapped,) = [it for it in draw.step.ancestors() if it.kind == "map"]
    assert facts.keys.changes(draw.key, mapped)
