"""Values that are computed and that nothing reads."""

from .claims import check_found, check_silent, each_of

WRONG = {
    "a second one of a kind, while the first is used on": """
        def build(step):
            def move(x):
                return x - step * jax.grad(jnp.sum)(x)
            return move

        def tuned(x):
            return jnp.mean(x)

        def entry(x):
            first = build(0.1)
            x = first(x)
            second = build(tuned(x))
            return first(x)  # DF101
        """,
    "a part of a record that a helper makes of what its caller goes on with": """
        from typing import NamedTuple

        class Clipped(NamedTuple):
            kept: jax.Array
            scale: jax.Array

        def clip(updates, limit):
            scale = jnp.minimum(1.0, limit / optax.global_norm(updates))
            return Clipped(jax.tree.map(lambda it: it * scale, updates), scale)

        @jax.jit
        def entry(params, x):
            updates = jax.grad(lambda it: jnp.sum((x @ it) ** 2))(params)
            report = clip(updates, 1.0)
            return params - 0.1 * updates, report.scale  # DF101
        """,
    "what a layer gives": """
        import flax.linen as nn

        class Mix(nn.Module):
            def setup(self):
                make = lambda: nn.DenseGeneral((2, 4))
                self.to_key, self.to_value = make(), make()

            def __call__(self, x):
                key = self.to_key(x)
                value = self.to_value(x)  # DF122
                return jax.nn.softmax(jnp.sum(key, axis=-1), axis=0) * jnp.max(key)

        @jax.jit
        def run(params, x):
            return Mix().apply(params, x)
        """,
    "what another model says": """
        import flax.linen as nn

        def make(student, teacher):
            def loss(params, other, x):
                logits = student.apply(params, x)
                wanted = teacher.apply(other, x)  # DF122
                return -jnp.sum(jax.nn.softmax(logits) * jax.nn.log_softmax(logits))

            return jax.jit(jax.grad(loss))
        """,
    "a total that only its own next value reads": """
        class Trainer:
            def step(self, params, parts):
                total = jax.tree.map(jnp.zeros_like, params)
                for part in parts:
                    loss, grads = jax.value_and_grad(self.loss)(params, part)
                    total = jax.tree.map(jnp.add, total, grads)  # DF122
                return jax.tree.map(lambda p, g: p - 0.1 * g / 4, params, grads), loss

            def loss(self, params, part):
                return jnp.mean((part["x"] @ params - part["y"]) ** 2)
        """,
    "a record that was made for the next step": """
        from typing import NamedTuple

        class Latent(NamedTuple):
            fixed: jax.Array
            drawn: jax.Array

        def observe(latent, inputs):
            embedding, key = inputs
            guess = Latent(jnp.tanh(latent.fixed), latent.drawn)
            drawn = embedding + jax.random.normal(key, embedding.shape)
            seen = Latent(guess.fixed, drawn)
            return guess, jnp.sum(embedding)  # DF101

        def unroll(start, embeddings, keys):
            return jax.lax.scan(observe, start, (embeddings, keys))
        """,
    "what is a version of nothing that is used in its place": """
        def walls(params, level):
            width = params.width
            index = level.agent[1] * width + level.agent[0]  # DF122
            return jnp.ones((4, width)) * (level.goal[1] * width + level.goal[0])

        def forward(params, camera, joints):
            seen = camera @ params
            felt = joints @ params  # DF122
            total = jnp.sum(camera, axis=0)  # DF122
            return jnp.concatenate([seen, joints], axis=-1)
        """,
    "a dict that is filled": """
        def update(tx, params, opt_states, grads):
            new_params, new_opt_states = {}, {}
            for name in ("one", "two"):
                updates, opt_state = tx.update(grads[name], opt_states[name], params[name])
                new_params[name] = optax.apply_updates(params[name], updates)
                new_opt_states[name] = opt_state  # DF122
            return new_params, opt_states
        """,
    "the second time that a name is given": """
        import equinox as eqx

        class Block(eqx.Module):
            first: eqx.nn.LayerNorm
            second: eqx.nn.LayerNorm
            mlp: eqx.nn.MLP

            def __call__(self, x, shift):
                h = jax.vmap(self.first)(x) + shift
                x = x + jax.vmap(self.mlp)(h)
                h = jax.vmap(self.second)(x) + shift  # DF122
                return x + jax.vmap(self.mlp)(x)
        """,
    "one of two that are computed in one statement": """
        @jax.jit
        def attend(x, w, turn):
            query, key = jnp.split(x @ w, 2, axis=-1)
            one, other = jnp.tanh(query * turn), jnp.tanh(key * turn)  # DF122
            return one @ key.T
        """,
}

