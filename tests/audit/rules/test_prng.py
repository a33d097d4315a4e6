"""Random keys: programs that reuse, repeat or share them, and programs that look as if they did."""

from __future__ import annotations

import pytest

from .claims import assert_claims

X = "def inputs(): return random.key(0), jnp.ones(3)\n"
OLD = "def inputs(): return random.PRNGKey(0), jnp.ones(3)\n"

REUSED = {
    "clone_drawn_twice": """
        def entry(key, x):
            again = random.clone(key)
            y = x + random.normal(key) * random.normal(again)
            return y + random.uniform(again)  # RK001
    """,
    "drawn_twice": """
        def entry(key, x):
            a = random.normal(key, x.shape)
            return a + random.uniform(key, x.shape)  # RK001
    """,
    "drawn_after_split": """
        def entry(key, x):
            k1, k2 = random.split(key)
            return x + random.normal(k1) + random.normal(k2) + random.normal(key)  # RK001
    """,
    "split_after_drawn": """
        def entry(key, x):
            y = x + random.normal(key)
            k1, k2 = random.split(key)  # RK001
            return y + random.normal(k1)
    """,
    "split_twice": """
        def entry(key, x):
            a, _ = random.split(key)
            b, _ = random.split(key)  # RK001
            return x + random.normal(a) * random.normal(b)
    """,
    "one_array_in_two_orders": """
        def entry(key, x):
            first = x[random.permutation(key, 3)]
            return first - x[random.permutation(key, 3)]  # RK001
    """,
    "arrays_of_two_lengths": """
        def entry(key, x):
            first = random.permutation(key, x)
            return first, random.permutation(key, x[1:])  # RK001
    """,
    "rows_that_are_used_otherwise_as_well": """
        def entry(key, x):
            rows = random.randint(key, (3,), 0, 3)
            return x[rows] + rows, (x * 2)[random.randint(key, (3,), 0, 3)]  # RK001
    """,
    "python_loop": """
        def entry(key, x):
            for _ in range(3):
                x = x + random.normal(key, x.shape)  # RK001
            return x
    """,
    "in_helpers": """
        def f(k, x):
            k1, k2 = random.split(k)
            return x * random.normal(k1) + random.normal(k2)

        def g(k, x):
            return x * random.normal(k)

        def entry(key, x):
            y = f(key, x)
            return g(key, y)  # RK001
    """,
    "same_jitted_helper": """
        @jax.jit
        def f(k, x):
            return x * random.normal(k)

        def entry(key, x):
            y = f(key, x)
            return f(key, y)  # RK001
    """,
    "same_number_folded_in": """
        def entry(key, x):
            a = random.normal(random.fold_in(key, 3))
            b = random.normal(random.fold_in(key, 3))  # RK001
            return x + a * b
    """,
    "same_computed_number_folded_in": """
        def entry(key, x, n):
            a = random.normal(random.fold_in(key, n + 1))
            b = random.normal(random.fold_in(key, n + 1))  # RK001
            return x + a * b

        def inputs(): return random.key(0), jnp.ones(3), jnp.int32(2)
    """,
    "child_twice_by_index": """
        def entry(key, x):
            keys = random.split(key, 3)
            x = x + random.normal(keys[0]) + random.normal(keys[1])
            return x * random.normal(keys[0])  # RK001
    """,
    "stacked_and_taken_apart": """
        def entry(key, x):
            a, b = random.split(key)
            pair = jnp.stack([a, b])
            x = x + random.normal(pair[1])
            return x + random.normal(b)  # RK001
    """,
    "same_dynamic_index": """
        def entry(key, x, i):
            keys = random.split(key, 4)
            a = random.normal(keys[i])
            return x + a + random.uniform(keys[i])  # RK001

        def inputs(): return random.key(0), jnp.ones(3), jnp.int32(2)
    """,
    "before_a_loop_that_carries_it": """
        def entry(key, x):
            x = x + random.normal(key, x.shape)
            def step(carry, _):
                x, key = carry
                key, sub = random.split(key)
                return (x + random.normal(sub, x.shape), key), None
            return lax.scan(step, (x, key), None, length=3)[0][0]  # RK001
    """,
    "two_maps_over_the_same_keys": """
        def entry(key, x):
            keys = random.split(key, 3)
            a = jax.vmap(random.normal)(keys)
            b = jax.vmap(lambda k: random.uniform(k))(keys)  # RK001
            return x + a * b
    """,
    "element_of_mapped_keys": """
        def entry(key, x):
            keys = random.split(key, 3)
            a = jax.vmap(random.normal)(keys)
            return x + a * random.normal(keys[2])  # RK001
    """,
    "after_a_cond": """
        def entry(key, x):
            y = lax.cond(x[0] > 0, lambda: random.normal(key), lambda: random.uniform(key))
            return x + y * random.normal(key)  # RK001
    """,
    "one_helper_in_two_losses": """
        def act(w, key):
            return w + random.normal(key, w.shape)

        def actor_loss(w, key):
            return jnp.sum(act(w, key) ** 2)

        def critic_loss(w, key):
            return jnp.sum((act(w, key) - 1) ** 2)

        def entry(key, x):
            a = jax.grad(actor_loss)(x, key)
            return a + jax.grad(critic_loss)(x, key)  # RK001
    """,
    "two_losses": """
        def entry(key, x):
            a = jax.grad(lambda w: jnp.sum(w * random.normal(key, w.shape)))(x)
            b = jax.grad(lambda w: jnp.sum(w * random.uniform(key, w.shape)))(x)  # RK001
            return a + b
    """,
}

