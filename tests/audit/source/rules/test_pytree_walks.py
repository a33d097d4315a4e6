"""Trees that are walked, turned inside out, listed and put together again."""

import pytest

from .reading import found


def test_what_a_map_is_told_to_take_for_a_leaf():
    program = """
    from typing import NamedTuple

    class Weights(NamedTuple):
        w: jax.Array
        b: jax.Array

    def both(p, g):
        return p - g, g

    def update(w, b, grads):
        pairs = jax.tree.map(both, Weights(w, b), grads)
        firsts = jax.tree.map(
            lambda it: it[0],
            pairs,
            is_leaf=lambda it: isinstance(it, tuple) and not isinstance(it, Weights),
        )
        seconds = jax.tree.map(lambda it: it[1], pairs, is_leaf=TAKEN)
        return jax.tree.map(lambda p: 2.0 * p, firsts), jax.tree.map(lambda p: 2.0 * p, seconds)

    def main(grads):
        return update(jnp.ones((4, 4)), jnp.ones((4, 4)), Weights(grads, grads))
    """
    assert found("JT204", program.replace("TAKEN", "lambda it: type(it) is tuple")) == []
    assert found("JT204", program.replace("TAKEN", "leaf_of(grads)")) == []
    assert found("JT204", program.replace("TAKEN", "lambda it: isinstance(it, Weights)")) == []


def test_an_object_is_asked_for_its_class():
    program = """
    class Base:
        scale = 1.0

    class Derived(Base):
        scale = 2.0

    class Other:
        scale = "none"

    @jax.jit
    def ask(x, base: Base):
        if isinstance(Derived(), Base) and not isinstance(Derived(), Other):
            return x
        if x > 0:
            return -x
        return x

    @jax.jit
    def wonder(x, base: Base):
        if isinstance(base, Derived):
            if x > 0:
                return -x
        return x
    """
    assert found("JT201", program) == [21]


def test_leaves_that_are_listed_by_hand_for_a_structure():
    program = """
    def match(data):
        params = {"mean": jnp.zeros(3), "log_scale": jnp.zeros(3)}
        structure = jax.tree.structure(params)
        new_mean = params["mean"] + data.mean(0)
        log_scale = params["log_scale"] + jnp.log(jnp.std(data - new_mean, axis=0))
        first, second = log_scale, new_mean
        sorted_scale = log_scale
        right = jax.tree.unflatten(structure, [log_scale, new_mean])
        named = jax.tree.unflatten(structure, [first, second])
        partly = jax.tree.unflatten(structure, [new_mean, sorted_scale])
        wrong = jax.tree.unflatten(structure, [new_mean, log_scale])
        return right, named, partly, wrong
    """
    assert found("PT102", program) == [11]


def test_a_tree_of_pairs_becomes_a_pair_of_trees():
    program = """
    def both(w, v):
        return w * v.sum(), v + 1

    @jax.jit
    def step(weights, vectors):
        results = jax.tree.map(both, weights, vectors)
        inner = jax.tree.structure((0, 0))
        weights, vectors = jax.tree.transpose(jax.tree.structure(weights), INNER, results)
        again = jax.tree.map(both, weights, vectors)
        return again, jax.tree.map(both, weights, WHICH)

    def main():
        return step([jnp.ones(3), jnp.ones(3)], [jnp.ones(3), jnp.ones(3)])
    """
    for inner in ("inner", "None"):
        right = program.replace("INNER", inner)
        assert found("PT203", right.replace("WHICH", "vectors")) == []
        assert found("PT203", right.replace("WHICH", "vectors[0]")) == [10]
        # Of a tree that nobody knows, a pair of trees looks like a pair.
        assert found("PT103", right.partition("def main")[0]) == []


