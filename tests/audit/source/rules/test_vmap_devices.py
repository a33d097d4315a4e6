"""Replicas and devices: names of axes, collectives, `pmap` and `shard_map`."""

import pytest

from .reading import found

STEP = """
def loss(w, x):
    return jnp.mean((x @ w) ** 2)

@functools.partial(jax.pmap, axis_name="i", in_axes=(None, 0))
def step(w, x):
    value, grads = jax.value_and_grad(loss)(w, x)
    value = lax.pmean(value, "i")
    {0}
    return jax.tree.map(lambda p, g: p - 0.1 * g, w, grads), value
"""


def test_gradients_of_replicas_are_not_averaged():
    assert found("VM004", STEP.format("pass")) == [9]
    assert found("VM004", STEP.format("grads = lax.pmean(grads, 'i')")) == []
    by_leaf = "grads = jax.tree.map(lambda g: lax.psum(g, 'i'), grads)"
    assert found("VM004", STEP.format(by_leaf)) == []


def test_gradients_go_to_an_optimizer_without_being_averaged():
    program = """
    import optax

    optimizer = optax.adam(1e-3)

    def step(params, state, x):
        grads = jax.grad(lambda p: jnp.mean((x @ p) ** 2))(params)
        updates, state = optimizer.update(grads, state, params)
        return optax.apply_updates(params, updates), state

    train = jax.pmap(step, axis_name="devices", in_axes=(None, None, 0))
    """
    assert found("VM004", program) == [7]
    averaged = program.replace("jax.grad(", "average(jax.grad)(")
    averaged += """
    def average(grad):
        def of(f):
            return lambda p: lax.pmean(grad(f)(p), "devices")
        return of
    """
    assert found("VM004", averaged) == []


WALKERS = """
def energy(x, pull):
    return jnp.sum((x**2 - 1) ** 2) + jnp.sum(pull * x)

def move(x, rows):
    x = x - 0.1 * jax.grad(energy)(x, {0})
    return x, x - lax.pmean(x, "i"), rows

move_all = jax.vmap(move, axis_name="i")
"""


def test_walkers_that_speak_of_where_they_are_go_on_by_their_own_gradients():
    assert found("VM004", WALKERS.format(0.5)) == []
    assert found("VM004", WALKERS.format("rows")) == [5]


def test_several_models_side_by_side_are_not_averaged():
    program = """
    def step(w, x):
        return w - 0.1 * jax.grad(lambda w: jnp.mean((x @ w) ** 2))(w)

    train = jax.vmap(step)
    population = jax.pmap(step)
    """
    assert found("VM004", program) == []


def test_a_collective_over_another_name_than_that_of_the_pmap():
    program = """
    def average(tree, name):
        return jax.tree.map(lambda leaf: lax.pmean(leaf, name), tree)

    @functools.partial(jax.pmap, axis_name="devices")
    def step(x):
        return average({"x": x}, "batch"), average(x, "devices"), lax.axis_index("devices")
    """
    assert found("VM201", program) == [6]


def test_a_helper_for_callers_that_bind_the_name():
    program = """
    def average(x, axis_name="i"):
        return lax.pmean(x, axis_name)

    @jax.jit
    def step(x):
        return jax.vmap(lambda v: average(v, "devices"), axis_name="batch")(x)

    def sharded(mesh, x):
        return jax.shard_map(average, mesh=mesh, in_specs=None, out_specs=None)(x)
    """
    assert found("VM201", program) == []


@pytest.mark.parametrize(("outer", "lines"), [("i", []), ("k", [4])])
def test_a_map_in_a_map_sees_the_names_of_both(outer: str, lines: list[int]):
    program = f"""
    @functools.partial(jax.pmap, axis_name="{outer}")
    @functools.partial(jax.pmap, axis_name="j")
    def step(x):
        return lax.psum(x, "i") + lax.psum(x, "j")

    def main(x):
        return step(x)
    """
    assert found("VM201", program) == lines


