"""New versions of records, trees and states that are computed and not handed on."""

import pytest

from .claims import check_found, check_silent, each_of
from .reading import found

WRONG = {
    "a record that is made with the old version": """
        def loss(params, stats, x):
            out, updated_stats = apply(params, stats, x)
            return jnp.mean(out), updated_stats

        def apply(params, stats, x):
            return x @ params, 0.9 * stats + 0.1 * x.mean(axis=0)

        def step(trainer, x):
            params, stats = trainer.params, trainer.stats
            (value, updated_stats), grads = jax.value_and_grad(loss, has_aux=True)(params, stats, x)
            params = params - 0.1 * grads
            return trainer.replace(params=params, stats=stats), value  # DF105
        """,
    "layers that all start from the input": """
        def deep(layers, x):
            h = x
            for layer in layers:
                h = jnp.tanh(x @ layer["w"] + layer["b"])  # DF115
            return h.sum()
        """,
    "the first of two residual branches": """
        def block(params, x):
            x_mixed = x + jnp.tanh(x @ params["mix"])
            return x + jax.nn.relu(x @ params["widen"])  # DF101

        def scaled(params, x, mean, spread):
            centred = (x - mean) / spread
            return jnp.tanh(x @ params["w"]) / jnp.sum(params["w"])  # DF101
        """,
    "a part of a dict that nobody takes": """
        def prepared(batch):
            x = batch["x"]
            centred = x - x.mean(axis=0)
            return {**batch, "centred": centred}

        def scores(w, batch):
            return jnp.tanh(batch["x"] @ w)  # DF101

        @jax.jit
        def run(w, x, y):
            batch = prepared({"x": x, "y": y})
            return jnp.mean((scores(w, batch) - batch["y"]) ** 2)
        """,
    "a whole record, moved by another function": """
        from typing import NamedTuple

        class Arm(NamedTuple):
            angle: jax.Array
            rate: jax.Array

        def integrate(arm, dt):
            return Arm(arm.angle + dt * arm.rate, arm.rate)

        def limited(arm):
            return arm._replace(angle=jnp.clip(arm.angle, -2.0, 2.0))

        def advance(start: jax.Array):
            def body(_, arm):
                moved = integrate(arm, 0.1)
                return limited(arm)  # DF101

            return jax.lax.fori_loop(0, 10, body, Arm(start, jnp.ones(())))
        """,
    "what a loop has adapted": """
        def adapted_loss(params, support, query):
            def body(inner, _):
                grads = jax.grad(error)(inner, support)
                return jax.tree.map(lambda p, g: p - 0.1 * g, inner, grads), None

            def adapt(params):
                return jax.lax.scan(body, params, None, length=3)[0]

            adapted = adapt(params)
            return error(params, query)  # DF101

        def error(params, batch):
            return jnp.mean((batch["x"] @ params["w"] - batch["y"]) ** 2)
        """,
    "a sum of gradients": """
        def accumulate(loss, params, parts):
            def body(total, part):
                gradient = jax.grad(loss)(params, part)
                total = jax.tree.map(jnp.add, total, gradient)
                return gradient, None  # DF101

            return jax.lax.scan(body, jax.tree.map(jnp.zeros_like, params), parts)[0]
        """,
    "a field that follows from another one's new value": """
        def verlet(state, force_fn, dt):
            half = state.velocity + 0.5 * dt * state.force
            position = state.position + dt * half
            force = force_fn(position)
            velocity = half + 0.5 * dt * force
            return State(position, velocity=velocity, force=state.force)  # DF105

        def again(state, force_fn, dt):
            position = state.position + dt * state.velocity
            force = force_fn(position)
            velocity = state.velocity + 0.5 * dt * (force + state.force)
            return state.replace(position=position, velocity=velocity)  # DF105
        """,
    "a count and an average that a transformation keeps as they were": """
        def clipped(decay):
            def update(updates, state, params=None):
                norm = optax.global_norm(updates)
                count = state.count + 1
                average = decay * state.average + (1 - decay) * norm
                scale = average / (1 - decay**count) / norm
                return jax.tree.map(lambda g: g * scale, updates), state  # DF105

            return optax.GradientTransformation(lambda params: Clip(0.0, 0), update)
        """,
    "a state that goes through two of three layers": """
        class Net:
            def __call__(self, x, state):
                x, state = self.first(x, state)
                x, state = self.second(x, state)
                x, _ = self.third(x, state=state)  # DF105
                return x, state
        """,
    "caches that are put back as they were, and a model in another mode": """
        import equinox as eqx

        def decode(layers, caches, x):
            updated = []
            for layer, cache in zip(layers, caches):
                x, new_cache = layer(x, cache)  # DF105
                updated.append(cache)
            return x, updated

        def evaluate(model, xs):
            frozen = eqx.nn.inference_mode(model)
            return jax.vmap(model)(xs)  # DF101
        """,
    "results in the wrong order": """
        class Heads:
            def __call__(self, x):
                mean, value = self.both(x)
                return mean, value

        def both(params, x):
            logits = x @ params["w"]
            cache = x + 1.0
            return logits, cache

        def unroll(params, xs):
            cache, logits = both(params, xs)  # DF119
            return jax.nn.softmax(logits), cache
        """,
    "an average of old parameters": """
        def update(params, slow, average, state, grads, tx):
            updates, state = tx.update(grads, state, params)
            new = optax.apply_updates(params, updates)
            slow = optax.incremental_update(params, slow, 0.01)  # DF105
            average = jax.tree.map(lambda a, p: 0.9 * a + 0.1 * p, average, params)  # DF105
            return new, slow, average, state
        """,
    "a result that another one overwrites": """
        def flow(x, layers, norm):
            total = jnp.zeros(x.shape[0])
            for layer in layers:
                x, change = norm(x)
                x, change = layer(x)  # DF101
                total += change
            return x, total
        """,
    "statistics that a step makes and does not return": """
        def step(apply, params, stats, x):
            def loss(params):
                y, updated_stats = apply({"params": params, **stats}, x, mutable=list(stats))
                return jnp.sum((x - y) ** 2), updated_stats

            (value, updated_stats), grads = jax.value_and_grad(loss, has_aux=True)(params)
            params = jax.tree.map(
                lambda p, g: p - 0.1 * g,
                params,
                grads,
            )
            return params, stats, value  # DF105
        """,
    "an old field beside the new one of another": """
        def step(game, move):
            board = game.board.at[game.current_row].set(move)
            next_row = (game.current_row + 1) % 8
            allowed = moves(
                next_row,
                game.board,  # DF105
            )
            return game.replace(board=board, current_row=next_row, allowed=allowed)

        def moves(row, board):
            return board[row] == 0
        """,
    "a field of the record that was, added up for the one that gets it anew": """
        def finished(batch, deltas):
            def back(total, delta):
                total = delta + 0.9 * total
                return total, total

            _, gains = jax.lax.scan(back, jnp.zeros(4), deltas, reverse=True)
            return batch.replace(
                gains=gains,
                targets=batch.gains + batch.values,  # DF105
            )
        """,
}