def test_a_map_is_unpacked_by_the_names_of_its_function_s_results():
    program = """
    def drawn(mean, noise):
        sample = mean + noise
        cost = mean**2
        return sample, cost

    def wrong(posterior, noise):
        weights, costs = jax.tree.map(drawn, posterior["mean"], noise)
        return weights, costs

    def right(posterior, noise):
        kernel, bias = jax.tree.map(drawn, posterior["mean"], noise)
        pairs = jax.tree.map(drawn, posterior["mean"], noise)
        samples, costs = ([it[i] for it in pairs] for i in (0, 1))
        return kernel, bias, samples, costs
    """
    assert found("PT103", program) == [7]


def test_objects_that_branches_give():
    program = """
    from typing import NamedTuple

    class Step:
        def __init__(self, x):
            self.x = x

    class Known(NamedTuple):
        x: jax.Array

    def chosen(gain, x):
        known = lax.cond(gain > 0, lambda: Known(x), lambda: Known(-x))
        step = lax.cond(gain > 0, lambda: Step(x), lambda: Step(-x))
        inner = lax.switch(0, [lambda: Step(x).x, lambda: Step(-x).x])
        return known, step, inner
    """
    assert set(found("PT201", program)) == {12}


def test_leaves_that_are_changed_one_by_one_meet_the_keys_of_their_dict():
    program = """
    def lars(params, grads):
        pairs = zip(jax.tree.leaves(params), jax.tree.leaves(grads))
        updated = [p - 0.1 * jnp.linalg.norm(p) * g for p, g in pairs]
        mixed = [p + jax.tree.leaves(params)[0] for p in jax.tree.leaves(params)]
        right = dict(zip(sorted(params), updated)), dict(zip(params, mixed))
        return dict(zip(params.keys(), updated)), right

    def entry(w, x):
        params = {"query": w, "key": w + 1.0}
        grads = jax.grad(lambda p: (x @ p["query"] @ p["key"]).sum())(params)
        return lars(params, grads)

    def inputs():
        return jnp.ones((3, 3)), jnp.ones((2, 3))
    """
    assert found("PT102", program) == [6]


def test_objects_that_a_map_has_to_stack():
    program = """
    import dataclasses

    @dataclasses.dataclass
    class Hit:
        depth: jax.Array

    def trace(origin):
        return Hit(2.0 * origin)

    def depth(origin):
        return Hit(2.0 * origin).depth

    def entry(origins):
        return jax.vmap(trace)(origins).depth, jax.vmap(depth)(origins)
    """
    assert set(found("PT201", program)) == {8}


def test_arrays_that_a_reduction_does_not_see():
    program = """
    import dataclasses

    @dataclasses.dataclass
    class Moments:
        first: jax.Array

    def finite(total, leaf):
        return total & (jnp.all(jnp.isfinite(leaf)) if isinstance(leaf, jax.Array) else True)

    def known(total, leaf):
        return total + (leaf.first.sum() if isinstance(leaf, Moments) else leaf.sum())

    def entry(x, count):
        state = {"moments": Moments(jnp.ones(3)), "count": count}
        start = jnp.bool_(True)
        return jax.tree.reduce(finite, state, start), jax.tree.reduce(known, state, 0.0)
    """
    assert found("PT104", program) == [16]


def test_an_output_is_taken_without_the_state_that_comes_with_it():
    program = """
    import flax.linen as nn

    def train(model, variables, x):
        return model.apply(variables, x, train=True, mutable=["batch_stats"])[0]

    def noted(model, variables, x):
        return model.apply(variables, x, train=True, mutable=["intermediates"])[0]

    def kept(model, variables, x):
        both = model.apply(variables, x, train=True, mutable=["batch_stats"])
        return both[0], both[1]

    def evaluate(model, variables, x):
        return model.apply(variables, x, train=False, mutable=["batch_stats"])[0]
    """
    assert found("PT105", program) == [4]


