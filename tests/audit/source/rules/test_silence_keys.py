"""Right uses of random keys that were taken for wrong, and wrong ones beside them."""

from .reading import found


def test_the_words_of_an_old_key_are_numbers():
    program = """
    key = jax.random.PRNGKey(3)
    first, second = key[0], key[1]
    wrong = jnp.float32(3)[0]
    """
    assert found("AX201", program) == [3]


def test_a_turn_that_ends_early_hands_on_its_own_key():
    program = """
    def batches(x, count):
        key = jax.random.key(0)
        start = 0
        while start < count:
            if start > 5:
                key, sub = jax.random.split(key)
                x = jax.random.permutation(sub, x)
                start = 0
                continue
            yield x
            start += 1
    """
    assert found("RK001", program) == []
    again = program.replace("key, sub", "rest, sub").replace("permutation(sub", "permutation(key")
    assert found("RK001", again) == [7]


def test_a_state_of_a_class_is_another_one_in_each_turn():
    program = """
    from flax import struct

    @struct.dataclass
    class State:
        rng: jax.Array
        params: jax.Array

    def train(rng, params, xs):
        state = State(rng=rng, params=params)
        for x in range(3):
            rng, sub = jax.random.split(state.rng)
            state = state.replace(rng=rng)
            order = jax.random.permutation(sub, 10)
            state, _ = lax.scan(lambda it, i: (it.replace(params=i), None), state, order)
        return state
    """
    assert found("RK002", program) == []


def test_a_condition_that_holds_in_one_turn():
    program = """
    def block(x, params, key):
        for n in [0, 1]:
            if n == 1:
                x = x * jax.random.bernoulli(key, 0.9, x.shape)
            x = x @ params[n]
        return x
    """
    assert found("RK002", program) == []
    assert found("RK002", program.replace("n == 1", "n >= 0")) == [4]


def test_each_turn_takes_another_key_of_a_list():
    program = """
    def layers(key, sizes):
        first, *rest = jax.random.split(key, len(sizes) + 1)
        made = [jax.random.normal(rest[i], (size,)) for i, size in enumerate(sizes)]
        for i, size in enumerate(sizes):
            made.append(jax.random.normal(rest[0], (size,)))
        return made
    """
    assert found("RK002", program) == [5]


def test_one_selection_from_several_arrays():
    program = """
    def batch(key, x, y, arrays):
        rows = jax.random.choice(key, x, (8,)), jax.random.choice(key, y, (8,))
        return rows, [jax.random.permutation(key, it) for it in arrays]

    def wrong(key, x):
        return jax.random.choice(key, x, (8,)), jax.random.choice(key, x, (9,))
    """
    assert [it for it in found("RK001", program) if it != 3] == [6]
    assert found("RK002", program) == []


def test_a_network_and_its_target_begin_alike():
    program = """
    def states(net, key, obs):
        return net.init(key, obs), net.init(key, obs)

    def wrong(actor, critic, key, obs):
        return actor.init(key, obs), critic.init(key, obs)
    """
    assert found("RK001", program) == [5]


def test_a_choice_between_two_draws():
    program = """
    def position(key, is_round):
        return jnp.where(is_round, jax.random.normal(key), jax.random.uniform(key))
    """
    assert found("RK001", program) == []
    assert found("RK001", program.replace("is_round, jax", "is_round, 0.0, jax")) == [2]


def test_bounds_have_a_part_in_the_shape_of_a_draw():
    program = """
    def sample(keys, low, high):
        drawn = jax.vmap(jax.random.uniform, in_axes=(0, None, None, 0, 0))(
            keys, (), jnp.float32, low[:, None], high[:, None]
        )
        return jax.vmap(jnp.exp)(drawn.squeeze(axis=-1))
    """
    assert found("VM202", program) == []


def test_a_key_that_is_passed_as_none():
    program = """
    def sample(state, key=None, query=None):
        if key is not None:
            query = jax.random.uniform(key)
        return state * query

    def batch(state, queries):
        return jax.vmap(sample, in_axes=(None, None, 0))(state, None, queries)
    """
    assert found("RK003", program) == []


def test_what_is_called_a_key_may_be_many():
    program = """
    from jaxtyping import PRNGKeyArray

    def folded(keys: PRNGKeyArray, indices):
        for index in indices:
            keys = jax.vmap(jax.random.fold_in, in_axes=(0, None))(keys, index)
        return keys
    """
    assert found("VM202", program) == []


def test_a_helper_that_selects_is_called_twice():
    program = """
    def position(key, grid):
        return jax.random.choice(key, grid)

    def reset(key, rooms):
        return position(key, rooms[0]), position(key, rooms[1])
    """
    assert found("RK001", program) == [5]


def test_the_shape_of_keys_depends_on_their_kind():
    program = """
    def steps(key):
        first, _ = jax.random.split(key)
        counts = jnp.zeros(jax.random.split(first, 3).shape[:-1])
        return jax.vmap(lambda count: count + 1)(counts)
    """
    assert found("VM202", program) == []


def test_equal_splits_of_which_each_takes_another_child():
    program = """
    def noise(key, count):
        rows = jax.random.split(jax.random.split(key)[0], count)
        columns = jax.random.split(jax.random.split(key)[1], count)
        return jax.random.normal(rows[0]), jax.random.normal(columns[0])

    def search(key, x):
        def goes_on(state):
            key, x = state
            _, ask, _ = jax.random.split(key, 3)
            return x.sum() < jax.random.uniform(ask)

        def move(state):
            key, x = state
            key, _, draw = [None] * 3 if key is None else jax.random.split(key, 3)
            return key, x + jax.random.normal(draw, x.shape)

        return lax.while_loop(goes_on, move, (key, x))
    """
    assert found("RK001", program) == []
    assert found("RK001", program.replace("split(key)[1]", "split(key)[0]")) == [3]
    assert found("RK001", program.replace("split(key)[1]", "split(key, 4)[1]")) == [3]
    assert found("RK001", program.replace("_, ask, _ =", "ask, _, _ =")) != []
