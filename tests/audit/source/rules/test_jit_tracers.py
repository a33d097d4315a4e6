"""What a tracer cannot be: a truth, a number, a size, a key, one of two structures."""

from .reading import found


def test_python_functions_that_compare():
    program = """
    @jax.jit
    def f(x, y):
        low = min(x.sum(), y.sum())
        ranks = sorted([x.mean(), y.mean()])
        if x.max() in (1.0, 2.0):
            low = -low
        return low, ranks

    @jax.jit
    def g(params, x):
        names = sorted(params)
        for name, leaf in sorted(params.items()):
            x = x + leaf
        best = max([x, x], key=lambda it: it.size)
        return best, max(x.shape), min(len(x), 3)
    """
    assert found("JT201", program) == [3, 4, 5]


def test_an_exception_of_tracing_that_is_expected():
    program = """
    def is_positive(x):
        try:
            return bool(x.sum() > 0)
        except jax.errors.TracerBoolConversionError:
            return False

    @jax.jit
    def f(x):
        try:
            if x.sum() > 0:
                x = -x
        except jax.errors.ConcretizationTypeError:
            pass
        return x if is_positive(x) else -x
    """
    assert found("JT201", program) == []
    assert found("JT202", program) == []


def test_numbers_of_python_from_tracers():
    program = """
    def scale(x, n):
        return x / int(n)

    @jax.jit
    def f(x, n, items):
        y = scale(x, n)
        z = float(x.mean())
        w = np.asarray(x)
        v = x.sum().item()
        text = f"{z} {x.max():.2f}"
        buffer = np.zeros(3)
        buffer[0] = x[0]
        return y, z, w, v, text, [jnp.sin, jnp.cos][n](x)
    """
    assert found("JT202", program) == [2, 7, 8, 9, 10, 12, 13]


def test_numbers_of_python_that_are_known():
    program = """
    @functools.partial(jax.jit, static_argnums=(1,))
    def f(x, n):
        total = int(np.prod(x.shape))
        for i in range(n):
            x = x + float(n) / total
        return x * np.float32(2.0) * np.sqrt(x.shape[-1])

    def g(x):
        return float(x.sum()), np.asarray(jax.jit(lambda y: y + 1)(x))

    def host(x):
        return np.sort(x)

    @jax.jit
    def h(x):
        return jax.pure_callback(host, x, x)
    """
    assert found("JT202", program) == []


def test_sizes_that_are_traced():
    program = """
    @jax.jit
    def f(x, n, done):
        head = x[:n]
        zeros = jnp.zeros((n, 3))
        ids = jnp.arange(n)
        (where,) = jnp.where(done > 0)
        some = x[x > 0]
        values = jnp.unique(x)
        return head, zeros, ids, where, some, values, x.reshape(n, -1)

    def body(i, x):
        return x + x[i : i + 2].sum()

    def g(x):
        return lax.fori_loop(0, 4, body, x)
    """
    assert found("JT203", program) == [3, 4, 5, 6, 7, 8, 9, 12]


def test_sizes_that_are_known():
    program = """
    MASK = np.array([True, False, True])

    @functools.partial(jax.jit, static_argnames="n")
    def f(x, i, n):
        b, t = x.shape
        a = x[:n], x[:t], jnp.zeros(b), jnp.arange(len(x)), x[MASK]
        c = jnp.where(x > 0, x, 0), jnp.nonzero(x, size=n), x[i], x.at[i].set(0.0)
        d = lax.dynamic_slice(x, (i, 0), (n, t)), lax.dynamic_slice_in_dim(x, i, n)
        return a, c, d, jnp.unique(x, size=3), jnp.where(x > 0, size=4)

    def host(x):
        return x[x > 0], jnp.nonzero(x), x[: int(x[0])]
    """
    assert found("JT203", program) == []


def test_containers_and_words_where_arrays_are_needed():
    program = """
    @jax.jit
    def f(x, mode):
        return x

    def norm(tree):
        return jnp.sqrt(jnp.sum([jnp.sum(x) for x in jax.tree.leaves(tree)]))

    def g(x):
        y = jnp.maximum((x, x), 0.0)
        return f(x, "train"), f(x, jnp.tanh), f(x, mode={"kind": "eval"}), y
    """
    assert found("JT204", program) == [6, 9, 10]


def test_functions_among_what_a_transformed_function_gives():
    program = """
    from typing import Callable
    import equinox as eqx

    class Net(eqx.Module):
        weight: jax.Array
        act: Callable

    class Affine(eqx.Module):
        weight: jax.Array
        act: Callable = eqx.field(static=True)

    def wrong(keys, size):
        return jax.vmap(lambda key: Net(jax.random.normal(key, (size,)), jax.nn.relu))(keys)

    def right(keys, size):
        ensemble = eqx.filter_vmap(lambda key: Net(jax.random.normal(key, (3,)), jax.nn.relu))(keys)
        plain = jax.vmap(lambda key: Affine(jax.random.normal(key, (3,)), jax.nn.relu))(keys)
        return ensemble, plain
    """
    assert found("JT204", program) == [13]


