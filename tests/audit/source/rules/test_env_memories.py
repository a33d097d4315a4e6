"""Memories and states of rollouts; comments say what is to be found on their lines."""

from .claims import check_claims, each_of
from .reading import found

PROGRAMS = {
    "a memory that is wiped by the flag of the last step, which a target knows for one": """
        def first_wiped(w, seen, over):
            def turn(memory, row):
                obs, flag = row
                memory = memory * (1.0 - flag)[:, None]
                memory = jnp.tanh(memory @ w["memory"] + obs @ w["obs"])
                return memory, memory @ w["value"]

            return lax.scan(turn, jnp.zeros((4, 8)), (seen, over))[1]

        def then_wiped(w, seen, over):
            def turn(memory, row):
                obs, flag = row
                memory = jnp.tanh(memory @ w["memory"] + obs @ w["obs"])
                return jnp.where(flag[:, None], 0.0, memory), memory @ w["value"]

            return lax.scan(turn, jnp.zeros((4, 8)), (seen, over))[1]

        def too_early(w, batch):
            values = first_wiped(w, batch["obs"], batch["done"])  # EN011
            later = 0.99 * (1.0 - batch["done"][:-1]) * values[1:]
            return values[:-1] - lax.stop_gradient(batch["reward"][:-1] + later)

        def a_step_later(w, batch):
            done = batch["done"]
            values = first_wiped(w, batch["obs"], jnp.concatenate([0 * done[:1], done[:-1]]))
            later = 0.99 * (1.0 - done[:-1]) * values[1:]
            return values[:-1] - lax.stop_gradient(batch["reward"][:-1] + later)

        def flags_of_what_is_seen(w, batch):
            values = first_wiped(w, batch["obs"], batch["done"])
            later = 0.99 * (1.0 - batch["done"][1:]) * values[1:]
            return values[:-1] - lax.stop_gradient(batch["reward"][:-1] + later)

        def wiped_behind(w, batch):
            values = then_wiped(w, batch["obs"], batch["done"])
            later = 0.99 * (1.0 - batch["done"][:-1]) * values[1:]
            return values[:-1] - lax.stop_gradient(batch["reward"][:-1] + later)
        """,
    "rows that were padded, behind which there is no other episode": """
        import haiku as hk
        from typing import NamedTuple

        class State(NamedTuple):
            hidden: jax.Array
            out: jax.Array

        class Reader(hk.Module):
            def __call__(self, words, lengths):
                core = hk.GRU(16)

                def step(state, i):
                    out, hidden = core(words[:, i], state.hidden)
                    not_done = ((lengths > i + 1) * 1.0)[:, None]
                    return State(hidden, not_done * out + (1.0 - not_done) * state.out), None

                start = State(core.initial_state(8), jnp.zeros((8, 16)))
                return hk.scan(step, start, jnp.arange(words.shape[1]))[0].out

        class Player(hk.Module):
            def __call__(self, words, left):
                core = hk.GRU(16)

                def step(state, i):
                    out, hidden = core(words[:, i], state.hidden)
                    done = (state.out.sum(axis=1) > 3.0)[:, None]
                    return State(hidden, (1.0 - done) * out), None  # EN002

                start = State(core.initial_state(8), jnp.zeros((8, 16)))
                return hk.scan(step, start, jnp.arange(words.shape[1]))[0].out
        """,
    "what is learned along the way, and what is remembered of it": """
        from typing import NamedTuple

        class Learner(NamedTuple):
            weights: jax.Array
            trace: jax.Array

        def leaks(learner, feats, rewards, dones):
            def body(learner, step):
                feat, reward, done = step
                error = reward - jnp.where(done, 0.0, feat @ learner.weights)
                trace = 0.9 * learner.trace + feat  # EN002
                return Learner(learner.weights + 0.1 * error * trace, trace), error

            return lax.scan(body, learner, (feats, rewards, dones))

        def stops(learner, feats, rewards, dones):
            def body(learner, step):
                feat, reward, done = step
                error = reward - jnp.where(done, 0.0, feat @ learner.weights)
                trace = 0.9 * learner.trace * (1.0 - done) + feat
                return Learner(learner.weights + 0.1 * error * trace, trace), error

            return lax.scan(body, learner, (feats, rewards, dones))
        """,
    "statistics of all environments, by their size and by the names of their fields": """
        from typing import NamedTuple

        class Scaler(NamedTuple):
            ret: jax.Array
            mean: jax.Array
            spread: jax.Array

        def scaled(rewards, dones):
            def body(scaler, step):
                reward, done = step
                ret = 0.99 * scaler.ret * (1.0 - done) + reward
                mean = 0.9 * scaler.mean + 0.1 * ret.mean()
                spread = 0.9 * scaler.spread + 0.1 * jnp.abs(ret - mean).max()
                scaler = Scaler(ret, mean, spread)
                return scaler, reward / scaler.spread

            start = Scaler(jnp.zeros(4), jnp.zeros(()), jnp.ones(()))
            return lax.scan(body, start, (rewards, dones))

        def entry(rewards, dones):
            return scaled(rewards, dones)

        def inputs():
            return jnp.ones((9, 4)), jnp.zeros((9, 4))
        """,
    "an observation in a record beside a state that is reset": """
        from typing import NamedTuple

        class Seen(NamedTuple):
            obs: jax.Array
            reward: jax.Array

        def reset(key):
            state = jax.random.uniform(key, (2,))
            return state, jnp.sin(state)

        def stale(key, state, action):
            state = state + action
            obs, done = jnp.sin(state), jnp.abs(state).max() > 2.0
            fresh, fresh_obs = reset(key)
            state = jnp.where(done, fresh, state)
            return state, Seen(obs, -obs.sum())  # EN009

        def well(key, state, action):
            state = state + action
            obs, done = jnp.sin(state), jnp.abs(state).max() > 2.0
            fresh, fresh_obs = reset(key)
            state = jnp.where(done, fresh, state)
            return state, Seen(jnp.where(done, fresh_obs, obs), -obs.sum())
        """,
    "a network's memory beside a world that is reset, by whatever name": """
        def move(key, world, push):
            world = world + push
            done = jnp.abs(world).max(axis=-1) > 1.0
            start = jax.random.uniform(key, world.shape)
            return jnp.where(done[:, None], start, world), done

        def think(weights, mind, seen):
            return jnp.tanh(mind @ weights["own"] + seen @ weights["seen"])

        def forgets_nothing(weights, mind, world, keys):
            def tick(carry, key):
                mind, world = carry
                mind = think(weights, mind, world)
                world, done = move(key, world, mind @ weights["out"])
                return (mind, world), done  # EN002

            return lax.scan(tick, (mind, world), keys)

        def forgets(weights, mind, world, keys):
            def tick(carry, key):
                mind, world = carry
                mind = think(weights, mind, world)
                world, done = move(key, world, mind @ weights["out"])
                return (jnp.where(done[:, None], 0.0, mind), world), done

            return lax.scan(tick, (mind, world), keys)

        def averages(weights, mean_of_all, world, keys):
            def tick(carry, key):
                average, world = carry
                average = 0.9 * average + 0.1 * world.mean(axis=0)
                world, done = move(key, world, (world - average) @ weights["out"])
                return (average, world), done

            return lax.scan(tick, (mean_of_all, world), keys)
        """,
    "one of two parts of a memory": """
        from typing import NamedTuple

        class Memory(NamedTuple):
            hidden: jax.Array
            cell: jax.Array
            scale: jax.Array

        def advance(weights, memory, x):
            gate = jax.nn.sigmoid(memory.hidden @ weights + x)
            cell = gate * memory.cell + x
            return Memory(jnp.tanh(cell), cell, memory.scale)

        def half(memory, begins):
            hidden = jnp.where(begins[:, None], 0.0, memory.hidden)
            return Memory(hidden, memory.cell, memory.scale)  # EN012

        def all_of_it(memory, begins):
            hidden = jnp.where(begins[:, None], 0.0, memory.hidden)
            cell = jnp.where(begins[:, None], 0.0, memory.cell)
            return Memory(hidden, cell, memory.scale)

        def padded(memory, valid):
            hidden = jnp.where(valid[:, None], memory.hidden, 0.0)
            return Memory(hidden, memory.cell, memory.scale)

        def run(weights, memory, xs, begins):
            def first(memory, x):
                return advance(weights, half(memory, x[1]), x[0]), None

            def second(memory, x):
                return advance(weights, all_of_it(memory, x[1]), x[0]), None

            memory, _ = lax.scan(first, memory, (xs, begins))
            return lax.scan(second, memory, (xs, begins))
        """,
    "a window that a helper moves on": """
        def push(frames, frame):
            return jnp.concatenate([frames[1:], frame[None]])

        def keeps(state, action, key):
            place = state["place"] + action
            done = jnp.abs(place) > 3.0
            place = jnp.where(done, jax.random.uniform(key), place)
            return {
                "place": place,
                "frames": push(state["frames"], jnp.sin(place)),  # EN002
            }

        def clears(state, action, key):
            place = state["place"] + action
            done = jnp.abs(place) > 3.0
            place = jnp.where(done, jax.random.uniform(key), place)
            moved = push(state["frames"], jnp.sin(place))
            return {"place": place, "frames": jnp.where(done, jnp.sin(place), moved)}
        """,
    "the memory of a cell with gates, below a step that knows where episodes begin": """
        def cell(p, h, x):
            reset = jax.nn.sigmoid(x @ p["xr"] + h @ p["hr"])
            update = jax.nn.sigmoid(x @ p["xz"] + h @ p["hz"])
            new = jnp.tanh(x @ p["xn"] + reset * (h @ p["hn"]))
            return (1.0 - update) * new + update * h

        def act(p, memory, obs, first):
            h, age = memory
            age = jnp.where(first, 0, age + 1)
            h = cell(p, h, jnp.concatenate([obs, age[:, None]], axis=-1))  # EN002
            return h, age

        def act_anew(p, memory, obs, first):
            h, age = memory
            age = jnp.where(first, 0, age + 1)
            h = cell(p, jnp.where(first[:, None], 0.0, h), obs)
            return h, age

        def unroll(p, memory, observations, is_first):
            def kept(memory, x):
                obs, first = x
                return act(p, memory, obs, first), memory[0]

            def anew(memory, x):
                obs, first = x
                return act_anew(p, memory, obs, first), memory[0]

            xs = (observations, is_first)
            return lax.scan(kept, memory, xs), lax.scan(anew, memory, xs)

        def entry(p, obs, is_first):
            return unroll(p, (jnp.zeros((4, 8)), jnp.zeros(4)), obs, is_first)
        """,
    "the memory of a module that linen scans": """
        import flax.linen as nn

        class Cell(nn.Module):
            @nn.compact
            def __call__(self, memory, x):
                features, resets = x
                return nn.GRUCell(8)(memory, features)  # EN002

        class Careful(nn.Module):
            @nn.compact
            def __call__(self, memory, x):
                features, resets = x
                memory = jnp.where(resets[:, None], 0.0, memory)
                return nn.GRUCell(8)(memory, features)

        class Policy(nn.Module):
            cell: type

            @nn.compact
            def __call__(self, memory, obs, resets):
                scan = partial_scan(Cell)()
                memory, first = scan(memory, (obs, resets))
                memory, second = partial_scan(Careful)()(memory, (obs, resets))
                return memory, first + second

        def partial_scan(cell):
            return nn.scan(cell, variable_broadcast="params", split_rngs={"params": False})
        """,
    "the memory of a scanned cell that starts anew inside, while steps are taken": """
        import flax.linen as nn

        class Cell(nn.Module):
            width: int

            @functools.partial(
                nn.scan, variable_broadcast="params", split_rngs={"params": False}
            )
            @nn.compact
            def __call__(self, memory, inputs):
                seen, starts = inputs
                memory = jnp.where(starts[:, None], jnp.zeros_like(memory), memory)
                return nn.GRUCell(self.width)(memory, seen)

        class Forgetful(nn.Module):
            width: int

            @functools.partial(
                nn.scan, variable_broadcast="params", split_rngs={"params": False}
            )
            @nn.compact
            def __call__(self, memory, inputs):
                seen, starts = inputs
                seen = jnp.where(starts[:, None], 0.0, seen)
                return nn.GRUCell(self.width)(memory, seen)  # EN002

        def collect(params, state, memory, actions):
            def step(carry, action):
                state, done, memory = carry
                inputs = jax.tree.map(lambda x: x[None], (state, done))
                memory, out = Cell(8).apply(params, memory, inputs)
                state = state + action + out[0]
                done = jnp.abs(state).sum(-1) > 2.0
                state = jnp.where(done[:, None], 0.0, state)
                return (state, done, memory), (state, done)

            return lax.scan(step, (state, jnp.zeros(4, bool), memory), actions)

        def collect_on(params, state, memory, actions):
            def step(carry, action):
                state, done, memory = carry
                inputs = jax.tree.map(lambda x: x[None], (state, done))
                memory, out = Forgetful(8).apply(params, memory, inputs)
                state = state + action + out[0]
                done = jnp.abs(state).sum(-1) > 2.0
                state = jnp.where(done[:, None], 0.0, state)
                return (state, done, memory), (state, done)  # EN002

            return lax.scan(step, (state, jnp.zeros(4, bool), memory), actions)
        """,
    "a network that gets the flags with its memory": """
        def rollout(network, env, params, hidden, obs, state, n):
            def step(carry, _):
                hidden, obs, last_done, state = carry
                hidden, action = network.apply(params, hidden, (obs[None], last_done[None]))
                obs, state, reward, done = env.step(state, action)
                return (hidden, obs, done, state), (obs, reward, done)

            start = jnp.zeros(8, bool)
            carry, rolled = lax.scan(step, (hidden, obs, start, state), None, length=n)
            hidden, obs, _, state = carry
            return hidden, obs, state, rolled

        def train(network, env, params, hidden, obs, state, n, turns):
            def turn(carry, _):
                hidden, obs, state = carry
                *carry, rolled = rollout(network, env, params, hidden, obs, state, n)
                seen, rewards, dones = rolled
                return tuple(carry), (rewards, dones)

            return lax.scan(turn, (hidden, obs, state), None, length=turns)

        def without(network, env, params, hidden, obs, state, n):
            def step(carry, _):
                hidden, obs, state = carry
                hidden, action = network.apply(params, hidden, obs)
                obs, state, reward, done = env.step(state, action)
                return (hidden, obs, state), (obs, reward, done)  # EN002

            return lax.scan(step, (hidden, obs, state), None, length=n)
        """,
    "a memory past marks that tell where something begins": """
        def think(weights, mind, seen):
            return jnp.tanh(mind @ weights + seen)

        def goes_on(weights, mind, seen, starts):
            def tick(mind, row):
                now, first = row
                mind = think(weights, mind, now)  # EN002
                length = jnp.sqrt((mind**2).sum(-1))
                scaled = mind / length[:, None]
                loud = length > 1.0
                return mind, (scaled, loud | first)

            return lax.scan(tick, mind, (seen, starts))

        def starts_anew(weights, mind, seen, starts):
            def tick(mind, row):
                now, first = row
                mind = think(weights, jnp.where(first[:, None], 0.0, mind), now)
                return mind, first

            return lax.scan(tick, mind, (seen, starts))

        def smooths(weights, level, seen, starts):
            def tick(level, row):
                now, first = row
                level = 0.9 * level + 0.1 * now
                return level, jnp.where(first[:, None], now, level) @ weights

            return lax.scan(tick, level, (seen, starts))

        def entry(weights, mind, seen, starts):
            given = (weights, mind, seen, starts)
            return goes_on(*given), starts_anew(*given), smooths(*given)

        def inputs():
            marks = jnp.zeros((6, 3), bool)
            return jnp.eye(4), jnp.zeros((3, 4)), jnp.ones((6, 3, 4)), marks
        """,
    "the cell of a memory of which the other part is reset": """
        def cell(weights, memory, seen):
            out, kept = memory
            gates = jnp.split(seen @ weights["seen"] + out @ weights["own"], 3, axis=-1)
            keep, add, show = (jax.nn.sigmoid(it) for it in gates)
            kept = keep * kept + add
            return show * jnp.tanh(kept), kept

        def half(weights, memory, seen, dones):
            def tick(memory, row):
                now, done = row
                out, kept = cell(weights, memory, now)
                score = (out**2).sum(-1)
                score = jnp.where(done, 0.0, score)
                out = jnp.where(done[:, None], 0.0, out)
                return (out, kept), score  # EN002

            return lax.scan(tick, memory, (seen, dones))
        """,
    "ends that are called otherwise, beside rewards": """
        from typing import NamedTuple

        class Log(NamedTuple):
            running: jax.Array
            length: jax.Array
            last: jax.Array

        def step(state, action):
            state = state + action
            over = jnp.abs(state) > 2.0
            return jnp.where(over, 0.0, state), -jnp.abs(state), over

        def goes_on(log, state, action):
            state, reward, over = step(state, action)
            total, length = log.running + reward, log.length + 1
            last = jnp.where(over, total, log.last)
            return Log(running=total, length=length * (1 - over), last=last), state  # EN012

        def starts_anew(log, state, action):
            state, reward, over = step(state, action)
            total, length = log.running + reward, log.length + 1
            last = jnp.where(over, total, log.last)
            return Log(running=total * (1 - over), length=length * (1 - over), last=last), state

        def remembers(weights, states, memory, pushes):
            def turn(carry, push):
                state, memory = carry
                memory = jnp.tanh(memory @ weights + state[:, None])
                state, reward, over = step(state, memory.sum(-1) + push)
                return (state, memory), reward  # EN002

            return lax.scan(turn, (states, memory), pushes)

        def forgets(weights, states, memory, pushes):
            def turn(carry, push):
                state, memory = carry
                memory = jnp.tanh(memory @ weights + state[:, None])
                state, reward, over = step(state, memory.sum(-1) + push)
                return (state, jnp.where(over[:, None], 0.0, memory)), reward

            return lax.scan(turn, (states, memory), pushes)

        def writes(weights, tokens, memory, finished):
            def turn(carry, _):
                token, memory, finished = carry
                memory = jnp.tanh(memory @ weights + token[:, None])
                token = jnp.where(finished, 0, memory.argmax(-1))
                return (token, memory, finished | (token == 1)), token

            return lax.scan(turn, (tokens, memory, finished), None, length=20)
        """,
    "a window in the carry of a loop, past what a reset has drawn": """
        def start(key):
            return {"row": jnp.zeros((), jnp.int32), "col": jax.random.randint(key, (), 0, 4)}

        def game_step(key, game, move):
            moved = {"row": game["row"] + 1, "col": game["col"] + move}
            landed = moved["row"] >= 3
            reward = jnp.where(landed, moved["col"], 0)
            return lax.cond(landed, lambda: start(key), lambda: moved), reward, landed

        def shown(game):
            return jnp.zeros((4, 4)).at[game["row"], game["col"]].set(1.0)

        def keeps(key, game, seen):
            def turn(carry, key):
                game, seen = carry
                game, reward, landed = game_step(key, game, 1)
                seen = jnp.concatenate([seen[1:], shown(game)[None]])  # EN002
                return (game, seen), reward

            return lax.scan(turn, (game, seen), jax.random.split(key, 9))

        def clears(key, game, seen):
            def turn(carry, key):
                game, seen = carry
                game, reward, landed = game_step(key, game, 1)
                seen = jnp.concatenate([seen[1:] * (1 - landed), shown(game)[None]])
                return (game, seen), reward

            return lax.scan(turn, (game, seen), jax.random.split(key, 9))

        def paid(key, game, last):
            def turn(carry, key):
                game, last = carry
                game, reward, landed = game_step(key, game, 1)
                return (game, jnp.concatenate([last[1:], reward[None]])), landed

            return lax.scan(turn, (game, last), jax.random.split(key, 9))

        def tumbles(key, place, way):
            def turn(carry, key):
                place, way = carry
                hit = jnp.abs(place + way) > 1.0
                way = lax.cond(hit, lambda: jax.random.normal(key), lambda: way)
                return (place + way, way), hit

            return lax.scan(turn, (place, way), jax.random.split(key, 9))
        """,
    "a cell whose gates know of ends only by what is cleared beside it": """
        def cell(weights, x, h, c):
            i, f, g, o = jnp.split(x + h @ weights, 4, axis=-1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            return jax.nn.sigmoid(o) * jnp.tanh(c), c

        def half(weights, h, c, xs, is_first):
            def step(carry, now):
                (h, c), (x, first) = carry, now
                h = h * (1.0 - first[:, None])
                h, c = cell(weights, x, h, c)  # EN002
                return (h, c), h

            return lax.scan(step, (h, c), (xs, is_first))

        def whole(weights, h, c, xs, is_first):
            def step(carry, now):
                (h, c), (x, first) = carry, now
                keep = 1.0 - first[:, None]
                h, c = cell(weights, x, h * keep, c * keep)
                return (h, c), h

            return lax.scan(step, (h, c), (xs, is_first))
        """,
    "a helper that clears one part of a memory, and gives the other back": """
        import equinox as eqx
        import typing

        class Memory(typing.NamedTuple):
            hidden: jax.Array
            cell: jax.Array

        class Net(eqx.Module):
            lstm: eqx.nn.LSTMCell

            def recall(self, memory, first):
                keep = jnp.where(first, 0.0, 1.0)
                return Memory(hidden=keep * memory.hidden, cell=memory.cell)  # EN002

            def clear(self, memory, first):
                keep = jnp.where(first, 0.0, 1.0)
                return Memory(hidden=keep * memory.hidden, cell=keep * memory.cell)

            def step(self, memory, row):
                obs, first = row
                memory = Memory(*self.lstm(obs, tuple(self.recall(memory, first))))
                return memory, memory.hidden

            def again(self, memory, row):
                obs, first = row
                memory = Memory(*self.lstm(obs, tuple(self.clear(memory, first))))
                return memory, memory.hidden

        def entry(net, memory, obs, first):
            _, half = lax.scan(lambda m, row: net.step(m, row), memory, (obs, first))
            return half, lax.scan(lambda m, row: net.again(m, row), memory, (obs, first))

        def inputs():
            net, memory = Net(eqx.nn.LSTMCell(3, 4, key=jax.random.key(0))), jnp.ones(4)
            return net, Memory(memory, 2 * memory), jnp.ones((9, 3)), jnp.zeros(9, bool)
        """,
}