_TWO_PAIRS = """
        from typing import NamedTuple

        class Pair(NamedTuple):
            scale: jax.Array
            shift: jax.Array

        def error(pair, x):
            return jnp.sum((pair.scale * x + pair.shift) ** 2)

        def adapt(fast, slow, x):
            grads = jax.grad(error)(fast, x)
            fast = jax.tree.map(lambda p, g: p - 0.1 * g, fast, grads)
            slow = jax.tree.map(lambda s, p: 0.9 * s + 0.1 * p, slow, fast)
            return fast, slow, error(fast, x)

        def fit(x):
            fast, slow = Pair(jnp.ones(3), x), Pair(jnp.ones(3), x)
"""

WRONG["one of two records of a class, which is not read, while what went in is"] = (
    _TWO_PAIRS
    + """\
            fitted, slow, value = adapt(fast, slow, x)
            return fast, slow, value  # DF101
        """
)

RIGHT = {
    "one of two records of a class that come back under their names": (
        _TWO_PAIRS
        + """\
            fast, slow, value = adapt(fast, slow, x)
            return fast, value

        def moved(fast, slow, gain):
            return Pair(fast.scale + gain, fast.shift), Pair(fast.scale, slow.shift * gain)

        def shift(gain):
            fast, slow = Pair(gain, gain), Pair(gain, gain)
            fast, slow = moved(fast, slow, gain)
            return fast
        """
    ),
    "a record that is made with the new version": """
        def apply(params, stats, x):
            return x @ params, 0.9 * stats + 0.1 * x.mean(axis=0)

        def step(trainer, x):
            params, stats = trainer.params, trainer.stats
            out, updated_stats = apply(params, stats, x)
            return trainer.replace(params=params - out.mean(), stats=updated_stats), out
        """,
    "layers that go on from each other, or add up": """
        def deep(layers, x):
            h = x
            for layer in layers:
                h = jnp.tanh(h @ layer["w"] + x @ layer["skip"])
            return h.sum()

        def wide(layers, x):
            h = x
            for layer in layers:
                part = jnp.tanh(x @ layer["w"])
                h = h + part
            return h.sum()
        """,
    "parts of a dict that somebody takes, or may take": """
        def prepared(x, y):
            centred = x - x.mean(axis=0)
            return {"x": x, "y": y, "centred": centred}

        def measured(loss):
            return {"loss": loss, "in_bits": loss / jnp.log(2.0)}

        @jax.jit
        def run(w, x, y):
            batch = prepared(x, y)
            return jnp.mean((batch["x"] @ w - batch["y"]) ** 2 + batch["centred"] @ w)

        @jax.jit
        def all_of_it(x, y):
            batch = prepared(x, y)
            return {name: jnp.sum(it) for name, it in batch.items()}

        @jax.jit
        def with_log(w, x):
            loss = jnp.mean((x @ w) ** 2)
            return loss, measured(loss)
        """,
    "averages of new parameters, or before there are any": """
        def update(params, slow, average, state, grads, tx):
            average = jax.tree.map(lambda a, p: 0.9 * a + 0.1 * p, average, params)
            updates, state = tx.update(grads, state, params)
            new = optax.apply_updates(params, updates)
            slow = optax.incremental_update(new, slow, 0.01)
            drift = jax.tree.map(lambda a, p: a - p, new, params)
            return new, slow, average, state, drift
        """,
    "results in the order in which they come, or on purpose in another": """
        def both(params, x):
            left = x @ params["w"]
            right = x + 1.0
            return left, right

        def heads(params, x):
            mean = x @ params
            value = x - params
            return mean, value

        def unroll(params, xs):
            right, left = both(params, xs)
            mean, spread = heads(params, xs)
            value, other = heads(params, xs)
            return left, right, mean, spread, value, other
        """,
    "caches that are new": """
        def decode(layers, caches, x):
            updated = []
            for layer, cache in zip(layers, caches):
                x, new_cache = layer(x, cache)
                updated.append(new_cache)
            for layer, cache in zip(layers, caches):
                x, next_cache = layer(x, cache)
                print(cache.size)
            return x, updated
        """,
    "results of which only the last is asked for": """
        def rollout(env, state, key, steps):
            total = 0.0
            obs, info = env.reset(key)
            obs, info = env.step(obs)
            x, loss = first(obs)
            total = total + loss
            x, loss = second(x)
            total = total + loss
            return obs, info, x, total
        """,
    "fields that are kept for a reason": """
        def step(state, noise, rate):
            obs = state.obs + noise
            action = state.policy(obs)
            count = state.count + 1
            return State(obs=state.obs, action=action, count=count, rate=state.rate)

        def update(updates, state, params=None):
            count = state.count + 1
            state = State(count=count, mean=state.mean)
            return updates, state

        def again(old, rate):
            position = old.position + rate
            velocity = old.velocity * rate
            return State(position=position, velocity=velocity, start=old.start)
        """,
    "a step that is only looked at, and a transform that is used twice": """
        def unroll(net, state, xs, last):
            out, state = net(xs, state)
            value, _ = net(last, state)
            return out, value, state

        def place(parent, pos, quat):
            pos, quat = moved(parent, pos, quat)
            start, _ = moved(parent, pos, quat)
            pos, _ = moved(start, pos, quat)
            return pos, quat
        """,
    "the new version goes on": """
        def accumulate(loss, params, parts):
            def body(total, part):
                gradient = jax.grad(loss)(params, part)
                size = jax.tree.map(jnp.linalg.norm, gradient)
                total = jax.tree.map(jnp.add, total, gradient)
                return total, size

            return jax.lax.scan(body, jax.tree.map(jnp.zeros_like, params), parts)[0]
        """,
    "a copy that a branch reads, and one that is not asked for": """
        def adapted(params, batch, steps, keep):
            def body(_, inner):
                return jax.tree.map(lambda p: p * 0.9, inner)

            trained = jax.lax.fori_loop(0, steps, body, params)
            _unused = jax.lax.fori_loop(0, steps, body, params)
            if keep:
                params = trained
            return batch @ params
        """,
    "two results of one call, of which one is used": """
        def scores(potential, x):
            score = jnp.dot(potential, x)
            return score, 0.5 * score

        def train(potential, x, steps):
            for _ in range(steps):
                primal, dual = scores(potential, x)
                potential = potential - 0.1 * primal
            return potential
        """,
    "one tool for two things": """
        class Stepper:
            @functools.partial(jax.jit, static_argnums=0)
            def step(self, old, new):
                new = self.policy.to_compute(new)
                moved = jnp.roll(self.policy.to_compute(old), 1)
                new = self.policy.to_store(moved)
                return old, new
        """,
    "a field that another branch has computed anew": """
        class Gaussian:
            def sample(self, key, subset):
                if not subset:
                    noise, root, _ = self.compressed()
                    mean = Tensor(noise, root)
                    return mean + root
                else:
                    noise = jax.random.normal(key, (3,))
                    return Tensor(self.mean, noise) + noise
        """,
    "sizes that are computed to be compared": """
        class Loader:
            def padded(self, weight):
                rows, columns = weight.shape
                total_kv_dim = self.kv_heads * self.devices * self.kv_head_dim
                own_kv_dim = self.kv_heads * self.kv_head_dim
                if columns == total_kv_dim:
                    expected_kv_dim = total_kv_dim
                else:
                    assert columns == own_kv_dim
                    expected_kv_dim = own_kv_dim
                padding = (self.padded_heads - self.kv_heads) * self.kv_head_dim
                return jnp.concatenate([weight, jnp.zeros((rows, padding))], axis=1)
        """,
    "parts that go in the other way round, and come out so": """
        def extended(blocks, layer):
            s11, s12, s22 = blocks
            s11, s12 = jnp.tanh(s11 @ layer), s12 @ layer
            return s11, s12, s22

        def reversed_stack(matrix, layer):
            s22, s12, s11 = extended(blocks=(matrix.s22, matrix.s12, matrix.s11), layer=layer)
            return s11, s12, s22
        """,
    "a function that is called for the other side": """
        def after_split(root_a, root_b, cholesky_a):
            return jnp.linalg.solve(cholesky_a, root_a) @ root_b

        def without_b(root_a, root_b):
            cholesky_b = jnp.linalg.cholesky(root_b @ root_b.T)
            total = after_split(root_b, root_a, cholesky_b)
            return total + 1.0
        """,
    "keys of attention that were turned before": """
        class Attention:
            def __call__(self, hidden, shared, positions):
                query_states = self.query(hidden)
                key_states, value_states = shared
                query_states, key_states = self.sharded(query_states, key_states)
                query_states, _ = self.rotated(query_states, key_states, positions)
                return self.attend(query_states, key_states, value_states)
        """,
    "old fields that are compared with new ones, or not replaced yet": """
        def near(goal, place):
            return -jnp.sum((goal - place) ** 2)

        def shaped(state, action):
            place = state.place + action
            goal = jnp.roll(state.goal, 1)
            gain = near(goal, place) - near(goal, state.place)
            return state.replace(place=place, goal=goal, gain=gain)

        def ordered(state, action):
            goal = jnp.roll(state.goal, 1)
            gain = near(goal, state.place)
            place = state.place + action
            return state.replace(place=place, goal=goal, gain=gain)

        def named(space, start):
            kind = space.kind
            dtype = space.dtype
            rows = zeros(kind, start, dtype=space.dtype)
            return made(rows, dtype=dtype, kind=kind)

        def kept(state, action):
            goal = jnp.roll(state.goal, 1)
            place = state.place + action
            return state.replace(goal=goal, gain=near(goal, state.place)), place
        """,
    "old fields of which something goes on, or that the new ones are compared with": """
        def counted(state, reward):
            steps = state.steps + 1
            place = jnp.tanh(state.place)
            return state.replace(
                steps=steps,
                place=place,
                total=state.total + state.steps * reward,
                speed=(place - state.place) / state.dt,
            )
        """,
}