REUSED_BY_LOOPS = {
    "folded_number_that_a_split_gives": """
        def entry(key, x):
            first, second = random.split(key)
            x = x * random.normal(first) + random.normal(second)
            return x + random.normal(random.fold_in(key, 1))  # RK001
    """,
    "drawn_before_a_loop_in_a_loop_splits_it": """
        def entry(key, x):
            x = x * random.normal(key)
            def inner(_, carry):
                key, x = carry
                key, sub = random.split(key)
                return key, x + random.normal(sub)
            def outer(carry, _):
                return lax.fori_loop(0, 3, inner, carry), None
            return lax.scan(outer, (key, x), None, length=2)[0][1]  # RK001
    """,
    "drawn_from_after_the_inner_loop_and_handed_on": """
        def entry(key, x):
            def inner(_, carry):
                key, x = carry
                key, sub = random.split(key)
                return key, x + random.normal(sub)
            def outer(carry, _):
                key, x = lax.fori_loop(0, 3, inner, carry)
                score = (x + random.normal(key)).mean()  # RK001
                return (key, x), score
            return lax.scan(outer, (key, x), None, length=2)[1]
    """,
    "drawn_and_handed_on": """
        def entry(key, x):
            def step(carry, _):
                x, key = carry
                key, sub = random.split(key)
                x = x + random.normal(key, x.shape)  # RK001
                return (x, key), x
            return lax.scan(step, (x, key), None, length=3)
    """,
    "after_the_loop_that_carried_it": """
        def entry(key, x):
            def step(carry, _):
                x, key = carry
                key, sub = random.split(key)
                return (x + random.normal(sub, x.shape), key), None
            x = lax.scan(step, (x, key), None, length=3)[0][0]
            return x + random.normal(key)  # RK001
    """,
    "over_a_tree": """
        def entry(key, x):
            tree = {"a": x, "b": x}
            return jax.tree.map(lambda p: p + random.normal(key, p.shape), tree)  # RK001
    """,
    "in_a_list": """
        def entry(key, x):
            return [random.normal(key, (n,)) for n in (2, 3)]  # RK001
    """,
}