@each_of(PROGRAMS)
def test_programs_have_what_they_claim(program: str):
    check_claims(program, "env")


RECALLED = """
    from typing import NamedTuple

    import equinox as eqx

    class Memory(NamedTuple):
        hidden: jax.Array
        cell: jax.Array

    class Net(eqx.Module):
        lstm: eqx.nn.LSTMCell

        def __init__(self, key):
            self.lstm = eqx.nn.LSTMCell(5, 6, key=key)

        def recall(self, memory, first):
            keep = jnp.where(first, 0.0, 1.0)
            return Memory(hidden=keep * memory.hidden, cell=memory.cell)

        def unroll(self, memory, obs, first):
            def step(memory, row):
                obs, first = row
                memory = Memory(*self.lstm(obs, tuple(self.recall(memory, first))))
                return memory, memory.hidden

            return lax.scan(step, memory, (obs, first))

    def main(key, obs, starts):
        start = Memory(jnp.zeros(6), jnp.zeros(6))
        return Net(key).unroll(start, obs, starts.astype(bool))
"""


def test_one_of_two_arrays_that_a_cell_remembers_is_not_started_anew():
    assert found("EN002", RECALLED) == [17]
    assert found("EN002", RECALLED.replace("cell=memory", "cell=keep * memory")) == []
