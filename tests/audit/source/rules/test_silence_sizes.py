"""Sizes that are numbers of the program, and functions that give more than one array."""

from .reading import found


def test_a_product_of_two_numbers_is_one_size_wherever_it_is_computed():
    program = """
    def bias(table, window, heads):
        return table.reshape(window[0] * window[1], window[0] * window[1], heads).transpose(2, 0, 1)

    def attend(x, table, mask, window, heads, dim):
        height, width, _ = x.shape
        count = (height // window[0]) * (width // window[1])
        x = x.reshape(height // window[0], window[0], width // window[1], window[1], dim)
        x = x.transpose(0, 2, 1, 3, 4).reshape(count, window[0] * window[1], dim)
        q = x.reshape(x.shape[0], x.shape[1], heads, dim // heads).transpose(0, 2, 1, 3)
        scores = q @ q.transpose(0, 1, 3, 2) + bias(table, window, heads)
        scores = scores.reshape(x.shape[0] // count, count, heads, x.shape[1], x.shape[1])
        return scores + mask
    """
    assert found("AX003", program) == []


def test_a_new_axis_that_can_only_be_one():
    program = """
    def padded(x, extra):
        batch, length, width = x.shape
        return x.reshape(extra, batch, length, width)

    def halves(x, heads):
        batch, length, width = x.shape
        return x.reshape(batch, heads, length, -1)
    """
    assert found("AX003", program) == [7]


def test_a_size_that_pmap_takes_as_it_is():
    program = """
    fixed = jax.pmap(lambda key, n: jax.random.split(key, n), static_broadcasted_argnums=1)
    mapped = jax.pmap(lambda key, n: jax.random.split(key, n))
    """
    assert found("JT203", program) == [2]


def test_branches_that_give_several_arrays():
    program = """
    def decomposed(matrix):
        return lax.cond(
            jnp.linalg.norm(matrix) > 0.0,
            lambda a: jax.scipy.linalg.eigh(a),
            lambda a: (jnp.zeros(a.shape[0]), jnp.eye(a.shape[0])),
            matrix,
        )

    def factored(matrix):
        def full(a):
            return jnp.linalg.qr(a)

        return lax.cond(jnp.all(matrix > 0), full, lambda a: (a, a), matrix)

    def inverted(matrix):
        return lax.cond(jnp.all(matrix > 0), lambda a: jnp.linalg.inv(a), lambda a: (a, a), matrix)
    """
    assert found("JT206", program) == [16]


def test_parts_of_several_arrays_are_arrays():
    program = """
    def sorted_values(matrix):
        values, vectors = jnp.linalg.eigh(matrix)
        values[0] = 0.0
        return values, vectors
    """
    assert found("JT207", program) == [3]


def test_a_choice_among_rows_is_a_row():
    program = """
    rng = np.random.default_rng(0)
    SIZES = [(128, 128, 1), (256, 128, 1), (64, 64, 8)]

    def sampled():
        return rng.choice(SIZES)[-1]

    def several():
        return rng.choice(SIZES, size=4)[:, -1]

    def wrong():
        return rng.choice(12)[-1]
    """
    assert found("AX201", program) == [11]
