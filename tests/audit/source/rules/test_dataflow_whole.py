"""Functions that keep a first version, and records of which only some fields are selected."""

from .claims import check_found, check_silent, each_of

WRONG = {
    "a policy that an object binds at its start": """
        class Trainer:
            def __init__(self, params, tx):
                self.tx = tx
                self.params = params
                self.policy = jax.jit(functools.partial(forward, self.params))  # DF126

            def update(self, x):
                self.params = jax.tree.map(lambda p: 0.9 * p, self.params)
                return forward(self.params, x)

            def act(self, x):
                return self.policy(x)

        def forward(params, x):
            return x @ params
        """,
    "an evaluation after the loop": """
        def forward(params, x):
            return x @ params

        def train(step, params, batches, test):
            evaluate = functools.partial(forward, params)  # DF126
            for batch in batches:
                params, loss = step(params, batch)
            return params, evaluate(test)
        """,
    "one field of a proposal": """
        from flax import struct

        @struct.dataclass
        class Chain:
            place: jax.Array
            density: jax.Array
            slope: jax.Array

        def density(x):
            return -jnp.sum(x**2)

        def start(place):
            value, slope = jax.value_and_grad(density)(place)
            return Chain(place, value, slope)

        def step(chain, key):
            move_key, accept_key = jax.random.split(key)
            proposal = start(chain.place + 0.1 * jax.random.normal(move_key, (3,)))
            chance = jnp.exp(proposal.density - chain.density)
            accept = jax.random.uniform(accept_key) < chance
            chain = chain.replace(
                place=jnp.where(accept, proposal.place, chain.place),
                density=jnp.where(accept, proposal.density, chain.density),
                slope=proposal.slope,  # DF127
            )
            return chain, accept

        def run(key):
            return jax.lax.scan(step, start(jnp.zeros(3)), jax.random.split(key, 10))
        """,
    "rows of one field, in a copy": """
        from typing import NamedTuple

        class Swarm(NamedTuple):
            place: jax.Array
            speed: jax.Array

        def chosen(key):
            swarm = Swarm(jnp.zeros((8, 2)), jnp.ones((8, 2)))
            order = jax.random.permutation(key, 8)
            return swarm._replace(place=swarm.place[order])  # DF127
        """,
    "a state that is dropped where several results are taken apart": """
        def fit(step, net, state, opt_state, batches):
            for batch in batches:
                results = step(net, state, opt_state, batch)
                net, _, opt_state, loss = results  # DF105
            return net, state, loss
        """,
    "what was seen last, in the state of a runner": """
        def make(env, params):
            def step(runner, _):
                env_state, last_obs, key = runner
                key, step_key = jax.random.split(key)
                action = jnp.tanh(last_obs @ params)
                obs, env_state, reward = env.step(step_key, env_state, action)  # DF105
                runner = (env_state, last_obs, key)
                return runner, (last_obs, action, reward)

            return lambda runner: jax.lax.scan(step, runner, None, length=8)
        """,
}

RIGHT = {
    "first versions that are wanted, or made anew": """
        def forward(params, x):
            return x @ params

        def train(step, params, batches, test):
            reference = functools.partial(forward, params)
            warm = functools.partial(forward, params)
            first = warm(test)
            for batch in batches:
                params, loss = step(params, batch)
                evaluate = functools.partial(forward, params)
                late = evaluate(test) - reference(test)
            return params, first, late

        class Trainer:
            def __init__(self, params):
                self.params = params
                self.policy = functools.partial(forward, self.params)

            def update(self, x):
                self.params = 0.9 * self.params
                self.policy = functools.partial(forward, self.params)

            def act(self, x):
                return self.policy(x)
        """,
    "what is not of one state": """
        from flax import struct

        @struct.dataclass
        class Chain:
            place: jax.Array
            density: jax.Array
            count: jax.Array
            key: jax.Array
            size: jax.Array

        def step(chain, proposal, key):
            accept = jax.random.uniform(key) < jnp.exp(proposal.density - chain.density)
            return Chain(
                place=jnp.where(accept, proposal.place, chain.place),
                density=jnp.where(accept, proposal.density, chain.density),
                count=proposal.count,
                key=proposal.key,
                size=chain.size,
            )

        def run(key, other):
            here = Chain(jnp.zeros(3), jnp.zeros(()), jnp.zeros((), int), key, jnp.ones(()))
            there = Chain(jnp.ones(3), jnp.ones(()), jnp.ones((), int), other, jnp.ones(()))
            return step(here, there, jax.random.fold_in(key, 1))
        """,
    "rows of things that are not as many": """
        from typing import NamedTuple

        class Graph(NamedTuple):
            nodes: jax.Array
            edges: jax.Array

        def reordered(key):
            graph = Graph(jnp.zeros((8, 2)), jnp.ones((20, 2)))
            order = jax.random.permutation(key, 8)
            first = Graph(graph.nodes[0], graph.edges)
            return graph._replace(nodes=graph.nodes[order]), first
        """,
}


@each_of(WRONG)
def test_it_is_found(program: str) -> None:
    check_found(program, "dataflow")


@each_of(RIGHT)
def test_it_is_left_alone(program: str) -> None:
    check_silent(program, "dataflow")
