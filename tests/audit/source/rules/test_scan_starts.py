"""What a loop starts from, used where its carry belongs."""

from .reading import found

ADAPT = """
    def loss(p, x):
        return jnp.mean((x @ p["w"]) ** 2)

    def adapt(params, xs, rate=0.1):
        def inner(fast, x):
            grads = jax.grad(loss)(params, x)
            return jax.tree.map(lambda p, g: p - rate * g, fast, grads), None

        return jax.lax.scan(inner, params, xs)[0]

    def main(params, xs):
        return jax.jit(adapt)(params, xs)
"""


def test_gradients_are_taken_where_the_loop_began():
    assert found("SC005", ADAPT) == [6]
    assert found("SC005", ADAPT.replace("(params, x)", "(fast, x)")) == []


def test_gradients_at_both_points_are_compared_on_purpose():
    both = "jax.tree.map(jnp.subtract, jax.grad(loss)(fast, x), jax.grad(loss)(params, x))"
    assert found("SC005", ADAPT.replace("jax.grad(loss)(params, x)", both)) == []


SAMPLE = """
    class Sampler:
        def step(self, x, key):
            x = 0.9 * x + jax.random.normal(key, x.shape)
            return x, jnp.mean(x**2)

        def sample(self, key, shape):
            start, rest = jax.random.split(key)
            x = jax.random.normal(start, shape)
            _, energy = jax.lax.scan(self.step, x, jax.random.split(rest, 10))
            return x, energy
"""


def test_the_first_carry_is_returned():
    assert found("DF105", SAMPLE) == [10]
    assert found("DF105", SAMPLE.replace("_, energy = jax", "x, energy = jax")) == []


def test_the_first_carry_goes_before_those_that_are_stacked():
    path = SAMPLE.replace("return x, jnp.mean(x**2)", "return x, x")
    assert found("DF105", path) == []
    used = SAMPLE.replace("return x, energy", "return energy - jnp.mean(x**2)")
    assert found("DF105", used) == []


ROWS = """
    def encode(w, tokens):
        embedded = jnp.zeros((100, 24))[tokens]

        def step(hidden, inputs):
            hidden = jnp.tanh(jnp.concatenate([inputs, hidden], axis=-1) @ w)
            return hidden, hidden

        return jax.lax.scan(step, jnp.zeros((tokens.shape[0], 32)), embedded)[1]

    encode(jnp.ones((56, 32)), jnp.zeros((8, 20), jnp.int32))
"""


def test_a_scan_steps_over_the_rows_of_its_carry():
    assert found("SC001", ROWS) == [8]
    assert found("SC001", ROWS.replace(", embedded)", ", embedded.swapaxes(0, 1))")) == []


def test_a_key_that_a_callee_adds_to_the_carry():
    program = """
    def step(state, force):
        speed = state["speed"] + force
        return {**state, "speed": speed, "effort": jnp.sum(force**2)}

    def run(forces):
        def body(state, force):
            return step(state, force), None

        return jax.lax.scan(body, {"speed": jnp.zeros(2)}, forces)

    run(jnp.ones((5, 2)))
    """
    assert found("SC201", program) == [3]
