"""Forms and factors: logarithms for probabilities, weights that come in twice, unread results."""

from .claims import check_found, check_silent, each_of

WRONG = {
    "chances that are filled as logits are, ranked, or cut to the best": """
        def nucleus(scores, mass):
            chances = jax.nn.softmax(scores)
            return jnp.where(chances > mass, chances, -jnp.inf)  # DF102

        def draw(key, scores):
            return jax.random.categorical(key, nucleus(scores, 0.1))

        def of_legal(key, scores, actions):
            policy = jax.nn.softmax(scores)
            return jax.random.categorical(key, policy.at[actions].set(-jnp.inf))  # DF102

        def of_best(key, scores):
            best, where = lax.top_k(jax.nn.softmax(scores), 5)
            return where[jax.random.categorical(key, best)]  # DF102

        def of_ranked(key, scores):
            ranked = jnp.sort(jnp.exp(jax.nn.log_softmax(scores)))[:, ::-1]
            return jax.random.categorical(key, ranked[:, :4])  # DF102
        """,
    "chances that add up to one again": """
        def kept(chances, least):
            held = jnp.where(chances > least, chances, 0.0)
            return held / held.sum()

        def of_legal(chances, legal):
            allowed = chances * legal
            return allowed / jnp.maximum(jnp.sum(allowed, axis=-1, keepdims=True), 1e-8)

        def sharpened(chances, heat):
            powers = chances ** (1.0 / heat)
            total = powers.sum(axis=-1) + 1e-8
            return powers / total[:, None]

        def draw(key, scores, legal):
            chances = kept(jax.nn.softmax(scores), 0.1)
            return jax.random.categorical(key, of_legal(chances, legal))  # DF102

        def loss(scores, labels):
            chances = sharpened(jax.nn.softmax(scores), 0.5)
            return optax.softmax_cross_entropy(chances, labels)  # DF102
        """,
    "chances in a function that fills logits for others": """
        def without(values, chosen):
            return jnp.where(chosen, jnp.finfo(values.dtype).min, values)

        def wrong(key, scores, chosen):
            chances = jax.nn.softmax(scores)
            return jax.random.categorical(key, without(chances, chosen))  # DF102

        def right(key, scores, chosen):
            return jax.random.categorical(key, without(scores, chosen))
        """,
    "chances made by hand, by the end of a chain, and by a network": """
        import equinox as eqx
        import flax.linen as nn
        from tensorflow_probability.substrates import jax as tfp

        def shares(z):
            e = jnp.exp(z - z.max(-1, keepdims=True))
            return e / e.sum(-1, keepdims=True)

        def by_hand(w, x, y):
            return optax.softmax_cross_entropy(shares(x @ w), y)  # DF102

        chain = nn.Sequential([nn.Dense(8), nn.relu, nn.Dense(3), nn.softmax])

        def by_chain(params, x, y):
            made = chain.apply(params, x)
            return optax.softmax_cross_entropy_with_integer_labels(made, y)  # DF102

        def by_network(key, x, y):
            net = eqx.nn.MLP(4, 3, 8, 2, final_activation=jax.nn.softmax, key=key)
            return optax.softmax_cross_entropy(jax.vmap(net)(x), y)  # DF102

        def distribution(w, x):
            return tfp.distributions.Categorical(jax.nn.softmax(x @ w))  # DF102
        """,
    "chances that noise is added to, and chances that are masked": """
        def draw(key, w, x):
            p = jax.nn.softmax(x @ w)
            noise = jax.random.gumbel(key, p.shape)
            return jnp.argmax(p + noise, axis=-1)  # DF102

        def masked(w, x, y, legal):
            p = jnp.where(legal, jax.nn.softmax(x @ w), 0.0)  # DF110
            return optax.softmax_cross_entropy(p, y)  # DF102
        """,
    "logarithms where probabilities are asked for": """
        import distrax

        def draw(key, logits, n):
            log_p = logits - jax.nn.logsumexp(logits, axis=-1, keepdims=True)
            return jax.random.choice(key, n, (3,), True, log_p)  # DF102

        def policy(logits):
            return distrax.Categorical(probs=jax.nn.log_softmax(logits))  # DF102

        def entropy(logits):
            log_p = jax.nn.log_softmax(logits)
            return -jnp.sum(jnp.exp(log_p) * jnp.log(log_p))  # DF102
        """,
    "probabilities where logarithms are asked for": """
        def distilled(student, teacher):
            return optax.kl_divergence(jax.nn.softmax(student), jax.nn.softmax(teacher))  # DF102
        """,
    "a helper that is handed the wrong form": """
        def divergence(predictions, targets):
            return optax.kl_divergence(predictions, targets).mean()

        def loss(student, teacher):
            return divergence(jax.nn.softmax(student), jax.nn.softmax(teacher))  # DF102
        """,
    "weights that sum to one, averaged": """
        def weighted(priorities):
            raw = priorities**0.5
            return raw / raw.sum()

        def loss(errors, priorities):
            return (errors**2 * weighted(priorities)).mean()  # DF116
        """,
    "a coefficient of a helper": """
        def penalty(params, weight):
            return weight * sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(params))

        def entropy_term(logits, coef):
            return jnp.mean(coef * jax.nn.logsumexp(logits, axis=-1))

        def loss(params, logits, coef):
            return jnp.sum(params) - coef * entropy_term(logits, coef)  # DF116
        """,
    "gradients that nothing reads": """
        def step(params, critic, batch, loss, tx, state):
            value, slopes = jax.value_and_grad(loss)(params, batch)
            other, grads = jax.value_and_grad(loss)(critic, batch)  # DF101
            updates, state = tx.update(slopes, state)
            return optax.apply_updates(params, updates), state, value + other
        """,
    "a state that no turn gets": """
        def epoch(step, params, chunks):
            hidden = jnp.zeros(3)
            for chunk in chunks:
                params, final, loss = step(params, hidden, chunk)  # DF105
            return params, loss
        """,
    "a count that nothing advances": """
        from typing import NamedTuple

        class State(NamedTuple):
            x: jax.Array
            step: jax.Array

        def start(x):
            return State(x=x, step=jnp.zeros((), jnp.int32))

        def advance(state, schedule):
            x = state.x * schedule(state.step)
            return state._replace(x=x)  # DF117
        """,
    "a target that is not asked": """
        def loss(q, online_params, target_params, batch):  # DF118
            ahead = q(online_params, batch.next_obs).max(axis=-1)
            goal = stop_gradient(batch.reward + (1.0 - batch.done) * ahead)
            return jnp.mean((q(online_params, batch.obs).max(axis=-1) - goal) ** 2)
        """,
}

