"""Numbers that choose, and can go beyond what there is to choose from."""

from .reading import found


def test_an_index_goes_beyond_the_branches():
    program = """
    def first(x):
        return x

    def second(x):
        return 2 * x

    MOVES = (first, second)

    def move(key, x):
        choice = jax.random.randint(key, (), 1, len(MOVES) + 1)
        return jax.lax.switch(choice, MOVES, x)

    def alternate(step, x):
        return jax.lax.switch(step % 3, MOVES, x)

    def fine(key, step, x):
        choice = jax.random.randint(key, (), minval=0, maxval=len(MOVES))
        return jax.lax.switch(step % 2, MOVES, jax.lax.switch(choice, MOVES, x))
    """
    assert found("DF203", program) == [10, 14]


def test_a_choice_among_more_than_there_are():
    program = """
    def pick(key):
        values = jnp.arange(4.0)
        logits = jnp.zeros(5)
        wrong = values[jax.random.categorical(key, logits)]
        return wrong + values[jnp.argmax(logits[1:])] + values[-1]
    """
    assert found("DF203", program) == [4]
