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


BACKGROUND = """
    class Background(NamedTuple):
        level: jax.Array
        age: jax.Array

    def first(frame):
        return Background(frame, jnp.zeros(()))

    def watch(frames):
        def step(background, frame):
            level = 0.9 * background.level + 0.1 * frame
            return Background(level.astype(background.level.dtype), background.age + 1.0), None

        return lax.scan(step, first(frames[0]), frames)

    watch(jnp.ones((5, 4), jnp.uint8))
"""


def test_what_is_put_into_the_carry_by_another_function_is_mended_there():
    assert found("SC301", BACKGROUND) == [6]
    floats = BACKGROUND.replace("Background(frame,", "Background(frame.astype(jnp.float32),")
    assert found("SC301", floats) == []


def test_what_is_taken_and_put_into_the_carry_in_one_place_is_mended_there():
    program = """
        def watch(frames):
            def step(carry, frame):
                level, age = carry
                return ((0.9 * level + 0.1 * frame).astype(level.dtype), age + 1), None

            start = frames[0]
            return lax.scan(
                step,
                (start, 0),
                frames,
            )

        watch(jnp.ones((5, 4), jnp.uint8))
    """
    assert found("SC301", program) == [6]


SEARCH = """
    def search(cost, x):
        def attempt(state):
            i, step = state
            return i + 1, 0.5 * step

        start = (0, jnp.int32(1))
        return lax.while_loop(lambda state: cost(x - state[1]) > 0, attempt, start)

    search(jnp.sum, jnp.ones(3))
"""


def test_the_size_of_a_step_is_no_counter():
    assert found("SC201", SEARCH) == [6]
    assert found("SC201", SEARCH.replace("int32(1)", "float32(1)")) == []


COARSEN = """
    def coarsen(spins):
        def level(i, state):
            spins, energy = state
            energy = energy + jnp.sum(spins)
            return spins.reshape(-1, 2).sum(axis=1), energy

        return lax.fori_loop(0, 3, level, (spins, 0.0))

    def main(spins):
        return coarsen(spins.reshape(spins.shape[0]))
"""


def test_half_of_a_size_is_another_size():
    assert found("SC201", COARSEN) == [5]
    assert found("SC201", COARSEN.replace(".reshape(-1, 2)", ".reshape(-1, 1)")) == []


def test_numbers_that_are_chosen_from_a_list_have_a_size():
    drawn = """
        rng = np.random.default_rng(0)
        jnp.zeros(7) + rng.choice([-1.0, 1.0], size=16)
    """
    assert found("AX201", drawn) == [2]
    assert found("AX201", drawn.replace("size=16", "size=7")) == []


IMAGINE = """
    def imagine(encode, core, obs, actions):
        def step(latent, action):
            latent = jnp.tanh((latent @ encode) @ core + action)
            return latent, None

        start = obs
        return lax.scan(step, start, actions)

    def entry(encode, core, obs, actions):
        return imagine(encode, core, obs, actions)

    def inputs():
        return jnp.ones((6, 4)), jnp.ones((4, 4)), jnp.ones((3, 6)), jnp.ones((9, 3, 4))
"""


def test_a_start_of_another_size_than_the_weights_give():
    assert found("SC201", IMAGINE) == [6]
    latent = IMAGINE.replace("start = obs", "start = obs @ encode").replace(
        "latent @ encode", "latent"
    )
    assert found("SC201", latent) == []


def test_a_body_that_appends_is_mended_in_the_body():
    program = """
        def collect(w, xs):
            def step(seen, x):
                seen = jnp.append(seen, (x @ w)[None], axis=0)
                return seen, seen.sum()

            start = jnp.zeros((2, 3))
            return lax.scan(step, start, xs)

        collect(jnp.ones((3, 3)), jnp.ones((9, 3)))
    """
    assert found("SC201", program) == [3]


