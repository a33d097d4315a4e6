"""Rollouts and what is learned from them; comments say what is to be found on their lines."""

import pytest

from .claims import claimed_and_found

PROGRAMS = {
    "a target from a tuple, with and without its flag": """
        def loss(q, batch, gamma):
            obs, action, reward, next_obs, terminal = batch
            following = q(next_obs).max(axis=-1)
            return reward + gamma * following - q(obs)  # EN005

        def masked(q, batch, gamma):
            obs, action, reward, next_obs, terminal = batch
            following = q(next_obs).max(axis=-1)
            return reward + gamma * (1 - terminal) * following - q(obs)
        """,
    "discounts that are the same for all steps": """
        def returns(rewards, dones, values, gamma):
            discounts = jnp.full_like(rewards, gamma)  # EN005
            return rewards + discounts * values

        def cut(rewards, dones, values, gamma):
            discounts = jnp.full_like(rewards, gamma) * (1.0 - dones)
            return rewards + discounts * values
        """,
    "a recursion in Python that leaves its discounts aside": """
        def back(reward, discount, total, n, gamma):
            for i in reversed(range(n)):
                total = reward[i] + gamma * total  # EN005
            return total

        def well(reward, discount, total, n, gamma):
            for i in reversed(range(n)):
                total = reward[i] + gamma * discount[i] * total
            return total
        """,
    "values that are shifted and those that are not": """
        def deltas(reward, keep, values, last):
            following = jnp.concatenate([values[:-1], last[None]])
            return reward + 0.99 * keep * following - values  # EN007

        def shifted(reward, keep, values, last):
            following = jnp.concatenate([values[1:], last[None]])
            return reward + 0.99 * keep * following - values
        """,
    "the flag of the step before": """
        def gae(rollout, last, steps, gamma):
            total, following, out = 0.0, last, []
            for t in range(steps - 1, -1, -1):
                mask = 1.0 - rollout["dones"][t - 1]  # EN011
                delta = rollout["rewards"][t] + gamma * mask * following - rollout["values"][t]
                total = delta + gamma * 0.95 * mask * total
                following = rollout["values"][t]
                out.append(total)
            return out[::-1]

        def of_the_next_observation(rewards, dones, values, last_done, steps, gamma):
            for t in reversed(range(steps)):
                mask = 1.0 - (last_done if t == steps - 1 else dones[t + 1])
                yield rewards[t] + gamma * mask * values[t + 1] - values[t]
        """,
    "rewards that come with what was reached": """
        def returns(reward, value, cont, lam):
            disc = 0.99 * cont[1:]
            early = reward[1:] + (1 - lam) * disc * value[:-1]  # EN011
            return early, reward[1:] + (1 - lam) * disc * value[1:]
        """,
    "the memory of a module that linen scans": """
        import flax.linen as nn

        class Cell(nn.Module):
            @nn.compact
            def __call__(self, memory, x):
                features, resets = x
                return nn.GRUCell(8)(memory, features)  # EN002

        class Careful(nn.Module):
            @nn.compact
            def __call__(self, memory, x):
                features, resets = x
                memory = jnp.where(resets[:, None], 0.0, memory)
                return nn.GRUCell(8)(memory, features)

        class Policy(nn.Module):
            cell: type

            @nn.compact
            def __call__(self, memory, obs, resets):
                scan = partial_scan(Cell)()
                memory, first = scan(memory, (obs, resets))
                memory, second = partial_scan(Careful)()(memory, (obs, resets))
                return memory, first + second

        def partial_scan(cell):
            return nn.scan(cell, variable_broadcast="params", split_rngs={"params": False})
        """,
}


@pytest.mark.parametrize("case", PROGRAMS)
def test_programs_have_what_they_claim(case: str):
    claimed, found = claimed_and_found(PROGRAMS[case], "env")
    assert found == claimed
