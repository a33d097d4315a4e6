"""Arguments and results that stand in each other's place."""

from .claims import check_found, check_silent, each_of

WRONG = {
    "fields of a record by position": """
        from typing import NamedTuple

        class Step(NamedTuple):
            obs: jax.Array
            log_prob: jax.Array
            value: jax.Array

        def act(params, obs):
            value = obs @ params["value"]
            log_prob = jax.nn.log_sigmoid(obs @ params["policy"])
            return Step(obs, value, log_prob)  # DF121
        """,
    "new versions of fields by keyword": """
        from flax import struct

        @struct.dataclass
        class Body:
            place: jax.Array
            speed: jax.Array

        def moved(body, force, dt):
            new_speed = body.speed + dt * force
            new_place = body.place + dt * new_speed
            return body.replace(place=new_place), Body(
                place=new_speed,  # DF121
                speed=new_place,
            )
        """,
    "a method of a record that a loop has filled": """
        from flax import struct

        @struct.dataclass
        class Table:
            rows: jax.Array
            head: jax.Array

            def add(self, row):
                return self.replace(rows=self.rows.at[self.head].set(row), head=self.head + 1)

            def weigh(self, indices, weights):
                return self.replace(rows=self.rows.at[indices].mul(weights[:, None]))

        def fill(key, row):
            table = Table(jnp.zeros((8, 3)), jnp.zeros((), jnp.int32))
            for _ in range(8):
                table = table.add(row)
            indices = jax.random.randint(key, (4,), 0, 8)
            weights = jnp.linspace(0.0, 1.0, 4)
            return table.weigh(weights.astype(jnp.int32), indices)  # DF121
        """,
    "results of an object that is called": """
        import equinox as eqx

        class Encoder(eqx.Module):
            weight: jax.Array

            def __call__(self, x):
                mean = x @ self.weight
                logvar = jnp.tanh(x @ self.weight)
                return mean, logvar

        class Model(eqx.Module):
            encoder: Encoder

            def __init__(self, key):
                self.encoder = Encoder(jax.random.normal(key, (3, 3)))

            def divergence(self, x):
                logvar, mean = self.encoder(x)  # DF119
                return jnp.sum(jnp.exp(logvar) + mean**2 - 1.0 - logvar)
        """,
    "results of which one has no name": """
        class Game:
            def observe(self, state):
                return jnp.tanh(state)

            def step(self, state, action):
                state = state + action
                reward = -jnp.sum(state**2)
                return self.observe(state), state, reward

        def episode(start, actions):
            game = Game()

            def body(state, action):
                state, obs, reward = game.step(state, action)  # DF119
                return state, (obs, reward)

            return jax.lax.scan(body, start, actions)
        """,
    "a value and what comes beside it": """
        def make(tx):
            def error(params, x):
                loss = jnp.mean((x @ params) ** 2)
                accuracy = jnp.mean(x @ params > 0)
                return loss, accuracy

            @jax.jit
            def step(params, opt_state, x):
                grad_fn = jax.value_and_grad(error, has_aux=True)
                (accuracy, loss), grads = grad_fn(params, x)  # DF119
                updates, opt_state = tx.update(grads, opt_state)
                return optax.apply_updates(params, updates), opt_state, loss, accuracy

            return step
        """,
    "returns of one function that do not agree": """
        def recur(cell, obs, memory, done=None):
            if done is None:
                memory = cell(obs, memory)
                logits = jnp.tanh(memory)
                return logits, memory
            memory = cell(obs, jnp.where(done, 0.0, memory))
            logits = jnp.tanh(memory)
            return memory, logits  # DF119
        """,
    "trees in another order than a function beside the call takes them": """
        def rescaled(updates, distance, energy, eps):
            energy = jax.tree.map(lambda e, u: e + jnp.sum(u**2), energy, updates)

            def scaled(u, d, energy):
                return u * d / jnp.sqrt(energy + eps)

            return jax.tree.map(scaled, distance, energy, updates), energy  # DF121
        """,
}

RIGHT = {
    "both ways round, and turned round on purpose": """
        def divergence(first_dist, other_dist):
            return jnp.sum(first_dist * jnp.log(first_dist / other_dist))

        def symmetric(first_dist, other_dist):
            return divergence(first_dist, other_dist) + divergence(other_dist, first_dist)

        def backward_divergence(first_dist, other_dist):
            return divergence(other_dist, first_dist)

        def swap_ends(start_node, goal_node):
            middle = (start_node + goal_node) / 2
            return divergence(other_dist=start_node, first_dist=goal_node) + middle.sum()
        """,
    "returns that a flag turns round": """
        def assigned(costs, transpose):
            rows = jnp.argmin(costs, axis=0)
            columns = jnp.argmin(costs, axis=1)
            if transpose:
                return columns, rows
            return rows, columns

        def inner_and_outer(values):
            def body(total, value):
                return total, value

            value, total = jnp.max(values), jnp.sum(values)
            return value, total
        """,
    "edges that are turned round, as keywords say": """
        from typing import NamedTuple

        class Graph(NamedTuple):
            nodes: jax.Array
            senders: jax.Array
            receivers: jax.Array

        def both_ways(nodes, senders, receivers):
            there = Graph(nodes, senders, receivers)
            back = Graph(nodes=nodes, senders=receivers, receivers=senders)
            return there, back
        """,
    "letters in another order, which mathematics may mean": """
        def attend(q, k, v):
            return jax.nn.softmax(q @ k.T / q.shape[-1] ** 0.5) @ v

        def layer(params, x):
            q, k, v = (x @ params[it] for it in "qkv")
            return attend(k, q, v)
        """,
    "sides of an operator that is reflected": """
        def power(lhs, rhs):
            return lhs**rhs

        class Vector:
            def __init__(self, parts):
                self.parts = parts

            def __rpow__(self, rhs):
                lhs = self.parts
                return power(rhs, lhs)
        """,
    "a partial takes its arguments elsewhere": """
        def mixed(weight, value, other_weight):
            return weight * value + other_weight

        def use(value, weight):
            half = functools.partial(mixed, 0.5)
            return half(value, weight) + half(weight, value)
        """,
    "a method takes its arguments in their order": """
        class Game:
            def step(self, state, action):
                reward = -jnp.sum(state**2)
                return jnp.tanh(state), state + action, reward

        def episode(start, actions):
            game = Game()

            def body(state, action):
                obs, state, reward = game.step(state, action)
                return state, (obs, reward)

            return jax.lax.scan(body, start, actions)
        """,
    "trees in the order in which a function beside the call takes them": """
        def rescaled(updates, distance, energy, eps):
            def scaled(u, d, energy):
                return u * d / jnp.sqrt(energy + eps)

            def named(path, energy, u):
                return u / jnp.sqrt(energy + len(path))

            updates = jax.tree.map(scaled, updates, distance, energy)
            return jax.tree_util.tree_map_with_path(named, energy, updates)
        """,
}


@each_of(WRONG)
def test_what_is_swapped_is_found(program: str) -> None:
    check_found(program, "dataflow")


@each_of(RIGHT)
def test_what_is_in_order_is_not(program: str) -> None:
    check_silent(program, "dataflow")