def test_containers_that_functions_take():
    program = """
    @functools.partial(jax.jit, static_argnums=(1,), static_argnames=("act",))
    def f(x, mode, act=jnp.tanh):
        return x

    def g(x, modes):
        stacked = jnp.stack([x, x]), jnp.concatenate([x, x]), jnp.array([1, 2])
        return f(x, "train", act=jnp.sin), f(x, modes), jnp.zeros((3, 2)), jnp.sum(x)
    """
    assert found("JT204", program) == []


def test_a_traced_key_in_a_helper():
    program = """
    TABLE = {0: "a", 1: "b"}

    def pick(mode):
        return TABLE[mode]

    @functools.partial(jax.jit, static_argnums=1)
    def inner(x, n):
        return x * n

    @jax.jit
    def f(x, mode):
        pick(mode)
        return inner(x, mode)

    @jax.jit
    def g(x, params):
        return inner(x, 3) + params["w"]
    """
    assert found("JT205", program) == [4, 13]


def test_branches_that_differ():
    program = """
    def f(x, flag):
        a = lax.cond(flag, lambda v: (v, v), lambda v: v * 2, x)
        b = lax.switch(flag, [lambda: 0, lambda: 1.0])
        c = lax.cond(flag, lambda: {"a": x}, lambda: {"a": x, "b": x})
        d = lax.cond(flag, lambda v: jnp.zeros(3), lambda v: jnp.zeros((3, 1)), x)
        return a, b, c, d

    def same(x, flag):
        a = lax.cond(flag, lambda v: (v, 0.0), lambda v: (v * 2, jnp.float32(1)), x)
        b = lax.switch(flag, [jnp.sin, jnp.cos, lambda v: v], x)
        c = lax.cond(flag, lambda v: None, lambda v: None, x)
        return a, b, c
    """
    assert found("JT206", program) == [2, 3, 4, 5]


def test_conditions_that_are_arrays():
    program = """
    def iterate(x):
        def changing(state):
            new, old = state
            return jnp.abs(new - old) > 1e-3

        return lax.while_loop(changing, lambda state: (0.5 * state[0], state[0]), (x, x + 1))

    def entry(x):
        done = x > 0
        return iterate(x), lax.cond(done, lambda x: x, lambda x: -x, x)

    def fine(x):
        def changing(state):
            return jnp.abs(state[0] - state[1]).max() > 1e-3

        return lax.while_loop(changing, lambda state: (0.5 * state[0], state[0]), (x, x + 1))

    def inputs():
        return (jnp.ones(3),)
    """
    assert found("JT206", program) == [4, 9]


def test_arrays_written_in_place():
    program = """
    @jax.jit
    def f(x: jax.Array, state):
        x[0] = 1.0
        state["count"] = 0
        y = jnp.zeros(3)
        y[1:] += 2.0
        return x, y, state

    def g(items, n):
        out = jnp.ones(n) * 2.0
        for i in range(n):
            out[i] = i
        items[0] = out
        host = np.zeros(3)
        host[0] = 1
        parts = jnp.split(out, 3)
        parts[0] += 1.0
        return out, host, parts
    """
    assert found("JT207", program) == [3, 6, 12]


def test_what_is_written_to_is_known_by_its_axes_and_methods():
    program = """
    @jax.jit
    def f(x, y, tree, pairs):
        x[:, 0] = 1.0
        y[0] = y.sum()
        tree[0] = 1.0
        pairs["a", "b"] = 2.0
        return x, y, tree, pairs
    """
    assert found("JT207", program) == [3, 4]


def test_an_element_of_what_is_traced_is_no_key():
    program = """
    @jax.jit
    def f(x, ids, table):
        out = {}
        for i in range(3):
            out[ids[i]] = x[i]
        for name in table:
            out[name] = table[name]
        return out
    """
    assert found("JT205", program) == [5]


def test_a_key_that_is_made_from_a_tracer():
    program = """
    @jax.jit
    def f(x, agent, names):
        out = {}
        out[f"agent_{agent}"] = x
        same = {f"layer_{i}": x for i in range(3)}
        message = f"agent {agent}"
        return out, {str(agent): x}, same, names[f"layer_{x.ndim}"]
    """
    assert found("JT205", program) == [4, 7]


def test_the_rank_of_a_field_that_a_tree_map_goes_to_is_no_traced_size():
    program = """
    import dataclasses

    @jax.tree_util.register_dataclass
    @dataclasses.dataclass
    class State:
        position: jax.Array
        speed: jax.Array

    def fresh(keys):
        return jax.vmap(lambda key: State(jax.random.normal(key, (2,)), jnp.zeros(())))(keys)

    @jax.jit
    def step(keys, state, done):
        def choose(one, other):
            return jnp.where(done.reshape(done.shape + (1,) * (one.ndim - 1)), one, other)

        return jax.tree.map(choose, fresh(keys), state)
    """
    assert found("JT203", program) == []