REPEATED = {
    "clone_from_outside_of_a_loop": """
        def entry(key, x):
            again = random.clone(key)

            def body(total, _):
                return total + random.normal(again, x.shape), None  # RK002

            return jax.lax.scan(body, x, length=5)[0]
    """,
    "mapped_keys_in_every_iteration": """
        def entry(key, x):
            keys = random.split(key, 3)
            def step(x, _):
                x = jax.vmap(lambda k, e: e + random.normal(k))(keys, x)  # RK002
                return x, x
            return lax.scan(step, x, None, length=4)
    """,
    "carried_keys_not_advanced": """
        def entry(key, x):
            def step(carry, _):
                keys, x = carry
                x = jax.vmap(lambda k, e: e + random.normal(k))(keys, x)

                return (keys, x), x  # RK002
            return lax.scan(step, (random.split(key, 3), x), None, length=4)
    """,
    "one_key_scanned_several_times": """
        def entry(key, x):
            keys = jnp.stack([key] * 4)  # RK002
            def step(x, k):
                return x + random.normal(k, x.shape), None
            return lax.scan(step, x, keys)
    """,
    "same_order_every_epoch": """
        def entry(key, x):
            def epoch(w, _):
                order = random.permutation(key, 3)  # RK002
                return w + x[order], None
            return lax.scan(epoch, x, None, length=3)
    """,
    "closed_over_in_scan": """
        def entry(key, x):
            def step(x, t):
                k1, k2 = random.split(key)  # RK002
                return x + random.normal(k1, x.shape) * random.normal(k2, x.shape), t
            return lax.scan(step, x, jnp.arange(4))
    """,
    "a_key_that_a_function_hands_back_to_nobody": """
        def proposed(key, x):
            key, own = random.split(key)
            return key, x + random.normal(own, x.shape)

        def entry(key, x):
            def step(carry, _):
                key, x = carry
                _, x = proposed(key, x)  # RK002
                x = 0.9 * x
                return (key, x), x.sum()

            return lax.scan(step, (key, x), None, length=4)
    """,
    "not_advanced_in_fori": """
        def entry(key, x):
            def body(i, carry):
                x, key = carry
                x = x + random.normal(key, x.shape)

                return x, key  # RK002
            return lax.fori_loop(0, 5, body, (x, key))[0]
    """,
    "not_advanced_in_while": """
        def entry(key, x):
            def go_on(carry):
                return jnp.sum(carry[0]) < 10

            def body(carry):
                x, key = carry
                x = x + random.uniform(key, x.shape)
                return x, key  # RK002
            return lax.while_loop(go_on, body, (x, key))[0]
    """,
    "number_not_advanced": """
        def entry(key, x):
            def step(carry, _):
                x, n = carry
                x = x + random.normal(random.fold_in(key, n), x.shape)  # RK002
                return (x, n), x
            return lax.scan(step, (x, 0), None, length=3)
    """,
    "scanned_copies": """
        def entry(key, x):
            def step(x, k):
                x = x + random.normal(k, x.shape)
                return x, x
            return lax.scan(step, x, jnp.stack([key] * 4))  # RK002
    """,
    "map_function": """
        def entry(key, x):
            return lax.map(lambda e: e + random.normal(key), x)  # RK002
    """,
    "same_minibatch": """
        def entry(key, x):
            def step(w, _):
                rows = random.choice(key, 3, (2,))  # RK002
                return w + x[rows] @ w, None
            return lax.scan(step, jnp.ones(2), None, length=3)
    """,
    "outer_loop_repeats_the_inner": """
        def entry(key, x):
            def epoch(x, _):
                def step(x, k):
                    return x + random.normal(k, x.shape), None
                return lax.scan(step, x, random.split(key, 4))[0], None  # RK002
            return lax.scan(epoch, x, None, length=2)[0]
    """,
}

SHARED = {
    "closed_over": """
        def entry(key, x):
            def f(e):
                noise = random.normal(key)  # RK003
                return e + noise
            return jax.vmap(f)(x)
    """,
    "split_inside": """
        def f(key, e):
            k1, k2 = random.split(key)
            return e * random.normal(k1) + random.normal(k2)

        def entry(key, x):
            return jax.vmap(f, in_axes=(None, 0))(key, x)  # RK003
    """,
    "rollout": """
        def rollout(key, state):
            def step(carry, _):
                state, key = carry
                key, sub = random.split(key)
                state = state + random.normal(sub)
                return (state, key), state
            return lax.scan(step, (state, key), None, length=5)[1]

        def entry(key, x):
            return jax.vmap(rollout, in_axes=(None, 0))(key, x)  # RK003
    """,
    "copies": """
        def entry(key, x):
            keys = jnp.broadcast_to(key, (3, *key.shape))
            return jax.vmap(lambda k, e: e + random.normal(k))(keys, x)  # RK003
    """,
    "repeated_copies": """
        def entry(key, x):
            keys = jnp.repeat(key[None], 3, axis=0)
            return jax.vmap(lambda k, e: e + random.normal(k))(keys, x)  # RK003
    """,
    "sampled_outputs": """
        def entry(key, x):
            return jax.vmap(lambda e: random.normal(key), out_axes=0)(x)  # RK003
    """,
    "dropout_mask": """
        def entry(key, x):
            def drop(e, k):
                return jnp.where(random.bernoulli(k, 0.5, e.shape), e, 0.0)
            return jax.vmap(drop, in_axes=(0, None))(jnp.stack([x, x]), key)  # RK003
    """,
    "inner_of_two_maps": """
        def f(key, e):
            return e + random.normal(key)

        def entry(key, x):
            keys = random.split(key, 2)
            inner = jax.vmap(f, in_axes=(None, 0))
            return jax.vmap(lambda k, row: inner(k, row))(keys, jnp.stack([x, x]))  # RK003
    """,
    "devices_of_a_pmap": """
        def entry(key, x):
            noisy = jax.pmap(lambda k, e: e + random.normal(k), in_axes=(None, 0))
            return noisy(key, x)  # RK003
    """,
    "closed_over_by_a_pmap": """
        def entry(key, x):
            return jax.pmap(lambda e: e + random.normal(key))(x)  # RK003
    """,
    "copies_for_devices": """
        def entry(key, x):
            keys = jnp.broadcast_to(key, (3, *key.shape))
            return jax.pmap(lambda k, e: e + random.normal(k))(keys, x)  # RK003
    """,
    "devices_of_a_mesh": """
        MESH = jax.sharding.Mesh(np.array(jax.devices()[:3]), ("i",))
        P = jax.sharding.PartitionSpec

        def noisy(key, x):
            return x + random.normal(key, x.shape)

        def entry(key, x):
            sharded = jax.shard_map(noisy, mesh=MESH, in_specs=(P(), P("i")), out_specs=P("i"))
            return sharded(key, x)  # RK003
    """,
}