@each_of(WRONG)
def test_it_is_found(program: str):
    check_found(program, "dataflow")


@each_of(RIGHT)
def test_it_is_left_alone(program: str):
    check_silent(program, "dataflow")


def test_a_source_that_is_used_for_something_else_than_an_unread_value():
    program = """
    def at_faces(state):
        density, momentum = state["density"], state["momentum"]
        velocity = momentum / jnp.maximum(density, 1e-6)

        def average(x):
            return 0.5 * (x + jnp.roll(x, -1))

        face = jnp.maximum(average(density), 1e-6)
        return average(momentum) / face

    def switched(sign, x):
        branch = sign + 1
        return jnp.where(sign + 1 == 2, x, -x)

    def energy(gas, gamma):
        return gas[0] ** 2 + gas[1] / (gamma - 1.0)

    def flux(gas, gamma):
        pressure = gas[1]
        scaled_pressure = jnp.sqrt(gamma * pressure)
        return energy(gas, gamma)
    """
    assert found("DF101", program) == []
    assert found("DF122", program) == [3, 12, 20]
    other = program.replace("average(momentum) / face", "average(momentum) / 2.0")
    by_name = other.replace("return energy(gas, gamma)", "return pressure / (gamma - 1.0)")
    assert found("DF101", by_name) == [9, 21]