def test_a_mask_on_what_a_library_gives():
    program = """
    import optax

    @jax.jit
    def loss(logits, labels, key):
        chosen = jax.random.bernoulli(key, 0.1, labels.shape)
        each = optax.convex_kl_divergence(logits, labels)
        return each[chosen].mean()
    """
    assert found("JT203", program) == [7]


def test_what_libraries_compute_from_tracers_is_traced():
    program = """
    import distrax
    import equinox as eqx
    import optax
    from jax.flatten_util import ravel_pytree

    layer = eqx.nn.LayerNorm(3)

    @jax.jit
    def f(grads, logits, x):
        if optax.global_norm(grads) > 1.0:
            x = -x
        if distrax.Categorical(logits=logits).entropy() < 0.1:
            x = -x
        flat, unravel = ravel_pytree(grads)
        if jnp.dot(flat, flat) > 1.0:
            x = -x
        if layer(x).max() > 1.0:
            x = -x
        if functools.reduce(jnp.maximum, [x, 2 * x]).max() > 1.0:
            x = -x
        _, tangent = jax.jvp(jnp.sin, (x,), (x,))
        if tangent.sum() > 0:
            x = -x
        if jax.device_get(x).sum() > 0:
            x = -x
        return x
    """
    assert found("JT201", program) == [10, 12, 15, 17, 19, 22]
    assert found("JT202", program) == [24]


def test_what_libraries_tell_of_tracers_without_computing():
    program = """
    import distrax
    import equinox as eqx
    import optax

    @eqx.filter_jit
    def f(grads, logits, x):
        policy = distrax.Categorical(logits=logits)
        if policy.batch_shape or policy.num_categories > 3:
            x = -x
        if optax.tree_utils.tree_size(grads) > 10:
            x = -x
        schedule = optax.constant_schedule(0.1)
        if callable(schedule):
            x = -x
        return x
    """
    assert found("JT201", program) == []


def test_the_class_of_a_module_survives_its_parts():
    program = """
    import equinox as eqx

    class Net(eqx.Module):
        w: jax.Array

        def __call__(self, x):
            out = self.w @ x
            if out.sum() > 0:
                return out
            return -out

    def run(net: Net, xs):
        moving, fixed = eqx.partition(net, eqx.is_array)

        def body(moving, x):
            return moving, eqx.combine(moving, fixed)(x)

        return lax.scan(body, moving, xs)
    """
    assert found("JT201", program) == [8]


def test_a_cell_of_flax_gives_a_pair():
    program = """
    import flax.linen as nn

    @jax.jit
    def f(carry, x):
        def body(carry, x):
            return nn.GRUCell(3)(carry, x)

        return lax.scan(body, carry * 2, x + 1)
    """
    assert found("SC202", program) == []


def test_what_is_computed_with_elsewhere_is_an_array():
    program = """
    @jax.jit
    def f(x, mask, tree, batch):
        if mask:
            x = x * mask
        if tree:
            x = x + 1
        if batch["done"]:
            return x
        return x * (1 - batch["done"])

    def mean(values, weights=None):
        weights = weights or jnp.ones_like(values)
        return values * weights

    @jax.jit
    def g(x, weights):
        return mean(x + 1, weights)
    """
    assert found("JT201", program) == [3, 7, 12]


def test_bounds_of_sizes_that_are_traced():
    program = """
    @jax.jit
    def f(x, groups, n):
        fixed = jax.ops.segment_sum(x, groups, num_segments=8)
        return jax.ops.segment_sum(x, groups, num_segments=n), fixed
    """
    assert found("JT203", program) == [4]


def test_python_compares_by_keys_that_are_traced():
    program = """
    @jax.jit
    def ranked(scores, plans):
        scores = jnp.square(scores)
        pairs = list(zip(scores, plans))
        pairs.sort(key=lambda pair: pair[0])
        best = max(pairs, key=lambda pair: -pair[0])
        return sorted(zip(scores, plans), key=lambda pair: pair[0]), best

    @jax.jit
    def by_name(tree, scores):
        scores = jnp.square(scores)
        pairs = sorted(zip(("b", "a"), scores), key=lambda pair: pair[0])
        longest = max([scores, scores[1:]], key=len)
        return sorted(tree.items(), key=lambda item: item[0]), pairs, longest
    """
    assert found("JT201", program) == [5, 6, 7]


def test_shapes_of_draws_and_lengths_of_scans_that_are_traced():
    program = """
    @jax.jit
    def subsample(key, x, mask, count=None):
        n = count or jnp.sum(mask)
        picked = jax.random.choice(key, x, (n,))
        coins = jax.random.bernoulli(key, 0.5, shape=(n,))
        return lax.scan(lambda c, _: (c + 1, c), 0, None, length=n), picked, coins

    @jax.jit
    def fine(key, x, mask):
        p = mask / jnp.sum(mask)
        index = jax.random.choice(key, x.shape[0], (x.shape[0],), p=p)
        coins = jax.random.bernoulli(key, jnp.mean(p), index.shape)
        return lax.scan(lambda c, _: (c + 1, c), 0, None, length=x.shape[0]), coins
    """
    assert found("JT203", program) == [4, 5, 6]
