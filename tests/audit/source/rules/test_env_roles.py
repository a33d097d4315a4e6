"""Parts of environments and rollouts that are known by what they do, whatever they are called."""

import textwrap

from .claims import check_claims, each_of

PROGRAMS = {
    "steps that are repeated": """
        def pays_for_all(step, state, action):
            def once(carry, _):
                state, total, done = carry
                state, reward, ended = step(state, action)
                total = total + reward  # EN016
                return (state, total, done | (ended > 0)), None

            return lax.scan(once, (state, 0.0, False), None, 4)

        def pays_until_the_end(step, state, action):
            def once(carry, _):
                state, total, done = carry
                state, reward, ended = step(state, action)
                total = total + jnp.where(done, 0.0, reward)
                return (state, total, done | (ended > 0)), None

            return lax.scan(once, (state, 0.0, False), None, 4)

        def has_ever_won(step, state, action):
            def once(carry, _):
                state, total, won = carry
                state, reward, score = step(state, action)
                total = total + reward
                return (state, total, won | (score > 9)), None

            return lax.scan(once, (state, 0.0, False), None, 4)
        """,
    "a rollout by names of its own": """
        def score(w, s):
            return jnp.tanh(s @ w)

        def play(w, s, pushes):
            def turn(s, push):
                after = 0.9 * s + push
                return after, (s, -jnp.abs(after).sum())

            return lax.scan(turn, s, pushes)

        def last_of_the_record(w, s, pushes):
            end, (seen, gains) = play(w, s, pushes)
            v = score(w, seen)
            last = score(w, seen[-1])  # EN015
            return gains + 0.9 * jnp.concatenate([v[1:], last[None]])

        def what_it_led_to(w, s, pushes):
            end, (seen, gains) = play(w, s, pushes)
            v = score(w, seen)
            return gains + 0.9 * jnp.concatenate([v[1:], score(w, end)[None]])
        """,
    "a flag that is carried backwards": """
        class Step(NamedTuple):
            done: jax.Array
            reward: jax.Array
            value: jax.Array

        def rollout(env, policy, state, done, keys):
            def turn(carry, key):
                state, obs, done = carry
                action, value = policy(obs)
                state, obs, reward, after = env.step(state, action, key)
                return (state, obs, after), Step(done, reward, value)

            return lax.scan(turn, (state, state.obs, done), keys)

        def flags_of_the_step_before(env, policy, state, done, keys):
            (_, obs, _), steps = rollout(env, policy, state, done, keys)

            def back(carry, it):
                advantage, following = carry
                error = it.reward + 0.99 * following * (1 - it.done) - it.value  # EN011
                advantage = error + 0.9 * (1 - it.done) * advantage
                return (advantage, it.value), advantage

            _, last = policy(obs)
            return lax.scan(back, (jnp.zeros(4), last), steps, reverse=True)

        def flags_of_the_same_step(env, policy, state, done, keys):
            (_, obs, ended), steps = rollout(env, policy, state, done, keys)

            def back(carry, it):
                advantage, following, over = carry
                error = it.reward + 0.99 * following * (1 - over) - it.value
                advantage = error + 0.9 * (1 - over) * advantage
                return (advantage, it.value, it.done), advantage

            _, last = policy(obs)
            return lax.scan(back, (jnp.zeros(4), last, ended), steps, reverse=True)
        """,
    "a network that is handed its records": """
        class Kept(NamedTuple):
            seen: jax.Array
            began: jax.Array
            ended: jax.Array

        def play(net, game, seen, keys):
            def turn(carry, key):
                game, seen, began, memory = carry
                memory, move = net(memory, seen, began)
                game, after, ended = game.step(move, key)
                return (game, after, ended, memory), Kept(seen, began, ended)

            return lax.scan(turn, (game, seen, True, jnp.zeros(8)), keys)[1]

        def learn_a_step_off(net, game, seen, keys):
            kept = play(net, game, seen, keys)
            again = lambda memory, it: net(memory, *it)
            return lax.scan(again, jnp.zeros(8), (kept.seen, kept.ended))  # EN021

        def learn_the_same(net, game, seen, keys):
            kept = play(net, game, seen, keys)
            again = lambda memory, it: net(memory, *it)
            return lax.scan(again, jnp.zeros(8), (kept.seen, kept.began))
        """,
    "a memory from the end, in a state of which nothing is known": """
        class Kept(NamedTuple):
            seen: jax.Array
            began: jax.Array

        def make(net, game):
            def turn(runner, key):
                params, world, seen, began, memory = runner
                memory, move = net.apply(params, memory, (seen[None], began[None]))
                world, after, ended = game.step(world, move, key)
                return (params, world, after, ended, memory), Kept(seen, began)

            def loss(params, memory, kept):
                return net.apply(params, memory, (kept.seen, kept.began))[1].mean()

            def from_the_end(runner, keys):
                runner, kept = lax.scan(turn, runner, keys)
                params, world, seen, began, memory = runner
                return jax.grad(loss)(params, memory, kept), runner  # EN021

            def from_the_beginning(runner, keys):
                memory = runner[-1]
                runner, kept = lax.scan(turn, runner, keys)
                params, world, seen, began, last = runner
                value = net.apply(params, last, (seen[None], began[None]))
                return jax.grad(loss)(params, memory, kept), runner, value

            return from_the_end, from_the_beginning
        """,
    "a module that is known where it acts, and not where it learns": """
        import equinox as eqx

        class Policy(eqx.Module):
            cell: eqx.nn.GRUCell

            def initial(self):
                return jnp.zeros(8)

            def __call__(self, memory, seen, blank):
                memory = self.cell(seen, jnp.where(blank, self.initial(), memory))
                return memory, memory.sum()

        def act(policy, game, seen, keys):
            def turn(carry, key):
                game, seen, began, memory = carry
                memory, move = policy(memory, seen, began)
                game, after, ended = game.step(move, key)
                return (game, after, ended, memory), (seen, began, ended)

            return lax.scan(turn, (game, seen, True, policy.initial()), keys)[1]

        def loss(policy, seen, blank):
            again = lambda memory, it: policy(memory, *it)
            return lax.scan(again, policy.initial(), (seen, blank))[1].mean()  # EN021

        @eqx.filter_jit
        def learn(policy, game, seen, keys):
            seen, began, ended = act(policy, game, seen, keys)
            return eqx.filter_grad(loss)(policy, seen, ended)
        """,
    "a network that learns of the next step too": """
        def choose(w, seen):
            return seen @ w

        def play(w, seen, noise):
            def turn(seen, disturbance):
                move = choose(w, seen) + disturbance
                after = seen + move
                return after, (seen, move, after)

            return lax.scan(turn, seen, noise)[1]

        def loss(w, seen, moves, after):
            target = lax.stop_gradient(choose(w, after))
            return jnp.square(choose(w, seen) - 0.9 * target).mean() + moves.mean()

        def only_next(w, seen, moves, after):
            return jnp.square(moves - choose(w, after)).mean()

        def learn(w, seen, noise):
            return jax.grad(loss)(w, *play(w, seen, noise))

        def learn_next(w, seen, noise):
            return jax.grad(only_next)(w, *play(w, seen, noise))
        """,
    "a memory that is unrolled by haiku": """
        import haiku as hk

        def forgets_nothing(core, x, start, memory):
            def step(inputs, memory):
                x, begins = inputs
                out, memory = core(x, memory)  # EN002
                return out, memory

            return hk.dynamic_unroll(step, (x, start), memory)

        def starts_anew(core, x, start, memory):
            def step(inputs, memory):
                x, begins = inputs
                memory = jnp.where(begins[:, None], 0.0, memory)
                out, memory = core(x, memory)
                return out, memory

            return hk.dynamic_unroll(step, (x, start), memory)
        """,
    "frames of a game that is over": """
        class Seen(NamedTuple):
            game: jax.Array
            frames: jax.Array

        class Stack:
            def step(self, seen, action, key):
                game, frame, over = self.inner.step(seen.game, action)
                new_game, new_frame = self.inner.reset(key)
                game = jnp.where(over, new_game, game)
                frame = jnp.where(over, new_frame, frame)
                frames = jnp.concatenate([seen.frames[..., 1:], frame[..., None]], -1)  # EN002
                return Seen(game, frames)

            def step_anew(self, seen, action, key):
                game, frame, over = self.inner.step(seen.game, action)
                new_game, new_frame = self.inner.reset(key)
                game = jnp.where(over, new_game, game)
                frame = jnp.where(over, new_frame, frame)
                frames = jnp.concatenate([seen.frames[..., 1:], frame[..., None]], -1)
                frames = jnp.where(over, jnp.repeat(new_frame[..., None], 4, -1), frames)
                return Seen(game, frames)
        """,
    "a recursion that counts the steps": """
        class Rollout(NamedTuple):
            reward: jax.Array
            value: jax.Array

        def from_the_end(rollout, last):
            count = rollout.reward.shape[1]

            def back(carry, i):
                following, excess = carry
                now = jax.tree.map(lambda leaf: leaf[:, count - 1 - i], rollout)
                excess = now.reward + 0.9 * following - now.value + 0.8 * excess
                return (now.value, excess), excess

            return lax.scan(back, (last, jnp.zeros_like(last)), jnp.arange(count))[1]

        def from_the_start(rollout, last):
            count = rollout.reward.shape[1]

            def back(carry, i):
                following, excess = carry
                now = jax.tree.map(lambda leaf: leaf[:, i], rollout)
                excess = now.reward + 0.9 * following - now.value + 0.8 * excess
                return (now.value, excess), excess

            return lax.scan(back, (last, jnp.zeros_like(last)), jnp.arange(count))[1]  # EN003

        def main(reward, value, last):
            return from_the_end(Rollout(reward, value), last)

        def other(reward, value, last):
            return from_the_start(Rollout(reward, value), last)
        """,
    "sums of powers of a discount": """
        def of_what_was(gains):
            powers = 0.97 ** jnp.arange(gains.shape[0])
            return (powers * gains).cumsum() / powers  # EN003

        def of_what_comes(gains, gamma):
            powers = gamma ** jnp.arange(gains.shape[0])
            return jnp.cumsum((powers * gains)[::-1])[::-1] / powers

        def moving_average(gains, growth):
            powers = growth ** jnp.arange(gains.shape[0])
            return jnp.cumsum(powers * gains) / powers
        """,
    "teams whose rows are mixed up": """
        TEAM = ["scout", "medic", "chief"]

        def gather(tree, names):
            return jnp.stack([tree[name] for name in names]).reshape(-1, 4)

        def by_names(x, names):
            x = x.reshape(len(names), -1, 4)
            found = {}
            for i, name in enumerate(names):
                found[name] = x[i]
            return found

        def mixed_up(w, seen):
            x = (gather({name: seen[name] for name in TEAM}, TEAM) @ w).reshape(3, -1, 4)
            return {"chief": x[0], "medic": x[1], "scout": x[2]}  # EN022

        def as_they_came(w, seen):
            x = (gather({name: seen[name] for name in TEAM}, TEAM) @ w).reshape(3, -1, 4)
            return {"chief": x[2], "medic": x[1], "scout": x[0]}, by_names(x, TEAM)

        def sorted_both_times(w, seen):
            x = gather({name: seen[name] for name in TEAM}, sorted(TEAM)) @ w
            x = x.reshape(3, -1, 4)
            return {name: x[i] for i, name in enumerate(sorted(seen_names()))}

        def seen_names():
            return dict.fromkeys(TEAM)
        """,
    "a ring with sizes of its own": """
        class Store(NamedTuple):
            rows: jax.Array
            head: jax.Array
            filled: jax.Array
            room: int

        def push(store, rows):
            n = rows.shape[0]
            where = (store.head + jnp.arange(n)) % store.room
            return store._replace(
                rows=store.rows.at[where].set(rows),
                head=(store.head + 1) % store.room,  # EN013
                filled=jnp.minimum(store.filled + n, store.room),
            )

        def push_all(store, rows):
            n = rows.shape[0]
            where = (store.head + jnp.arange(n)) % store.room
            return store._replace(
                rows=store.rows.at[where].set(rows),
                head=(store.head + n) % store.room,
                filled=jnp.minimum(store.filled + n, store.room),
            )

        def draw_anywhere(store, key):
            rows = jax.random.randint(key, (32,), 0, store.room)  # EN014
            return store.rows[rows]

        def draw(store, key):
            rows = jax.random.randint(key, (32,), 0, store.filled)
            return store.rows[rows]
        """,
    "moves of which one is always allowed": """
        def allowed(board, dice):
            passing = jnp.zeros(6, dtype=bool).at[0].set(True)
            legal = jax.vmap(lambda die: board[:6] > die)(dice).any(axis=0)
            exists = ~(legal.sum() == 0)
            return exists * legal + ~exists * passing

        def entry():
            return allowed(jnp.arange(9), jnp.arange(2))
        """,
}


@each_of(PROGRAMS)
def test_programs_have_what_they_claim(program: str):
    check_claims("from typing import NamedTuple\n\n" + textwrap.dedent(program), "env")