FEW = {
    "counter_beyond": """
        def entry(key, x):
            keys = random.split(key, 3)
            def step(x, t):
                return x + random.normal(keys[t], x.shape), None  # RK004
            return lax.scan(step, x, jnp.arange(5))
    """,
    "fori_beyond": """
        def entry(key, x):
            keys = random.split(key, 3)
            return lax.fori_loop(0, 4, lambda i, x: x + random.normal(keys[i]), x)  # RK004
    """,
}

CONSTANT = {
    "seed": """
        def entry(key, x):
            return x + random.normal(random.key(7), x.shape)  # RK005
    """,
    "old_seed_split": """
        def entry(key, x):
            a, b = random.split(random.PRNGKey(7))  # RK005
            return x + random.normal(a, x.shape) * random.normal(b)
    """,
    "captured": """
        KEY = random.key(1)
        def entry(key, x):
            return x + random.normal(KEY, x.shape)  # RK005
    """,
    "counted_by_a_loop": """
        def entry(x):
            def body(i, x):
                key = random.fold_in(random.key(7), i)  # RK005
                return x + random.normal(key, x.shape)
            return lax.fori_loop(0, 3, body, x)
        def inputs(): return (jnp.ones(3),)
    """,
    "beside_one_that_the_step_chooses": """
        def noise(step, x):
            return x + random.normal(random.fold_in(random.key(7), step), x.shape)
        def entry(step, x):
            return noise(step, x) * random.normal(random.key(7))  # RK005
        def inputs(): return jnp.int32(3), jnp.ones(3)
    """,
    "beside_another_number": """
        def entry(seed, x):
            return x + seed * random.normal(random.key(3), x.shape)  # RK005
        def inputs(): return 7, jnp.ones(3)
    """,
}

