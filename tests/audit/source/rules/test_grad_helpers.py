"""Gradients that are lost, or kept, on the way through helpers, layers and other learners."""

from .claims import check_found, check_silent, each_of

WRONG = {
    "advantages of a recursion, which a helper standardises": """
        def advantages(reward, value):
            def back(carry, inputs):
                advantage, after = carry
                r, v = inputs
                advantage = r + 0.99 * after - v + 0.9 * advantage
                return (advantage, v), advantage

            zero = jnp.zeros_like(value[-1])
            return lax.scan(back, (zero, value[-1]), (reward, value[:-1]), reverse=True)[1]

        def surrogate(log_prob, old, advantage):
            weight = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
            ratio = jnp.exp(log_prob - old)
            return -jnp.minimum(ratio * weight, jnp.clip(ratio, 0.8, 1.2) * weight).mean()

        def loss(params, net, obs, old, reward):
            log_prob, value = net(params["pi"], obs), jnp.tanh(obs @ params["v"])
            advantage = advantages(reward, value)  # GR015
            targets = lax.stop_gradient(advantage + value[:-1])
            critic = jnp.mean((value[:-1] - targets) ** 2)
            return surrogate(log_prob[:-1], old, advantage) + critic

        def update(params, net, obs, old, reward):
            return jax.grad(loss)(params, net, obs, old, reward)
        """,
    "a critic that has just learned from the actor": """
        def critic_loss(critic, actor, batch):
            return jnp.mean((batch @ critic - jnp.tanh(batch @ actor)) ** 2)

        def actor_loss(critic, actor, batch):
            return -jnp.mean(jnp.tanh(batch @ actor) * (batch @ critic))

        def update(actor, critic, actor_state, critic_state, actor_tx, critic_tx, batch):
            gradient = jax.grad(critic_loss)(critic, actor, batch)
            updates, critic_state = critic_tx.update(gradient, critic_state)
            critic = optax.apply_updates(critic, updates)
            gradient = jax.grad(actor_loss)(critic, actor, batch)  # GR204
            updates, actor_state = actor_tx.update(gradient, actor_state)
            return optax.apply_updates(actor, updates), critic, actor_state, critic_state
        """,
    "gradients of two arguments that are taken apart the other way round": """
        def loss(encoder, decoder, x):
            return jnp.mean((jnp.tanh(x @ encoder) @ decoder - x) ** 2)

        def update(encoder, decoder, states, txs, x):
            gradient = jax.grad(loss, argnums=(0, 1))
            of_decoder, of_encoder = gradient(encoder, decoder, x)  # GR204
            updates, first = txs[0].update(of_encoder, states[0])
            encoder = optax.apply_updates(encoder, updates)
            return encoder, decoder, of_decoder, first
        """,
    "a loss that is returned after what comes with it": """
        from flax import struct

        @struct.dataclass
        class Stats:
            mean: jax.Array
            count: jax.Array

        def loss(params, stats, x):
            value = jnp.mean((x @ params) ** 2)
            count = stats.count + 1
            return Stats(stats.mean + value / count, count), value  # GR201

        def update(params, stats, x):
            return jax.value_and_grad(loss, has_aux=True)(params, stats, x)
        """,
    "a tangent that is dropped": """
        def curvature(loss, params, vector):
            product, _ = jax.jvp(jax.grad(loss), (params,), (vector,))  # GR203
            return product + 0.1 * vector
        """,
    "a layer whose result only chooses": """
        import equinox as eqx

        class Mixture(eqx.Module):
            router: eqx.nn.Linear
            expert: eqx.nn.Linear

            def __init__(self, key):
                a, b = jax.random.split(key)
                self.router = eqx.nn.Linear(4, 3, key=a)
                self.expert = eqx.nn.Linear(4, 3, key=b)

            def __call__(self, x):
                chosen = jnp.argmax(self.router(x))  # GR010
                return jax.nn.one_hot(chosen, 3) @ self.expert(x)

        def loss(model, x):
            return jnp.mean(jax.vmap(model)(x) ** 2)

        def entry(key, x):
            return eqx.filter_grad(loss)(Mixture(key), x)

        def inputs():
            return jax.random.key(0), jnp.ones((5, 4))
        """,
    "a logarithm of a product with what the choice asks about": """
        def log_likelihood(w, x, exposure, counts):
            rate = exposure * jnp.exp(x @ w)
            logs = counts * jnp.log(rate) - rate  # GR301
            return jnp.sum(jnp.where(exposure > 0, logs, 0.0))

        def slope(w, x, exposure, counts):
            return jax.grad(log_likelihood)(w, x, exposure, counts)
        """,
    "the difference of each example, in a map": """
        def error(w, now, reward, after):
            target = reward + 0.9 * jnp.tanh(after @ w)  # GR014
            return jnp.tanh(now @ w) - target

        def loss(w, now, reward, after):
            errors = jax.vmap(error, in_axes=(None, 0, 0, 0))(w, now, reward, after)
            return jnp.mean(errors**2)

        def update(w, now, reward, after):
            return jax.grad(loss)(w, now, reward, after)
        """,
}