@pytest.mark.parametrize(("name", "lines"), [("devices", []), ("batch", [3])])
def test_a_lane_asks_for_its_number_on_an_axis_around_it(name: str, lines: list[int]):
    program = f"""
    @functools.partial(jax.pmap, axis_name="devices")
    def step(x):
        return x + lax.axis_index("{name}")

    def main(x):
        return step(x)
    """
    assert found("VM201", program) == lines


def test_a_batch_is_spread_over_the_devices():
    program = """
    loss = jax.pmap(lambda w, x: (x @ w).mean(), in_axes=(None, 0))

    def shard(x):
        n = jax.local_device_count()
        return x.reshape(n, -1, *x.shape[1:])

    w = jnp.ones(3)
    wrong = loss(w, jnp.ones((jax.local_device_count() * 4, 3)))
    right = loss(w, shard(jnp.ones((16, 3))))
    """
    assert found("VM203", program) == [8]


def test_the_axes_of_a_mesh_are_what_a_shard_map_binds():
    program = """
    from jax.sharding import Mesh, PartitionSpec as P

    mesh = Mesh(np.array(jax.devices()), ("data",))

    @functools.partial(jax.shard_map, mesh=mesh, in_specs=P("data"), out_specs=P())
    def total(x):
        return lax.psum(x.sum(), "batch") + lax.psum(x.sum(), "data")
    """
    assert found("VM201", program) == [7]


def test_a_shard_map_has_a_spec_for_each_argument():
    program = """
    import functools
    from jax.experimental.shard_map import shard_map
    from jax.sharding import PartitionSpec as P

    def build(mesh, rest):
        @functools.partial(shard_map, mesh=mesh, in_specs=(P(), P("data")), out_specs=P())
        def loss(params, x, y):
            return jax.lax.pmean(jnp.mean((x @ params - y) ** 2), "data")

        def scaled(x, scale=1.0):
            return scale * x

        one = jax.shard_map(scaled, mesh=mesh, in_specs=(P("data"),), out_specs=P("data"))
        two = jax.shard_map(scaled, mesh=mesh, in_specs=(P("data"), P()), out_specs=P("data"))
        all_of_them = jax.shard_map(loss, mesh=mesh, in_specs=P(), out_specs=P())
        more = jax.shard_map(loss, mesh=mesh, in_specs=(P(), *rest), out_specs=P())
        return loss, one, two, all_of_them, more
    """
    assert found("VM202", program) == [6]
    assert found("VM202", program.replace('P("data")), out', 'P("data"), P()), out')) == []


SUMMED = {
    "in a pmap, with a learning rate that is handed in": (
        """
        def loss(w, x, y):
            return -0.5 * jnp.mean((x @ w - y) ** 2)

        def sync(tree):
            return jax.lax.psum(tree, "devices")

        @functools.partial(jax.pmap, axis_name="devices", in_axes=(None, 0, 0, None))
        def step(w, x, y, rate):
            grads = sync(jax.grad(loss)(w, x, y))
            return jax.tree.map(lambda p, g: p - rate * g, w, grads)
        """,
        [5],
    ),
    "a sum that each replica takes": (
        """
        def loss(w, x):
            return jnp.sum((x @ w) ** 2)

        @functools.partial(jax.pmap, axis_name="devices", in_axes=(None, 0))
        def step(w, x):
            grads = jax.lax.psum(jax.grad(loss)(w, x), "devices")
            return w - 0.1 * grads
        """,
        [],
    ),
    "a sum that is divided in another function": (
        """
        def loss(w, x):
            return jnp.mean((x @ w) ** 2)

        def total(grads):
            return jax.lax.psum(grads, "devices")

        def average(grads):
            count = jax.lax.psum(1, "devices")
            return jax.tree.map(lambda g: g * (1 / count), total(grads))

        @functools.partial(jax.pmap, axis_name="devices", in_axes=(None, 0))
        def step(w, x):
            return w - 0.1 * average(jax.grad(loss)(w, x))
        """,
        [],
    ),
}


@pytest.mark.parametrize("case", SUMMED)
def test_gradients_of_means_that_are_summed(case: str):
    program, lines = SUMMED[case]
    assert found("VM007", program) == lines