FINE = {
    "clones": """
        def entry(key, x):
            def body(total, _):
                return total + random.normal(random.clone(key), x.shape), None

            y, _ = jax.lax.scan(body, x, length=5)
            return y + random.normal(key, x.shape) + random.normal(random.clone(key), x.shape)
    """,
    "arrays_in_one_order": """
        def entry(key, x):
            batch = {"x": jnp.ones((6, 2)), "y": jnp.ones(6), "z": jnp.ones((6, 3, 2))}
            orders = random.split(key, 5)
            by_map = jax.tree.map(lambda it: random.permutation(orders[0], it), batch)
            by_loop = [random.permutation(orders[1], it) for it in batch.values()]
            x, y = batch["x"], batch["y"]
            pair = random.permutation(orders[2], x), random.permutation(orders[2], y)
            rows = x[random.permutation(orders[3], 6)], y[random.permutation(orders[3], 6)]
            last = random.permutation(orders[4], x, axis=1), random.permutation(orders[4], x.T)
            return by_map, by_loop, pair, rows, last
    """,
    "rows_of_two_arrays": """
        def entry(key, x):
            inputs, targets = jnp.ones((6, 2)), jnp.arange(6.0)
            some, few = random.split(key)
            drawn = random.choice(some, inputs, (4,)), random.choice(some, targets, (4,))
            once = [random.choice(few, it, (4,), replace=False) for it in (inputs, targets)]
            return drawn, once
    """,
    "step_that_is_given": """
        def entry(step, x):
            first, second = random.split(random.fold_in(random.PRNGKey(0), step))
            return x + random.normal(first, x.shape) * random.normal(second)
        def inputs(): return jnp.int32(3), jnp.ones(3)
    """,
    "step_of_a_state": """
        def entry(state, xs):
            def body(state, x):
                keys = random.split(random.key(0), 100)
                drawn = state["x"] + random.normal(keys[state["step"]], x.shape)
                return {"x": drawn, "step": state["step"] + 1}, None
            return lax.scan(body, state, xs)
        def inputs(): return {"x": jnp.ones(3), "step": jnp.int32(5)}, jnp.ones((4, 3))
    """,
    "examples_that_are_given": """
        def entry(numbers):
            return jax.vmap(lambda i: random.normal(random.fold_in(random.key(0), i)))(numbers)
        def inputs(): return (jnp.arange(4),)
    """,
    "seed_that_is_given": """
        def entry(seed, x):
            return x + random.normal(random.key(seed), x.shape)
        def inputs(): return 7, jnp.ones(3)
    """,
    "chain_of_splits": """
        def entry(key, x):
            for _ in range(3):
                key, sub = random.split(key)
                x = x + random.normal(sub, x.shape)
            return x
    """,
    "exclusive_branches": """
        def entry(key, x):
            return lax.cond(
                x[0] > 0,
                lambda: x + random.normal(key, x.shape),
                lambda: x * random.uniform(key, x.shape),
            )
    """,
    "switch": """
        def entry(key, x):
            branches = [lambda k: random.normal(k), lambda k: random.uniform(k), lambda k: 0.0]
            return x + lax.switch(jnp.int32(x[0]), branches, key)
    """,
    "where_takes_either": """
        def entry(key, x):
            return jnp.where(x > 0, random.normal(key, x.shape), random.uniform(key, x.shape))
    """,
    "folded_in_different_numbers": """
        def entry(key, x):
            for i in range(3):
                x = x + random.normal(random.fold_in(key, i), x.shape)
            return x
    """,
    "folded_in_loop": """
        def entry(key, x):
            def body(i, x):
                return x + random.normal(random.fold_in(key, i), x.shape)
            return lax.fori_loop(0, 4, body, x)
    """,
    "scanned_keys": """
        def entry(key, x):
            key, sub = random.split(key)
            def step(x, k):
                k1, k2 = random.split(k)
                return x + random.normal(k1) * random.normal(k2), None
            x, _ = lax.scan(step, x, random.split(sub, 4))
            return x + random.normal(key)
    """,
    "advanced_in_while": """
        def entry(key, x):
            def body(carry):
                x, key = carry
                key, sub = random.split(key)
                return x + random.uniform(sub, x.shape), key
            return lax.while_loop(lambda c: jnp.sum(c[0]) < 10, body, (x, key))[0]
    """,
    "evaluated_and_differentiated": """
        def loss(w, key):
            return jnp.sum(w * random.normal(key, w.shape))

        def entry(key, x):
            value, slope = loss(x, key), jax.grad(loss)(x, key)
            return value, slope, jax.hessian(lambda w: loss(w, key))(x)
    """,
    "mapped_keys": """
        def entry(key, x):
            key, *keys = random.split(key, 4)
            y = jax.vmap(lambda k, e: e + random.normal(k))(jnp.stack(keys), x)
            return y + random.normal(key)
    """,
    "a_key_for_each_device": """
        def entry(key, x):
            return jax.pmap(lambda k, e: e + random.normal(k))(random.split(key, 3), x)
    """,
    "device_number_folded_in": """
        def entry(key, x):
            def f(key, e):
                return e + random.normal(random.fold_in(key, lax.axis_index("i")))
            return jax.pmap(f, axis_name="i", in_axes=(None, 0))(key, x)
    """,
    "a_key_for_each_shard": """
        MESH = jax.sharding.Mesh(np.array(jax.devices()[:3]), ("i",))
        P = jax.sharding.PartitionSpec

        def noisy(keys, x):
            return x + random.normal(keys[0], x.shape)

        def entry(key, x):
            sharded = jax.shard_map(noisy, mesh=MESH, in_specs=P("i"), out_specs=P("i"))
            return sharded(random.split(key, 3), x)
    """,
    "weights_on_every_device": """
        def entry(key, x):
            def f(key, row):
                return row @ random.normal(key, (2, 2))
            return jax.pmap(f, in_axes=(None, 0))(key, jnp.stack([x, x], axis=1))
    """,
    "lane_number_folded_in": """
        def entry(key, x):
            def f(e):
                k = random.fold_in(key, lax.axis_index("i"))
                return e + random.normal(k)
            return jax.vmap(f, axis_name="i")(x)
    """,
    "vectorised_split": """
        def entry(key, x):
            keys = random.split(key, 3)
            def step(carry, _):
                keys, x = carry
                both = jax.vmap(random.split)(keys)
                x = jax.vmap(lambda k, e: e + random.normal(k))(both[:, 1], x)
                return (both[:, 0], x), x
            return lax.scan(step, (keys, x), None, length=3)
    """,
    "shared_weights": """
        def entry(key, x):
            def project(e):
                w = random.normal(key, (3, 2)) / 3**0.5
                return jnp.tanh(e @ w)
            return jax.vmap(project)(jnp.stack([x, x]))
    """,
    "shared_noise_drawn_outside": """
        def entry(key, x):
            noise = random.normal(key)
            return jax.vmap(lambda e: e + noise)(x)
    """,
    "enough_dynamic_keys": """
        def entry(key, x):
            keys = random.split(key, 5)
            def step(x, t):
                return x + random.normal(keys[t], x.shape), None
            return lax.scan(step, x, jnp.arange(5))
    """,
    "library_samplers": """
        def entry(key, x):
            ks = random.split(key, 8)
            y = random.permutation(ks[0], x) + random.gamma(ks[1], 2.0, x.shape)
            y = y + random.poisson(ks[2], 3.0, x.shape) + random.dirichlet(ks[3], jnp.ones(3))
            y = y + random.choice(ks[4], x, (3,), replace=False) + random.t(ks[5], 3.0)
            y = y + random.multivariate_normal(ks[6], x, jnp.eye(3))
            last, more = random.split(ks[7])
            return y + random.categorical(last, x) + random.truncated_normal(more, -1, 1)
    """,
    "discarded_draw": """
        def entry(key, x):
            unused = random.normal(key)
            return x + random.normal(key)
    """,
    "unused_remainder": """
        def entry(key, x):
            key, sub = random.split(key)
            return x + random.normal(sub)
    """,
    "hessian_of_noisy_loss": """
        def entry(key, x):
            return jax.hessian(lambda w: jnp.sum(w**3 * random.normal(key, w.shape)))(x)
    """,
    "reset_where_done": """
        def entry(key, x):
            def step(carry, _):
                x, key = carry
                key, reset, noise = random.split(key, 3)
                fresh = random.normal(reset, x.shape)
                x = jnp.where(x > 1, fresh, x + random.normal(noise, x.shape))
                return (x, key), x
            return lax.scan(step, (x, key), None, length=3)
    """,
}


