"""Transitions as records: which observation they hold, and from which one is bootstrapped."""

from functools import partial

import pytest

from .reading import found_of

found = partial(found_of, "env")

TRANSITION = """
    class Transition(NamedTuple):
        obs: jax.Array
        reward: jax.Array
        done: jax.Array
        next_obs: jax.Array
"""


@pytest.mark.parametrize(
    ("seen", "lines"), [("batch.obs", [9]), ("jnp.concatenate([batch.obs, batch.next_obs])", [])]
)
def test_an_estimate_from_a_record_that_is_made_here(seen: str, lines: list[int]):
    program = f"""{TRANSITION}
    def loss(params, critic, before, reward, done, after):
        batch = Transition(before, reward, done, after)
        value = critic(params, {seen})
        target = batch.reward + 0.99 * (1.0 - batch.done) * value
        return jnp.mean((critic(params, batch.obs) - lax.stop_gradient(target)) ** 2)
    """
    assert found(program) == [("EN007", line) for line in lines]


def test_an_estimate_with_something_of_the_next_step():
    program = f"""{TRANSITION}
    def loss(params, critic, model, batch: Transition):
        value = critic(params, batch.obs + model.next_change)
        target = batch.reward + 0.99 * (1.0 - batch.done) * value
        return jnp.mean((critic(params, batch.obs) - lax.stop_gradient(target)) ** 2)
    """
    assert found(program) == []


REPLACED = {
    "some fields": "state = state.replace(last_action=action, **others)",
    "some fields, or none": """if others:
                state = state.replace(last_action=action, **others)""",
}


@pytest.mark.parametrize("change", REPLACED.values(), ids=REPLACED.keys())
def test_fields_that_nobody_names_may_be_replaced(change: str):
    program = f"""
    class Transition(NamedTuple):
        obs: jax.Array
        action: jax.Array
        next_obs: jax.Array

    def rollout(policy, env, state, others):
        def step(state, _):
            action = policy(state.obs)
            {change}
            new = env.step(state, action)
            transition = Transition(state.obs, action, new.obs)
            return new, transition

        return lax.scan(step, state, None, length=8)
    """
    assert found(program) == []
    wrong = program.replace("Transition(state.obs", "Transition(new.obs")
    assert [code for code, _ in found(wrong)] == ["EN010"]


def test_a_record_whose_observation_comes_from_elsewhere():
    program = """
    from typing import NamedTuple

    class Transition(NamedTuple):
        obs: jax.Array
        action: jax.Array
        next_obs: jax.Array

    def step(w, obs, kept):
        action = jnp.tanh(obs @ w)
        return Transition(action=action, next_obs=obs + 0.1 * action, **kept)
    """
    assert found(program) == []
