"""Objects that are taken apart and put together by their class's own functions."""

from .claims import check_found, check_silent, each_of

CHANGED = {
    "all that an object holds, by name, and names that nobody reads": """
    @jax.tree_util.register_pytree_node_class
    class Spring:
        def __init__(self, rest, length):
            self.rest = rest
            self.length = length

        def tree_flatten(self):
            names = sorted(vars(self))
            return [getattr(self, name) for name in names], names

        @classmethod
        def tree_unflatten(cls, names, children):
            return cls(*children)  # PT101
    """,
    "a field is made up": """
    class Queue:
        def __init__(self, slots, head, wrapped):
            self.slots, self.head, self.wrapped = slots, head, wrapped

    def apart(queue):
        return (queue.slots, queue.head), None

    def together(_, children):
        return Queue(*children, wrapped=jnp.zeros((), bool))  # PT101

    jax.tree_util.register_pytree_node(Queue, apart, together)
    """,
    "a field is left at its default": """
    class Queue:
        def __init__(self, slots, wrapped=False):
            self.slots = slots
            self.wrapped = wrapped

    jax.tree_util.register_pytree_node(
        Queue,
        lambda queue: ((queue.slots,), None),  # PT101
        lambda _, children: Queue(*children),
    )
    """,
    "the constructor computes again": """
    @jax.tree_util.register_pytree_node_class
    class Noise:
        def __init__(self, scale):
            self.precision = 1.0 / jnp.asarray(scale)

        def tree_flatten(self):
            return (self.precision,), None

        @classmethod
        def tree_unflatten(cls, aux, children):
            (scale,) = children  # PT101
            return cls(scale)
    """,
    "the constructor computes again, in several steps": """
    @jax.tree_util.register_pytree_node_class
    class Belief:
        def __init__(self, mean, std):
            self.mean = mean
            self.precision = 1.0 / jnp.square(std)

        def tree_flatten(self):
            return (self.mean, self.precision), None

        @classmethod
        def tree_unflatten(cls, aux, children):
            return cls(*children)  # PT101
    """,
    "only one way is undone": """
    @jax.tree_util.register_pytree_node_class
    class Rate:
        def __init__(self, value):
            self.value = value

        def tree_flatten(self):
            return (jnp.log(self.value),), None

        @classmethod
        def tree_unflatten(cls, aux, children):
            return cls(children[0])  # PT101
    """,
    "static data with keys": """
    @jax.tree_util.register_pytree_with_keys_class
    class Limits:
        def __init__(self, table, low, high):
            self.table, self.low, self.high = table, low, high

        def tree_flatten_with_keys(self):
            return ((jax.tree_util.GetAttrKey("table"), self.table),), (self.low, self.high)

        @classmethod
        def tree_unflatten(cls, aux, children):
            return cls(*children, high=aux[0], low=aux[1])  # PT101
    """,
    "children with keys, by functions": """
    class Pair:
        def __init__(self, left, right):
            self.left, self.right = left, right

    jax.tree_util.register_pytree_with_keys(
        Pair,
        flatten_with_keys=lambda p: ((("left", p.left), ("right", p.right)), None),
        unflatten_func=lambda _, children: Pair(children[1], children[0]),  # PT101
    )
    """,
}

KEPT = {
    "all that an object holds, by name": """
    @jax.tree_util.register_pytree_node_class
    class Spring:
        def __init__(self, rest, length):
            self.rest = rest
            self.length = length

        def tree_flatten(self):
            names = sorted(vars(self))
            return [getattr(self, name) for name in names], names

        @classmethod
        def tree_unflatten(cls, names, children):
            return cls(**dict(zip(names, children)))
    """,
    "all that an object holds, as it was set": """
    @jax.tree_util.register_pytree_node_class
    class Spring:
        def __init__(self, rest, length):
            self.rest = rest
            self.length = length

        def tree_flatten(self):
            return tuple(self.__dict__.values()), None

        @classmethod
        def tree_unflatten(cls, names, children):
            return cls(*children)
    """,
    "computed both ways": """
    @jax.tree_util.register_pytree_node_class
    class Rate:
        def __init__(self, value):
            self.log_value = jnp.log(value)

        def tree_flatten(self):
            return (self.log_value,), None

        @classmethod
        def tree_unflatten(cls, aux, children):
            return cls(jnp.exp(children[0]))
    """,
    "bounded in several steps, which is the same twice": """
    @jax.tree_util.register_pytree_node_class
    class Bounded:
        def __init__(self, value):
            self.value = jnp.minimum(jnp.maximum(value, 0.1), 0.9)

        def tree_flatten(self):
            return (self.value,), None

        @classmethod
        def tree_unflatten(cls, aux, children):
            return cls(*children)
    """,
    "normalised, which is the same twice": """
    @jax.tree_util.register_pytree_node_class
    class Weights:
        def __init__(self, value, floor):
            value = jnp.maximum(jnp.asarray(value), 0.0)
            self.value = value / value.sum()
            self.floor = floor

        def tree_flatten(self):
            return (self.value,), self.floor

        @classmethod
        def tree_unflatten(cls, floor, children):
            return cls(*children, floor)
    """,
    "made of the other fields": """
    @jax.tree_util.register_pytree_node_class
    class Ball:
        def __init__(self, radius, area=None):
            self.radius = radius
            self.area = radius**2 if area is None else area

        def tree_flatten(self):
            return (self.radius,), None

        @classmethod
        def tree_unflatten(cls, aux, children):
            return cls(children[0], jnp.square(children[0]))
    """,
    "with keys, in order": """
    class Pair:
        def __init__(self, left, right):
            self.left, self.right = left, right

    jax.tree_util.register_pytree_with_keys(
        Pair,
        lambda p: ((("left", p.left), ("right", p.right)), None),
        lambda _, children: Pair(*children),
        flatten_func=lambda p: ((p.left, p.right), None),
    )
    """,
}


@each_of(CHANGED)
def test_an_object_comes_back_as_another_one(program: str):
    check_found(program, "pytree")


@each_of(KEPT)
def test_an_object_comes_back_as_it_was(program: str):
    check_silent(program, "pytree")
