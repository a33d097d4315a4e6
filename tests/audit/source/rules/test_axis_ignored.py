"""Functions that are told an axis and do not ask for it."""

from .reading import found


def test_a_helper_with_an_axis_is_called_without_it():
    program = """
    def spread(x, axis=None):
        return jnp.sqrt(jnp.var(x, axis=axis) + 1e-6)

    def standardise(x, *, axis=-1):
        return (x - x.mean(axis=-1, keepdims=True)) / spread(x)
    """
    assert found("AX016", program) == [5]
    assert found("AX016", program.replace("spread(x)", "spread(x, axis)")) == []


def test_a_total_that_is_taken_of_everything():
    program = """
    class Loss:
        def reduce(self, errors, axis, keepdims=False):
            weights = jnp.square(errors)
            return jnp.sum(weights * errors, axis=axis) / jnp.sum(weights)

        def over_all(self, errors, axis):
            return jnp.sum(errors)
    """
    assert found("AX016", program) == [4, 7]


def test_an_axis_that_is_of_no_use_on_purpose():
    program = """
    class Buffer:
        def size(self, axis):
            raise NotImplementedError

        def count(self, axis):
            del axis
            return jnp.sum(self.filled)

        def first(self, axis=0):
            return self.items[0]

        def all(self, axis, **options):
            return jnp.sum(self.items, **options)
    """
    assert found("AX016", program) == []