RIGHT = {
    "shares of a sum that are logits still, or whose logarithm is taken": """
        def kept(values):
            held = jnp.where(values > 0.1, values, 0.0)
            return held / held.sum()

        def draw(key, scores):
            return jax.random.categorical(key, jnp.log(kept(jax.nn.softmax(scores))))

        def scaled(key, scores):
            return jax.random.categorical(key, kept(scores))

        def mixed(scores, other, labels):
            weights = jax.nn.softmax(other)
            return optax.softmax_cross_entropy(weights * scores / weights.sum(), labels)
        """,
    "logits that are filled, ranked, or cut to the best": """
        def nucleus(scores, mass):
            chances = jax.nn.softmax(scores)
            return jnp.where(chances > mass, scores, -jnp.inf)

        def draw(key, scores):
            return jax.random.categorical(key, nucleus(scores, 0.1))

        def of_best(key, scores):
            best, where = lax.top_k(scores, 5)
            return where[jax.random.categorical(key, best)]

        def of_what_is_left(key, scores):
            chances = jax.nn.softmax(scores)
            left = jnp.where(chances > 0.1, chances, 0.0)
            return jax.random.categorical(key, jnp.log(left / left.sum()))
        """,
    "logits of a chain, and noise that is added to logarithms": """
        import flax.linen as nn

        chain = nn.Sequential([nn.Dense(8), nn.relu, nn.Dense(3)])
        last = nn.Sequential([nn.Dense(8), nn.softmax])

        def loss(params, x, y):
            logits = chain.apply(params, x)
            return optax.softmax_cross_entropy(logits, y) - jnp.log(last.apply(params, x) + 1e-6)

        def draw(key, w, x):
            p = jax.nn.log_softmax(x @ w)
            return jnp.argmax(p + jax.random.gumbel(key, p.shape), axis=-1)
        """,
    "a target that others of the family ask": """
        class Agent:
            def loss(self, params, target_params, batch):
                raise NotImplementedError

        class Imitating(Agent):
            def loss(self, params, target_params, batch):
                return ((batch.x @ params - batch.action) ** 2).mean()
        """,
    "each in the form that is asked for": """
        import distrax

        def draw(key, logits, n):
            log_p = jax.nn.log_softmax(logits)
            return jax.random.choice(key, n, p=jnp.exp(log_p)), distrax.Categorical(logits=log_p)

        def distilled(student, teacher):
            log_p = jax.nn.log_softmax(student)
            return optax.kl_divergence(log_p, jax.nn.softmax(teacher))
        """,
    "weights that come in once": """
        def loss(errors, priorities, gamma, beta):
            weights = priorities / priorities.sum()
            by_mean = priorities / priorities.mean()
            each = errors / errors.sum(axis=-1, keepdims=True)
            ahead = gamma * (errors + gamma * errors)
            square = beta * beta * errors
            means = jnp.mean(by_mean * errors), jnp.mean(each)
            return jnp.sum(weights * errors), means, ahead, square
        """,
    "gradients of which only the value is asked for": """
        def test_gradient(params, loss):
            value, grads = jax.value_and_grad(loss)(params)
            assert value > 0

        def main():
            value, grads = jax.jit(jax.value_and_grad(jnp.sum))(jnp.ones(3))
            print(value)

        def value_of(params, loss):
            value, _grads = jax.value_and_grad(loss)(params)
            return value
        """,
    "a state that turns start from": """
        def episodes(rollout, params, state, keys):
            for key in keys:
                params, last, loss = rollout(params, state, key)
                report(last)
            return params

        def sweep(fit, params, data, keys):
            for key in keys:
                params, score = fit(params, data)
            return params
        """,
    "counts that somebody advances, or that are sizes": """
        from typing import NamedTuple

        class State(NamedTuple):
            x: jax.Array
            step: jax.Array
            max_steps: int

        def start(x):
            return State(x=x, step=jnp.zeros(()), max_steps=0)

        def advance(state, schedule):
            x = state.x * schedule(state.step) * state.max_steps
            state = state._replace(x=x)
            return state._replace(step=state.step + 1)
        """,
    "targets that are asked, or given up": """
        def loss(q, params, target_params, batch):
            goal = stop_gradient(q(target_params, batch.next_obs))
            return jnp.mean((q(params, batch.obs) - goal) ** 2)

        def simple(q, params, target_params, batch):
            del target_params
            return jnp.mean(q(params, batch.obs) ** 2)
        """,
}


@each_of(WRONG)
def test_it_is_found(program: str):
    check_found(program, "dataflow")


@each_of(RIGHT)
def test_it_is_left_alone(program: str):
    check_silent(program, "dataflow")