def _with_inputs(program: str, inputs: str) -> str:
    from textwrap import dedent

    program = dedent(program)
    return program if "def inputs" in program else program + inputs


NOISY = {**REUSED, **REUSED_BY_LOOPS, **REPEATED, **SHARED, **FEW, **CONSTANT}


@pytest.mark.parametrize("name", NOISY)
def test_finds(name: str) -> None:
    report = assert_claims("prng", _with_inputs(NOISY[name], X))
    assert not [it for it in report.verified if it.code == "RK001"] or name in CONSTANT


@pytest.mark.parametrize("name", [*NOISY])
def test_finds_with_keys_of_the_old_style(name: str) -> None:
    program = _with_inputs(NOISY[name], OLD).replace("random.key(", "random.PRNGKey(")
    assert_claims("prng", program)


@pytest.mark.parametrize("name", FINE)
def test_stays_silent(name: str) -> None:
    assert_claims("prng", _with_inputs(FINE[name], X))


@pytest.mark.parametrize("name", FINE)
def test_stays_silent_with_keys_of_the_old_style(name: str) -> None:
    assert_claims("prng", _with_inputs(FINE[name], OLD))


def test_counts_what_it_proves() -> None:
    report = assert_claims("prng", _with_inputs(FINE["scanned_keys"], X))
    assert [it.claim for it in report.verified] == ["3 random draws in `entry`, 3 distinct keys"]


def test_names_the_child_that_was_left() -> None:
    program = """
        def entry(key, x):
            noise_key, mask_key = random.split(key)
            x = x + random.normal(noise_key)
            return x * random.normal(key)  # RK001
    """
    (found,) = assert_claims("prng", _with_inputs(program, X)).issues
    assert "`mask_key`" in found.fix