READ = """
    def read(w, tokens, h, pair):
        current, following = pair
        h = jnp.tanh(w[tokens[0]] + h)
        return h, (h @ w.T)[following]

    def score(w, tokens):
        first = w[tokens[0]].sum()
        body = partial(read, w, tokens)
        return first + lax.scan(body, jnp.zeros(5), (tokens[:-1], tokens[1:]))[1].sum()

    score(jnp.ones((9, 5)), jnp.zeros(8, jnp.int32))
"""


def test_an_element_of_what_is_scanned_in_part_is_read_again():
    assert found("SC003", READ) == [3]
    assert (
        found("SC003", READ.replace("h = jnp.tanh(w[tokens[0]]", "h = jnp.tanh(w[current]")) == []
    )


CELLS = """
    def run(w, u, xs):
        def step(state, x):
            h, c = state
            gate = jax.nn.sigmoid(x @ w + h @ u)
            c = gate * (0.5 * c) + x @ w
            return (gate * jnp.tanh(c), c), h

        start = jnp.zeros((4, 6)), jnp.zeros((4, 24))
        return lax.scan(step, start, xs)

    run(jnp.ones((3, 6)), jnp.ones((6, 6)), jnp.ones((9, 4, 3)))
"""


def test_a_start_that_the_first_turn_cannot_use_is_mended_where_it_is_made():
    assert found("SC205", CELLS) == [8]
    assert found("SC205", CELLS.replace("(4, 24)", "(4, 6)")) == []


def test_a_start_that_is_given_or_cut_by_the_body_need_not_be_wrong():
    given = """
        def entry(w, xs, c):
            return lax.scan(lambda c, x: (c + x @ w, None), c, xs)

        def inputs():
            return jnp.ones((3, 6)), jnp.ones((9, 4, 3)), jnp.zeros((4, 24))
    """
    assert found("SC205", given) == []
    own = CELLS.replace("gate * (0.5 * c) + x @ w", "c[:, :6] * c")
    assert found("SC205", own) == []


def test_a_start_with_a_batch_is_right_where_the_scan_goes_along_the_batch():
    along = CELLS.replace("(4, 24)", "(4, 6)").replace("(9, 4, 3)", "(4, 9, 3)")
    assert found("SC205", along) == []


def test_a_body_that_puts_its_carry_into_one_more_axis_is_mended_in_the_body():
    program = """
        def pair(xs):
            def step(last, x):
                last = jnp.stack([last, x])
                return last, None

            start = jnp.zeros(3)
            return lax.scan(step, start, xs)

        pair(jnp.ones((5, 3)))
    """
    assert found("SC201", program) == [3]
    spread = program.replace("jnp.stack([last, x])", "last + x[:, None]")
    assert found("SC201", spread) == [6]


def test_a_start_of_integers_whose_width_is_not_known():
    program = """
    class Sums:
        def start(self, width):
            return {"sum": np.zeros(width, dtype=np.int64), "seen": 0}

        def add(self, sums, x):
            return {"sum": sums["sum"] + 0.1 * x, "seen": sums["seen"] + 1}, None

    def entry(xs):
        sums = Sums()
        return lax.scan(sums.add, sums.start(3), xs)

    def inputs():
        return (jnp.ones((4, 3)),)
    """
    assert found("SC201", program) == [3]
    assert found("SC201", program.replace("np.int64", "np.float64")) == []
    assert found("SC201", program.replace("0.1 * x", "(x > 0)")) == []


def test_a_start_of_width_one_beside_tables_that_were_joined_before_the_loop():
    program = """
    def f(half, unary):
        tables = jnp.concatenate([half, jnp.swapaxes(half, 1, 2)])

        def sweep(messages, _):
            made = jax.nn.logsumexp((unary - messages)[:, :, None] + tables, axis=1)
            return 0.5 * messages + 0.5 * made, None

        start = jnp.zeros((12, 1))
        return lax.scan(sweep, start, None, length=5)[0]

    f(jnp.ones((6, 3, 3)), jnp.ones((12, 3)))
    """
    assert found("SC201", program) == [8]
    assert found("SC201", program.replace("(12, 1)", "(12, 3)")) == []