RIGHT = {
    "a second one of a kind that is used, and one whose first is not": """
        def build(step):
            def move(x):
                return x - step * jax.grad(jnp.sum)(x)
            return move

        def entry(x):
            first = build(0.1)
            x = first(x)
            second = build(jnp.mean(x))
            return second(x) + first(x)

        def other(x):
            first = build(0.1)
            x = first(x)
            second = build(jnp.mean(x))
            return second(x)
        """,
    "a part of a record that is taken, and one that its caller returns": """
        from typing import NamedTuple

        class Clipped(NamedTuple):
            kept: jax.Array
            scale: jax.Array

        def clip(updates, limit):
            scale = jnp.minimum(1.0, limit / optax.global_norm(updates))
            return Clipped(jax.tree.map(lambda it: it * scale, updates), scale)

        @jax.jit
        def entry(params, x):
            updates = jax.grad(lambda it: jnp.sum((x @ it) ** 2))(params)
            report = clip(updates, 1.0)
            return params - 0.1 * report.kept, report.scale, optax.global_norm(updates)

        @jax.jit
        def handed_on(params, x):
            updates = jax.grad(lambda it: jnp.sum((x @ it) ** 2))(params)
            return params - 0.1 * updates, clip(updates, 1.0)
        """,
    "results that come in pairs": """
        @jax.jit
        def attend(x, w, turn):
            query, key = jnp.split(x @ w, 2, axis=-1)
            one, other = jnp.tanh(query * turn), jnp.tanh(key * turn)
            least, _ = jnp.min(one), jnp.max(one)
            return one @ other.T + least
        """,
    "a layer that keeps statistics of what it is given": """
        import flax.linen as nn

        class Mix(nn.Module):
            @nn.compact
            def __call__(self, x):
                normed = nn.BatchNorm(use_running_average=False)(x)
                return nn.Dense(3)(x)

        @jax.jit
        def run(params, x):
            return Mix().apply(params, x, mutable=["batch_stats"])
        """,
    "for its time, its error, or by a name that says so": """
        import time

        def bench(f, x):
            start = time.time()
            out = jax.block_until_ready(jnp.sum(f(x)))
            return time.time() - start

        def checked(x):
            try:
                shape = jnp.add(x, jnp.ones(3))
            except TypeError:
                return False
            return True

        def looked_at(x):
            _ = jnp.sum(x)
            _norm = jnp.linalg.norm(x)
            return x
        """,
    "totals that somebody asks for": """
        def fit(params, parts):
            total = 0.0
            seen = jnp.zeros(())
            for part in parts:
                total = total + jnp.mean(part)
                seen += 1
            mean = total / seen
            return params, mean
        """,
    "containers that are handed on": """
        def rows(values):
            found, seen, kept = [], {}, []
            for value in values:
                found.append(jnp.sum(value))
                seen[len(found)] = value
                kept.append(value)
            return jnp.stack(found), sorted(seen), lambda: kept
        """,
    "what a module keeps": """
        import flax.linen as nn

        class Layer(nn.Module):
            @nn.compact
            def __call__(self, x):
                scale = self.param("scale", nn.initializers.ones, (x.shape[-1],))
                count = self.variable("stats", "count", jnp.zeros, ())
                return nn.relu(x)
        """,
    "what a method has a module keep": """
        import flax.linen as nn

        class Layer(nn.Module):
            def note(self, h):
                return self.sow("seen", "h", h)

            @nn.compact
            def __call__(self, x):
                h = nn.relu(x)
                is_kept = self.note(h)
                return h

        @jax.jit
        def apply(params, x):
            return Layer().apply(params, x)
        """,
    "a model that writes down what is drawn": """
        import numpyro
        import numpyro.distributions as dist

        def model(x):
            rate = numpyro.sample("rate", dist.Gamma(2.0, 1.0))
            doubled = numpyro.deterministic("doubled", 2 * rate)
            scale = jnp.sum(x) * rate
            numpyro.sample("obs", dist.Poisson(rate), obs=x)
        """,
    "read by a function inside, or deleted": """
        def outer(x, y):
            scale = jnp.max(x)
            other = jnp.max(y)
            del other

            def inner(z):
                return z / scale

            return jax.vmap(inner)(x)
        """,
}


@each_of(WRONG)
def test_what_nothing_reads_is_found(program: str) -> None:
    check_found(program, "dataflow")


@each_of(RIGHT)
def test_what_is_needed_or_meant_is_not(program: str) -> None:
    check_silent(program, "dataflow")
