"""Programs that say how they are called: `entry(*inputs())` is gone through with what it tells."""

from .reading import found


def test_an_example_is_made_by_as_many_calls_as_it_takes():
    layers = ", ".join(f'"{name}": w(4, 4)' for name in "abcdefghij")
    program = f"""
    import numpy as np

    def entry(params, x, target):
        return jnp.mean((x @ params["head"] - target) ** 2)

    def inputs():
        rng = np.random.default_rng(0)

        def w(*shape):
            return jnp.asarray(rng.normal(size=shape), jnp.float32)

        params = {{{layers}, "head": w(4, 1)}}
        return params, w(6, 4), w(6)
    """
    assert found("AX002", program) == [4]


def test_networks_that_a_generator_draws_are_two():
    program = """
    import numpy as np

    def critic(params, x):
        return jnp.tanh(x @ params["w"])

    def entry(params, x):
        same = critic(params["one"], x)
        wrong = jnp.minimum(same, critic(params["one"], x))
        return wrong, jnp.minimum(critic(params["one"], x), critic(params["two"], x))

    def inputs():
        rng = np.random.default_rng(0)
        params = {name: {"w": jnp.asarray(rng.normal(size=(3, 2)))} for name in ("one", "two")}
        return params, jnp.ones((5, 3))
    """
    assert found("DF108", program) == [8]


LAYERS = """
    def layer(w, x):
        y = jnp.tanh(x @ w)
        return y, jnp.log1p(-(y**2)).sum(axis=-1, keepdims={kept})

    def entry(weights, x):
        total = 0.0
        for {turn}:
            x, volume = layer({w}, x)
            total = total + volume
        return jnp.mean((total - jnp.sum(x**2, axis=-1)) ** 2)

    def inputs():
        return [jnp.full((4, 4), 0.1 * at) for at in range(1, 4)], jnp.ones((6, 4))
    """


def test_a_few_turns_of_a_loop_are_known_in_an_example():
    by_element = LAYERS.format(kept=True, turn="w in weights", w="w")
    by_number = LAYERS.format(kept=True, turn="at in range(len(weights))", w="weights[at]")
    both = LAYERS.format(kept=True, turn="at, w in enumerate(weights)", w="w if at else weights[0]")
    assert [found("AX002", it) for it in (by_element, by_number, both)] == [[3]] * 3
    assert found("AX002", LAYERS.format(kept=False, turn="w in weights", w="w")) == []


def test_what_is_taken_along_an_axis_keeps_it():
    program = """
    def q_values(w, obs):
        return jax.nn.relu(obs) @ w

    def error(w, obs, action, target):
        taken = jnp.take_along_axis(q_values(w, obs), action[:, None], axis=1)
        return target - taken

    def huber(error):
        size = jnp.abs(error)
        small = jnp.minimum(size, 1.0)
        return 0.5 * small**2 + (size - small)

    def entry(w, obs, action, target):
        return huber(error(w, obs, action, target)).mean()

    def inputs():
        return jnp.ones((3, 2)), jnp.ones((6, 3)), jnp.array([0, 1, 1, 0, 1, 0]), jnp.ones(6)
    """
    assert found("AX002", program) == [6]
    table = program.replace(".mean()", ".mean(axis=0)")
    assert found("AX002", table) == []
    alone = program.replace("target - taken", "target - taken[:, 0]")
    assert found("AX002", alone) == []


def test_a_dict_that_is_made_of_letters_or_of_the_keys_of_another():
    program = """
    def entry(params, x):
        q, k, v = (x @ params[name] for name in "qkv")
        weights = jax.nn.softmax(q @ k.T, axis=AXIS)
        return weights @ v

    def inputs():
        sizes = {"q": 8, "k": 8, "v": 8}
        first = {name: jnp.ones((4, size)) for name, size in sizes.items()}
        return MADE, jnp.ones((6, 4))
    """
    letters = program.replace("MADE", '{name: jnp.ones((4, 8)) for name in "qkv"}')
    keys = program.replace("MADE", "{name: 0.5 * first[name] for name in sizes}")
    for text in (letters, keys):
        assert found("AX014", text.replace("AXIS", "0")) == [3]
        assert found("AX014", text.replace("AXIS", "-1")) == []


def test_a_last_axis_of_one_is_broadcast_under_any_name():
    program = """
    AXES = {"x": "batch feat", "value": "feat one", "gain": "feat act"}

    def entry(x, value, gain):
        advantage = x @ gain
        return x @ value + advantage - advantage.mean(axis=-1, keepdims=True)

    def inputs():
        return jnp.ones((5, 4)), jnp.ones((4, SIZE)), jnp.ones((4, 3))
    """
    assert found("AX001", program.replace("SIZE", "1")) == []
    assert found("AX001", program.replace("SIZE", "3")) == [5]


def test_a_reduction_over_what_is_joined_is_told_where_it_is():
    program = """
    AXES = {"x": "time batch feat"}

    def pooled(x):
        return x.mean(axis=AXIS)

    def entry(x):
        first = x[0]
        code = pooled(x)
        return jnp.concatenate([first, code], axis=-1)

    def inputs():
        return (jnp.ones((5, 5, 3)),)
    """
    assert found("AX001", program.replace("AXIS", "1")) == [4]
    assert found("AX001", program.replace("AXIS", "0")) == []


def test_a_tree_of_many_leaves_stays_one_where_it_is_mapped():
    program = """
    def loss(params, x):
        for block in params["blocks"]:
            x = x @ block["attn"]["q"] + x @ block["attn"]["k"]
        return x.sum()

    def total(params, chunks):
        def body(total, x):
            value, grads = jax.value_and_grad(loss)(params, x)
            return jax.tree.map(jnp.add, total, grads), value

        return jax.lax.scan(body, jax.tree.map(jnp.zeros_like, params), chunks)

    def entry(chunks):
        blocks = [{"attn": {n: jnp.ones((3, 3)) for n in "qkvo"}} for _ in range(COUNT)]
        return total({"embed": jnp.ones((2, 3)), "blocks": blocks}, chunks)

    def inputs():
        return (jnp.ones((2, 4, 3)),)
    """
    for count in ("2", "20"):
        assert found("JT204", program.replace("COUNT", count)) == []
