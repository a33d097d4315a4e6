"""Averages, deviations and choices that take the wrong one of two values."""

from .claims import check_found, check_silent, each_of

WRONG = {
    "the target network first, with a step size from a field": """
        class Learner:
            def __init__(self, tx, tau=0.005):
                self.tx, self.tau = tx, tau

            def update(self, params, target, opt_state, grads):
                updates, opt_state = self.tx.update(grads, opt_state, params)
                params = optax.apply_updates(params, updates)
                target = optax.incremental_update(target, params, self.tau)  # DF125
                return params, target, opt_state

        def run(params, target, opt_state, grads):
            return Learner(optax.adam(1e-3)).update(params, target, opt_state, grads)
        """,
    "the decay where the step size belongs": """
        def update(tx, params, average, opt_state, grads):
            updates, opt_state = tx.update(grads, opt_state, params)
            params = optax.apply_updates(params, updates)
            return params, optax.incremental_update(params, average, step_size=0.999)  # DF125
        """,
    "leaf by leaf, with the weights the other way round": """
        def update(tx, params, average, opt_state, grads, decay=0.999):
            updates, opt_state = tx.update(grads, opt_state, params)
            params = optax.apply_updates(params, updates)
            mix = lambda new, old: 0.999 * new + 0.001 * old  # DF125
            return params, jax.tree.map(mix, params, average)
        """,
    "a deviation of returns": """
        def losses(logp, returns, values):
            advantage = returns - values
            scale = jnp.sqrt(jnp.var(returns) + 1e-6)
            centred = advantage - jnp.mean(advantage)
            return -jnp.mean(centred / scale * logp)  # DF124
        """,
    "one name twice": """
        def bootstrap(critic, obs, done, old, new):
            one, two = critic(obs)
            kept = jnp.where(done, old, old)  # DF108
            return kept + new * two + jnp.minimum(one, one)  # DF108
        """,
    "one of several results, where the old one is used on": """
        def adapt(params, task):
            def body(fast, _):
                grads = jax.grad(error)(fast, task)
                return jax.tree.map(lambda p, g: p - 0.1 * g, fast, grads), error(fast, task)

            return jax.lax.scan(body, params, None, length=3)

        def outer(params, task, other):
            fast, errors = adapt(params, task)
            return error(params, other) + errors.mean()  # DF101

        def error(params, batch):
            return jnp.mean((batch["x"] @ params["w"] - batch["y"]) ** 2)
        """,
    "statistics of which the record keeps the old ones": """
        from flax import struct

        @struct.dataclass
        class Stats:
            count: jax.Array
            mean: jax.Array

            def update(self, x):
                count = self.count + 1
                return Stats(count, self.mean + (x - self.mean) / count)

        @struct.dataclass
        class Runner:
            stats: Stats
            env: jax.Array

        def step(runner, action):
            stats = runner.stats.update(runner.env)
            env = runner.env + action - stats.mean
            return Runner(
                env=env,
                stats=runner.stats,  # DF105
            )

        def run(env, actions):
            runner = Runner(Stats(jnp.zeros(()), jnp.zeros(3)), env)
            for action in actions:
                runner = step(runner, action)
            return runner
        """,
}

RIGHT = {
    "averages that move slowly, and copies": """
        def update(tx, params, average, target, opt_state, grads, step):
            updates, opt_state = tx.update(grads, opt_state, params)
            params = optax.apply_updates(params, updates)
            average = optax.incremental_update(params, average, 0.001)
            target = optax.incremental_update(params, target, step_size=1.0)
            by_hand = jax.tree.map(lambda new, old: 0.01 * new + 0.99 * old, params, average)
            fast = jax.tree.map(lambda one, two: 0.9 * one + 0.1 * two, average, target)
            return params, average, target, by_hand, fast, opt_state
        """,
    "deviations of one thing": """
        def standardised(x, mask, eps=1e-6):
            rows = x.reshape(-1)
            centred = x - x.mean()
            first = centred / (centred.std() + eps)
            second = (x - x.mean()) / (rows.std() + eps)
            third = (x - x.mean()) / (jnp.where(mask, x, 0.0).std() + eps)
            fourth = (x - rows.mean()) / (rows.std() + eps)
            scaled = x / (jnp.std(mask) + eps)
            return first, second, third, fourth, scaled
        """,
    "two names, and one that is asked for being a number": """
        def chosen(done, old, new):
            return jnp.where(done, new, old), jnp.maximum(old, new), jnp.where(new == new, new, 0.0)
        """,
    "one of several results that is not needed": """
        def cost(step, start, controls):
            final, path = jax.lax.scan(step, start, controls)
            return jnp.sum(path**2)

        def grown(step, start, controls):
            final, path = jax.lax.scan(step, start, controls)
            return final - start, path
        """,
}


@each_of(WRONG)
def test_the_wrong_one_is_found(program: str) -> None:
    check_found(program, "dataflow")


@each_of(RIGHT)
def test_the_right_one_is_not(program: str) -> None:
    check_silent(program, "dataflow")