def test_pairs_at_leaves_of_a_tree_that_nobody_knows():
    program = """
    def is_pair(it):
        return isinstance(it, tuple) and len(it) == 2

    def leaf(grad, second):
        second = 0.9 * second + 0.1 * grad**2
        return -grad / jnp.sqrt(second), second

    def update(grads, seconds):
        both = jax.tree.map(leaf, grads, seconds)
        steps = jax.tree.map(lambda pair: pair[0], both, is_leaf=is_pair)
        seconds = jax.tree.map(lambda pair: pair[1], both, is_leaf=is_pair)
        return steps, seconds

    @jax.jit
    def step(grads, seconds):
        steps, seconds = update(grads, seconds)
        return steps, seconds

    @jax.jit
    def wrong(grads, seconds):
        steps, seconds = jax.tree.map(leaf, grads, seconds)
        return steps, seconds
    """
    assert found("PT103", program) == [21]


def test_a_map_over_a_named_tuple_is_unpacked_by_other_names_than_its_fields():
    program = """
    class Weights(NamedTuple):
        slope: jax.Array
        bias: jax.Array

    def drawn(mean, noise):
        return mean + noise, -0.5 * noise**2

    def wrong(noise):
        samples, densities = jax.tree.map(drawn, Weights(jnp.ones(3), jnp.zeros(3)), noise)
        return samples, densities

    def right(noise):
        slopes, new_bias = jax.tree.map(drawn, Weights(jnp.ones(3), jnp.zeros(3)), noise)
        s, b = jax.tree.map(drawn, Weights(jnp.ones(3), jnp.zeros(3)), noise)
        return slopes, new_bias, s, b
    """
    assert found("PT103", program) == [9]


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("up, down = jax.tree.map(shifted, params)\n    return loss(up) - loss(down)", 5),
        ("up, down = jax.tree.map(partial(moved, 0.1), params)\n    return loss(up, down)", 5),
        ("both = moved_all(params)\n    up, down = both\n    return loss(up, down)", 6),
        ("tree = dict(w=jnp.ones(2), b=jnp.eye(3))\n    a, b = jax.tree.map(shifted, tree)", 6),
        ("a, b = jax.tree.map(shifted, params)\n    return loss(a[0] + b[1])", None),
        ("kernel, bias = jax.tree.map(shifted, params)\n    return kernel, bias", None),
        ("w, b = params\n    at_w, at_b = jax.tree.map(shifted, params)\n    return at_w", None),
        ("low, high = jax.tree.map(shifted, jnp.ones(3))\n    return low, high", None),
        ("a, b = jax.tree.map(lambda it: 2 * it, params)\n    return a, b", None),
    ],
)
def test_names_for_trees_that_nobody_takes_apart(body: str, line: int | None):
    program = f"""
shifted = lambda it: (it + 0.1, it - 0.1)
moved = lambda size, it: (it + size, it - size)
moved_all = lambda tree: jax.tree.map(shifted, tree)
def spread(params, loss):
    {body}
"""
    assert found("PT103", program) == ([] if line is None else [line])


def test_what_a_map_makes_of_one_array_is_what_its_function_returns():
    program = """
    def moments(x):
        mean = x.mean(0)
        var = x.var(0)
        return mean, var

    def normalised(x):
        mean, var = jax.tree.map(moments, x)
        return (x - mean) / jnp.sqrt(var + 1e-5)

    def scaled(x):
        mean, var = jax.tree.map(moments, x)
        return mean, -var

    def of_each(leaf):
        mean, var = jax.tree.map(moments, leaf)
        return mean, var

    def of_all(params):
        mean, var = jax.tree.map(moments, params)
        return mean, var

    def run(params, x):
        return [of_each(it) for it in (jnp.ones(3), x * 2)], of_all({"w": x, "b": x})
    """
    assert found("PT103", program) == [19]


def test_trees_that_are_handed_on_where_they_are_returned_to():
    program = """
    def spread(params, size):
        up, down = jax.tree.map(lambda it: (it + size, it - size), params)
        return up, down

    def slope(loss, params):
        plus, minus = spread(params, 0.1)
        return (loss(plus) - loss(minus)) / 0.2
    """
    assert found("PT103", program) == [2]
    assert found("PT103", program.replace("loss(plus)", "plus[0]")) == []