SHARDED = """
    from jax.sharding import Mesh, PartitionSpec as P
    try:
        from jax import shard_map
    except ImportError:
        from jax.experimental.shard_map import shard_map

    class Trainer:
        def __init__(self, devices, axis="data"):
            self.mesh = Mesh(devices, (axis,))
            self.axis = axis

        def loss(self, w, x):
            return jnp.mean((x @ w) ** 2)

        def local(self, w, x):
            loss, grads = jax.value_and_grad(self.loss)(w, x)
            loss = jax.lax.pmean(loss, self.axis)
            return w - 0.1 * grads, loss

        def step(self, w, x):
            specs = (P(), P(self.axis))
            return shard_map(
                self.local, mesh=self.mesh, in_specs=specs, out_specs=P(), check_vma=False
            )(w, x)

    def main(devices):
        return Trainer(devices).step(jnp.ones(3), jnp.ones((8, 3)))
"""


def test_devices_update_their_copies_apart():
    assert found("VM004", SHARDED) == [18]
    own, united = "loss = jax.lax.pmean(loss,", "loss, grads = jax.lax.pmean((loss, grads),"
    mended = SHARDED.replace(own, united)
    assert found("VM004", mended) == []
    # JAX sums the gradient of what all devices share, if it may watch over that.
    assert found("VM004", SHARDED.replace(", check_vma=False", "")) == []


def test_each_device_returns_its_own_as_that_of_all():
    program = """
    from functools import partial
    from jax.sharding import PartitionSpec as P

    mesh = jax.make_mesh((4,), ("rows",))

    @partial(jax.shard_map, mesh=mesh, in_specs=(P(), P("rows")), out_specs=P())
    def error(w, x):
        return jnp.abs(x @ w).max()

    @partial(jax.shard_map, mesh=mesh, in_specs=(P(), P("rows")), out_specs=(P(), P("rows")))
    def fine(w, x):
        y = x @ w
        return jax.lax.pmax(y.max(), "rows") * w.sum(), y

    error(jnp.ones(3), jnp.ones((8, 3)))
    fine(jnp.ones(3), jnp.ones((8, 3)))
    """
    assert found("VM202", program) == [6]


def test_specs_of_two_axes_of_devices_are_not_judged():
    program = """
    from jax.sharding import PartitionSpec as P

    def norm(x):
        return jax.lax.psum(jnp.sum(x**2), ("rows", "columns"))

    def total(mesh, x):
        specs = P("rows", "columns")
        return jax.shard_map(norm, mesh=mesh, in_specs=specs, out_specs=P())(x)
    """
    assert found("VM202", program) == []


def test_an_axis_for_the_devices_that_is_not_the_first():
    program = """
    count = jax.local_device_count()
    total = jax.pmap(lambda x: x.sum())

    def run(x):
        rows, columns = x.shape
        folded = x.reshape(rows // count, count, columns)
        return total(folded)
    """
    assert found("VM203", program) == [7]
    assert found("VM203", program.replace("rows // count, count", "count, rows // count")) == []


def test_a_batch_goes_to_the_devices_past_what_would_divide_it():
    program = """
    def fold(x):
        count = jax.local_device_count()
        return x.reshape(count, -1, *x.shape[1:])

    total = jax.pmap(lambda x, y: (x * y).sum())
    rows = jnp.ones((32, 3))
    out = total(fold(rows), rows)
    """
    assert found("VM203", program) == [7]
    assert found("VM203", program.replace(", rows)", ", fold(rows))")) == []
    # Who has asked for so many devices, or made sure of them, may write the number down.
    asked = "import os\n    os.environ['XLA_FLAGS'] = '--xla_force_host_platform_device_count=32'"
    assert found("VM203", program.replace("def fold", f"{asked}\n    def fold")) == []
    sure = "assert jax.local_device_count() == 32"
    assert found("VM203", program.replace("def fold", f"{sure}\n    def fold")) == []