TOTALS = """
    class Meter(NamedTuple):
        seen: jax.Array
        energy: jax.Array
        last: jax.Array
        window: jax.Array

    def mean_of(meter):
        return meter.energy / jnp.maximum(meter.seen, 1.0)

    def added(meter, xs):
        return jnp.sum(xs**2, axis=0)

    def update(meter, xs):
        seen, last = meter.seen + xs.shape[0], xs[-1].sum()
        window = jnp.roll(meter.window, 1).at[0].set(last)
        energy = {energy}
        return meter._replace(seen={seen}, energy=energy, last=last, window=window), mean_of(meter)
"""


@pytest.mark.parametrize(
    ("energy", "seen", "lines"),
    [
        ("jnp.sum(xs**2, axis=0)", "seen", [16]),
        ("(xs - meter.last).sum(0)", "seen", [16]),
        ("added(meter, xs)", "seen", [16]),
        ("meter.energy + jnp.sum(xs**2, axis=0)", "seen", []),
        ("added(meter, xs) + 0.9 * meter.energy", "seen", []),
        # Both begin anew, or are of what there is in a window.
        ("jnp.sum(xs**2, axis=0)", "xs.shape[0]", []),
        ("jnp.sum(window)", "seen", []),
        ("xs[0]", "seen", []),
    ],
)
def test_a_total_is_replaced_while_its_count_goes_on(energy: str, seen: str, lines: list[int]):
    program = TOTALS.format(energy=energy, seen=seen)
    assert found("DF115", program) == lines
    # Of what is not divided by it, nobody knows that it is a total.
    assert found("DF115", program.replace("meter.energy / jnp", "1.0 / jnp")) == []


def test_a_dict_or_an_annotated_record_replaces_its_total():
    program = """
    import flax

    @flax.struct.dataclass
    class Meter:
        total: jax.Array
        count: jax.Array

        @property
        def mean(self):
            return self.total / self.count

        def add(self, losses):
            return self.replace(total=losses.sum(), count=self.count + losses.shape[0])

    def add(state, losses):
        total = losses.sum()
        return {"total": total, "count": state["count"] + losses.shape[0]}

    def mean(state):
        return state["total"] / state["count"]
    """
    assert found("DF115", program) == [13, 16]
    right = program.replace("(total=losses", "(total=self.total + losses")
    assert found("DF115", right.replace("= losses.sum()", '= state["total"] + losses.sum()')) == []