RIGHT = {
    "a target network, and advantages that are stopped": """
        def surrogate(log_prob, advantage):
            weight = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
            return -jnp.mean(log_prob * weight)

        def loss(params, net, obs, reward):
            log_prob, value = net(params["pi"], obs), jnp.tanh(obs @ params["v"])
            advantage = lax.stop_gradient(reward - value)
            critic = jnp.mean((value - lax.stop_gradient(advantage + value)) ** 2)
            return surrogate(log_prob, advantage) + critic

        def update(params, net, obs, reward):
            return jax.grad(loss)(params, net, obs, reward)
        """,
    "half precision, for which a copy is differentiated": """
        def loss(half, params, x):
            return jnp.mean((x @ half) ** 2) + 0.0 * jnp.sum(params)

        def update(params, state, tx, x):
            half = jax.tree.map(lambda p: p.astype(jnp.bfloat16), params)
            gradient = jax.grad(loss)(half, params, x)
            updates, state = tx.update(gradient, state)
            return optax.apply_updates(params, updates), state
        """,
    "gradients and tangents in their order": """
        def loss(encoder, decoder, x):
            return jnp.mean((jnp.tanh(x @ encoder) @ decoder - x) ** 2)

        def update(encoder, decoder, states, txs, x):
            of_encoder, of_decoder = jax.grad(loss, argnums=(0, 1))(encoder, decoder, x)
            updates, first = txs[0].update(of_encoder, states[0])
            encoder = optax.apply_updates(encoder, updates)
            updates, second = txs[1].update(of_decoder, states[1])
            return encoder, optax.apply_updates(decoder, updates), (first, second)

        def curvature(loss, params, vector):
            slope, product = jax.jvp(jax.grad(loss), (params,), (vector,))
            return product + 0.1 * vector
        """,
    "a router whose chance weighs what it chose": """
        import equinox as eqx

        class Mixture(eqx.Module):
            router: eqx.nn.Linear
            expert: eqx.nn.Linear

            def __init__(self, key):
                a, b = jax.random.split(key)
                self.router = eqx.nn.Linear(4, 3, key=a)
                self.expert = eqx.nn.Linear(4, 3, key=b)

            def __call__(self, x):
                chances = jax.nn.softmax(self.router(x))
                chosen = jnp.argmax(chances)
                return chances[chosen] * jax.nn.one_hot(chosen, 3) @ self.expert(x)

        def loss(model, x):
            return jnp.mean(jax.vmap(model)(x) ** 2)

        def entry(key, x):
            return eqx.filter_grad(loss)(Mixture(key), x)

        def inputs():
            return jax.random.key(0), jnp.ones((5, 4))
        """,
    "a rate that is made safe before": """
        def log_likelihood(w, x, exposure, counts):
            rate = exposure * jnp.exp(x @ w)
            safe = jnp.where(exposure > 0, rate, 1.0)
            return jnp.sum(jnp.where(exposure > 0, counts * jnp.log(safe) - safe, 0.0))

        def slope(w, x, exposure, counts):
            return jax.grad(log_likelihood)(w, x, exposure, counts)
        """,
}


@each_of(WRONG)
def test_it_is_found(program: str):
    check_found(program, "grad")


@each_of(RIGHT)
def test_it_is_left_alone(program: str):
    check_silent(program, "grad")