def test_one_name_for_several_collectives_is_mended_where_it_is_given():
    program = """
    def centred(x, axis="batch"):
        mean = lax.pmean(x, axis)
        return (x - mean) / jnp.sqrt(lax.pmean((x - mean) ** 2, axis) + 1e-5)

    def layer(w, x):
        y = x @ w
        return centred(y)

    def entry(w, x):
        return jax.vmap(layer, in_axes=(None, 0), axis_name="row")(w, x)

    def inputs():
        return jnp.ones((3, 3)), jnp.ones((5, 3))
    """
    assert found("VM201", program) == [1]
    # A caller whose map has the name is served well by the default: it is the other's call.
    other = program.replace(
        "def inputs",
        "def other(x): return jax.vmap(centred, axis_name='batch')(x)\n\n    def inputs",
    )
    served = other.replace("(3, 3)), jnp", "(3, 3)), other(jnp").replace("(5, 3))", "(5, 3)))")
    assert found("VM201", served) == [7]


def test_a_helper_applies_what_each_replica_has_for_itself():
    program = """
    def descend(w, grad, rate):
        scaled = rate * grad


        return w - scaled

    def step(w, x):
        grad = jax.grad(lambda w: jnp.mean((x @ w) ** 2))(w)
        return descend(w, grad, 0.1)

    train = jax.pmap(step, axis_name="i", in_axes=(None, 0))

    def run(w, x):
        return train(w, x)
    """
    assert found("VM004", program) == [9]


def test_gradients_are_taken_and_applied_by_two_helpers():
    program = """
    def descend(w, grad):
        scaled = 0.1 * grad


        return w - scaled

    def gradient(w, xs):
        def add(total, x):
            return total + jax.grad(lambda w: jnp.mean((x @ w) ** 2))(w), None


        return lax.scan(add, jnp.zeros_like(w), xs)[0]

    def step(w, xs):
        grad = gradient(w, xs)
        return descend(w, grad)

    train = jax.pmap(step, axis_name="i", in_axes=(None, 0))

    def run(w, xs):
        return train(w, xs)
    """
    assert found("VM004", program) == [16]
    united = program.replace("grad = gradient(w, xs)", 'grad = lax.pmean(gradient(w, xs), "i")')
    assert found("VM004", united) == []


_LEARNER = """
class Learner(NamedTuple):
    weights: jax.Array
    mean: jax.Array


def observe(mean, x):
    now = x.mean(axis=0)
    return 0.9 * mean + 0.1 * now


def learn(learner, x):
    grads = jax.grad(lambda w: jnp.mean((x @ w) ** 2))(learner.weights)
    grads = lax.pmean(grads, "i")
    return Learner(learner.weights - 0.1 * grads, observe(learner.mean, x))


def entry(learner, x):
    return jax.pmap(learn, axis_name="i", in_axes=(None, 0))(learner, x)


def inputs():
    return Learner(jnp.ones(3), jnp.zeros(3)), jnp.ones((jax.local_device_count(), 4, 3))
"""


def test_statistics_of_a_shared_record_that_each_replica_keeps_for_itself():
    assert found("VM004", _LEARNER) == [8]
    united = _LEARNER.replace("now = x.mean(axis=0)", "now = lax.pmean(x.mean(axis=0), 'i')")
    assert found("VM004", united) == []
    # What each gets for itself may differ.
    assert found("VM004", _LEARNER.replace("in_axes=(None, 0)", "in_axes=0")) == []
    # Where nothing is united, each has a learner of its own.
    alone = _LEARNER.replace('    grads = lax.pmean(grads, "i")\n', "").replace(
        'axis_name="i", ', ""
    )
    assert 8 not in found("VM004", alone)


def test_a_map_without_a_name_around_collectives():
    program = """
    def centred(x):
        total = lax.psum(x, "rows")
        return x - total

    def entry(x):
        each = jax.vmap(centred)

        return each(x)

    def inputs():
        return (jnp.ones((5, 3)),)
    """
    assert found("VM201", program) == [6]
    assert found("VM201", program.replace("(centred)", "(centred, axis_name='rows')")) == []
    # Two maps, of which one has a name: who goes over another one is wrong.
    nested = program.replace("jax.vmap(centred)", "jax.vmap(jax.vmap(centred), axis_name='other')")
    nested = nested.replace("(5, 3)", "(5, 3, 2)")
    assert found("VM201", nested) == [2]