@pytest.mark.parametrize(
    ("mapped", "lines"),
    [
        ("lambda s: (s[0] - s[1]).sum(), stats", [6]),
        ("gap, stats", [6]),
        ("lambda s: s[0], stats", [6]),
        ("lambda s: (s[0] - s[1]).sum(), {'a': (x, y), 'b': (y, x)}", [6]),
        ("lambda s: s[0], {'a': (x, y), 'b': (y, x)}", []),
        ("lambda s: (s[0] - s[1]).sum(), {'a': (jnp.ones((2, 3)), jnp.ones((2, 3)))}", []),
        ("lambda s: (s[0] - s[1]).sum() + s.mean(), stats", []),
        ("lambda s: (s[0] - s[1]).sum(), stats, is_leaf=lambda it: isinstance(it, tuple)", []),
        ("lambda p, s: p - s[0] + s[1], params, stats", []),
    ],
)
def test_tuples_in_a_tree_are_taken_for_leaves(mapped: str, lines: list[int]):
    program = f"""
    def gap(pair):
        return jnp.abs(pair[0] - pair[1])

    def entry(params, x, y):
        stats = jax.tree.map(lambda p: (p.mean(), p.std()), params)
        return jax.tree.map({mapped})

    def inputs():
        return {{"a": jnp.ones(3), "b": jnp.ones(4)}}, jnp.ones(3), jnp.ones(3)
    """
    assert found("PT103", program) == lines


def test_lists_of_any_length_hold_arrays_and_gradients_alike():
    program = """
    import equinox as eqx

    class Net(eqx.Module):
        layers: list
        bias: jax.Array

    def loss(net, x):
        for layer in net.layers:
            x = x @ layer
        return (x + net.bias).sum()

    def entry(weights, x):
        net = Net([it for it in weights], x[0])
        grads = eqx.filter_grad(loss)(net, x)
        return jax.tree.map(lambda p, g: p - 0.1 * g, net, grads)
    """
    assert found("PT203", program) == []


STEPPED = """
    from typing import NamedTuple

    class Layer(NamedTuple):
        w: jax.Array
        b: jax.Array

    def descend(params, grads):
        both = jax.tree.map(lambda p, g: (p - g, g), params, grads)
        params = jax.tree.map(lambda it: it[0], both, is_leaf=lambda it: isinstance(it, tuple))
        steps = jax.tree.map(lambda it: it[1], both, is_leaf=lambda it: isinstance(it, tuple))
        return params, steps

    def main(x):
        params = {"first": Layer(x, x), "second": Layer(x, x)}
        return descend(params, params)

    main(jnp.ones(3))
"""


def test_a_question_for_tuples_stops_at_those_of_the_model():
    assert found("PT103", STEPPED) == [9, 10]
    of_lists = STEPPED.replace("Layer(x, x)", "[x, x]").replace("it, tuple", "it, (list, tuple)")
    assert found("PT103", of_lists) == [9, 10]


def test_a_question_for_tuples_in_a_model_without_any():
    assert found("PT103", STEPPED.replace("Layer(x, x)", "[x, x]")) == []
    own = STEPPED.replace("(p - g, g)", "[p - g, g]").replace("it, tuple", "it, list")
    assert found("PT103", own) == []


RESULTS = """
    import dataclasses
    from typing import Any

    @dataclasses.dataclass
    class Result:
        update: jax.Array
        slot: Any | None

    def one(g):
        return Result(0.1 * g, g**2)

    def main(grads):
        results = jax.tree.map(one, {"w": grads, "b": grads[0]})
        return jax.tree.map(lambda it: it.slot, results)

    main(jnp.ones((3, 2)))
"""


def test_a_function_that_reads_any_field_knows_of_objects():
    assert found("PT104", RESULTS) == []
    assert found("PT104", RESULTS.replace("it.slot", "2 * it")) != []


def test_a_template_of_states_is_no_state():
    program = """
    from abc import ABC

    class State(ABC):
        obs: jax.Array

    def merged(state: State):
        return jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), state)

    def main(state: State):
        return merged(jax.tree.map(lambda x: 2 * x, state))
    """
    assert found("PT104", program) == []