NAMED = """
class Norm:
    def __init__(self, scale, axis={0}):
        self.scale = scale
        self.axis = axis

    def __call__(self, x):
        mean = lax.pmean(x, self.axis)
        spread = lax.pmean((x - mean) ** 2, self.axis)
        return self.scale * (x - mean) / jnp.sqrt(spread + 1e-5)

def apply(x):
    norm = Norm(2.0{1})
    return jax.vmap(norm, axis_name="batch")(x)

out = apply(jnp.ones((4, 3)))
"""


def test_the_call_that_gives_an_object_the_name_of_an_axis():
    assert found("VM201", NAMED.format("'batch'", ", axis='rows'")) == [12]
    assert found("VM201", NAMED.format("'batch'", "")) == []
    # A default that no call overrides names it for all of them.
    assert found("VM201", NAMED.format("'rows'", "")) == [2]


@pytest.mark.parametrize(
    ("over", "outer", "lines"),
    [
        ('"batch"', 'axis_name="device"', [4, 5]),
        ('"batch"', "", []),
        ('("batch", "device")', 'axis_name="device"', []),
    ],
)
def test_a_collective_stops_at_the_inner_of_two_named_maps(over: str, outer: str, lines: list[int]):
    program = f"""
    class Norm:
        def __call__(self, x):
            mean = jax.lax.pmean(x, {over})
            return mean, jax.lax.pmean((x - mean) ** 2, {over})

    def entry(x):
        inner = jax.vmap(Norm(), axis_name="batch")
        return jax.vmap(inner, {outer})(x)
    """
    assert found("VM008", program) == [it - 1 for it in lines]
    # Somebody else may go over it, by its name.
    assert found("VM008", program + "\n    NAMES = ['device']\n") == []


@pytest.mark.parametrize(
    ("copied", "given", "lines"),
    [
        ("replicate(params)", "state", [17]),
        ("jax.device_put_replicated(params, jax.local_devices())", "state", [17]),
        (
            "jax.tree.map(lambda p: jnp.stack([p] * jax.local_device_count()), params)",
            "state",
            [17],
        ),
        ("replicate(params)", "replicate(state)", []),
        ("replicate(params)", "jax.pmap(OPTIMISER.init)(copies)", []),
    ],
)
def test_the_state_of_an_optimiser_is_copied_for_each_device(
    copied: str, given: str, lines: list[int]
):
    program = f"""
    import optax

    OPTIMISER = optax.adam(0.1)

    def replicate(tree):
        n = jax.local_device_count()
        return jax.tree.map(lambda v: jnp.broadcast_to(v, (n, *jnp.shape(v))), tree)

    @jax.pmap
    def step(params, state, grads):
        updates, state = OPTIMISER.update(grads, state)
        return optax.apply_updates(params, updates), state

    def main(params, grads):
        state = OPTIMISER.init(params)
        copies = {copied}
        return step(copies, {given}, grads)
    """
    assert found("VM203", program) == lines


def test_what_a_function_leaves_beside_what_it_unites_is_told_there():
    program = """
    class Book(NamedTuple):
        counts: jax.Array
        totals: jax.Array

    def united(counts, totals):
        return lax.psum(counts, "shard"), totals

    def renewed(book, counts, totals):
        return Book(0.9 * book.counts + counts, 0.9 * book.totals + totals)

    @functools.partial(jax.pmap, axis_name="shard", in_axes=(None, 0))
    def update(book, x):
        counts, totals = united((x > 0.5).sum(axis=0), x.sum(axis=0))
        return renewed(book, counts, totals)

    update(Book(jnp.ones(3), jnp.zeros(3)), jnp.ones((1, 5, 3)))
    """
    assert found("VM004", program) == [6]
    assert found("VM004", program.replace(", totals\n", ', lax.psum(totals, "shard")\n')) == []
