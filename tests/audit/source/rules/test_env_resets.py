"""What starts anew, and when, known by what it does, whatever it is called."""

import textwrap

from .claims import check_claims, each_of

PROGRAMS = {
    "one flag for all, however it is made and asked": """
        class World(NamedTuple):
            place: jax.Array
            clock: jax.Array

        def moved(world, push):
            return World(world.place + push, world.clock + 1)

        def begun(world):
            return World(jnp.zeros_like(world.place), jnp.zeros_like(world.clock))

        def scaled(world, push):
            world = moved(world, push)
            done = world.clock > 9
            kept = 1 - done.any().astype(jnp.int32)
            return World(world.place * kept, world.clock * kept)  # EN001

        def switched(world, push):
            world = moved(world, push)
            done = world.clock > 9
            return lax.switch(  # EN001
                done.max().astype(int), [lambda: world, lambda: begun(world)]
            )

        def while_all(world, push):
            world = moved(world, push)
            alive = world.clock < 9
            return lax.cond(jnp.all(alive), lambda: world, lambda: begun(world))  # EN001

        def if_none(world, push):
            world = moved(world, push)
            done = world.clock > 9
            return lax.cond(jnp.sum(done) == 0, lambda: world, lambda: begun(world))  # EN001

        def spread(world, push):
            world = moved(world, push)
            done = world.clock > 9
            some = ~jnp.full_like(done, ~jnp.any(done, keepdims=True))
            clock = jnp.where(done, 0, world.clock)
            return World(jnp.where(some[:, None], 0.0, world.place), clock)  # EN001

        def once_all(world, push):
            world = moved(world, push)
            done = world.clock > 9
            return lax.cond(jnp.all(done), lambda: begun(world), lambda: world)

        def by_each(world, push):
            world = moved(world, push)
            done = world.clock > 9
            count = done.any() * world.place.mean()
            return World(world.place * (1.0 - done[:, None]), world.clock * (1 - done)), count

        def taken_back(world, push, tolerance):
            new = moved(world, push)
            error = jnp.abs(new.place - world.place).max(axis=-1)
            return lax.cond(jnp.all(error < tolerance), lambda: new, lambda: world)

        def entry(world, push):
            made = [scaled(world, push), switched(world, push), while_all(world, push)]
            made += [if_none(world, push), spread(world, push), once_all(world, push)]
            return made, by_each(world, push), taken_back(world, push, 0.1)

        def inputs():
            return World(jnp.ones((3, 2)), jnp.arange(3)), jnp.ones((3, 2))
        """,
    "lanes of a map that finish one by one": """
        class World(NamedTuple):
            place: jax.Array
            speed: jax.Array

        def begin(key):
            return World(jax.random.normal(key, (2,)), jnp.zeros(2))

        def move(world, push):
            speed = world.speed + push
            world = World(world.place + speed, speed)
            return world, jnp.abs(world.place[0]) > 3.0

        def together(worlds, pushes, key):
            worlds, gone = jax.vmap(move)(worlds, pushes)
            again = lambda old: jax.vmap(begin)(jax.random.split(key, 8))
            return lax.cond(jnp.any(gone), again, lambda old: old, worlds)  # EN001

        def counted(worlds, pushes, key):
            worlds, gone = jax.vmap(move)(worlds, pushes)
            fresh = jax.vmap(begin)(jax.random.split(key, 8))
            pick = lambda new, old: jnp.where(jnp.sum(gone) > 0, new, old)  # EN001
            return jax.tree.map(pick, fresh, worlds)

        def largest(worlds, pushes, key):
            worlds, gone = jax.vmap(move)(worlds, pushes)
            fresh = jax.vmap(begin)(jax.random.split(key, 8))
            over = jnp.max(gone.astype(jnp.float32)) > 0.0
            pick = lambda new, old: lax.select(jnp.broadcast_to(over, old.shape), new, old)  # EN001
            return jax.tree.map(pick, fresh, worlds)

        def when_most_are_gone(worlds, pushes, key):
            worlds, gone = jax.vmap(move)(worlds, pushes)
            again = lambda old: jax.vmap(begin)(jax.random.split(key, 8))
            return lax.cond(jnp.sum(gone) > 4, again, lambda old: old, worlds)

        def one_by_one(worlds, pushes, key):
            worlds, gone = jax.vmap(move)(worlds, pushes)
            fresh = jax.vmap(begin)(jax.random.split(key, 8))
            pick = lambda new, old: jnp.where(gone[:, None], new, old)
            return jax.tree.map(pick, fresh, worlds), jnp.any(gone)

        def until_one_fails(worlds, pushes):
            moved, _ = jax.vmap(move)(worlds, pushes)
            broken = jax.vmap(lambda it: jnp.isnan(it.place[0]))(moved)
            return lax.cond(jnp.any(broken), lambda: worlds, lambda: moved)
        """,
    "the first of several that decides for all, handed to a helper": """
        def pick(flag, new, old):
            shaped = lambda like: jnp.reshape(flag, flag.shape + (1,) * (like.ndim - flag.ndim))
            return jax.tree.map(lambda a, b: jnp.where(shaped(a), a, b), new, old)

        def leader(place, push, key):
            place = place + push
            gone = jnp.linalg.norm(place, axis=-1) > 1.0
            fresh = jax.random.uniform(key, place.shape)
            return pick(gone[0], fresh, place)  # EN001

        def each(place, push, key):
            place = place + push
            gone = jnp.linalg.norm(place, axis=-1) > 1.0
            return pick(gone, jax.random.uniform(key, place.shape), place)

        def of_a_pair(place, push, key):
            place, flags = place + push, (push > 0.0, place > 0.0)
            return pick(flags[0], jax.random.uniform(key, place.shape), place)

        def entry(place, push, key):
            found = leader(place, push, key), each(place, push, key)
            return found, of_a_pair(place, push, key)

        def inputs():
            return jnp.ones((4, 2)), jnp.ones((4, 2)), jax.random.key(0)
        """,
    "rewards of the state before and after a reset": """
        def reset(key):
            return {"x": jax.random.uniform(key), "t": jnp.zeros(())}

        def paid(state, action):
            return 1.0 - state["x"] ** 2 - 0.1 * action**2

        def late(key, state, action):
            moved = {"x": state["x"] + action, "t": state["t"] + 1}
            done = jnp.abs(moved["x"]) > 1.0
            new = jax.tree.map(lambda a, b: jnp.where(done, a, b), reset(key), moved)
            reward = paid(new, action)  # EN023
            return new, reward, done

        def in_time(key, state, action):
            moved = {"x": state["x"] + action, "t": state["t"] + 1}
            done = jnp.abs(moved["x"]) > 1.0
            reward = paid(moved, action)
            new = jax.tree.map(lambda a, b: jnp.where(done, a, b), reset(key), moved)
            return new, reward, done

        def reset_first(key, state, action, done):
            state = jax.tree.map(lambda a, b: jnp.where(done, a, b), reset(key), state)
            moved = {"x": state["x"] + action, "t": state["t"] + 1}
            reward = paid(moved, action)
            return moved, reward, jnp.abs(moved["x"]) > 1.0
        """,
    "rewards in a record of what comes after a reset": """
        class Turn(NamedTuple):
            x: jax.Array
            reward: jax.Array
            done: jax.Array

        def late(key, x, action):
            x = x + action
            done = jnp.abs(x).max() > 2.0
            x = jnp.select([done], [jax.random.uniform(key, (2,))], x)
            return Turn(x, -jnp.sum(x**2), done)  # EN023

        def started(key):
            return Turn(jax.random.uniform(key, (2,)), jnp.zeros(()), jnp.zeros((), bool))

        def set_back_as_well(key, x, action):
            x = x + action
            done = jnp.abs(x).max() > 2.0
            new = Turn(x, -jnp.sum(x**2), done)
            return jax.tree.map(lambda a, b: jnp.where(done, a, b), started(key), new)
        """,
    "a start that is not called a reset": """
        class Ball(NamedTuple):
            height: jax.Array
            age: jax.Array

        def drop(key):
            return Ball(jax.random.uniform(key), jnp.zeros(()))

        def fall(ball, wind):
            return Ball(ball.height - 0.1 + wind, ball.age + 1)

        def reversed_sides(ball, wind, key):
            ball = fall(ball, wind)
            over = (ball.height < 0.0) | (ball.age > 20)
            new = drop(key)
            return jax.tree.map(lambda a, b: jnp.where(over, a, b), ball, new)  # EN008

        def right_sides(ball, wind, key):
            ball = fall(ball, wind)
            over = (ball.height < 0.0) | (ball.age > 20)
            new = drop(key)
            return jax.tree.map(lambda a, b: jnp.where(over, a, b), new, ball)

        def by_branches(ball, wind, key):
            ball = fall(ball, wind)
            stop = ball.height < 0.0
            return lax.cond(stop, lambda: ball, lambda: drop(key))  # EN008

        def still_up(ball, wind, key):
            ball = fall(ball, wind)
            running = ball.height > 0.0
            return lax.cond(running, lambda: ball, lambda: drop(key))

        def explore(params, seen, step, key):
            first, second = jax.random.split(key)
            out = jax.random.uniform(first) < 1.0 / step
            return jnp.where(out, seen @ params, jax.random.normal(second))
        """,
    "a part that nothing ever changes, which an example has made": """
        from typing import NamedTuple

        class World(NamedTuple):
            place: jax.Array
            clock: jax.Array
            wall: jax.Array

        def again(world, starts, done):
            return world._replace(
                place=jnp.where(done[:, None], starts, world.place),
                clock=jnp.where(done, 0, world.clock),
            )

        def entry(place, starts, wall, clock):
            world = World(place, clock, wall)
            world = world._replace(place=world.place + 0.1, clock=world.clock + 1)
            return again(world, starts, world.clock > 5)

        def inputs():
            wall = np.random.default_rng(0).normal(size=(4, 2))
            return jnp.ones((4, 2)), jnp.zeros((4, 2)), jnp.asarray(wall), jnp.arange(4)
        """,
    "a clock that does not start anew": """
        def throw(key):
            return jax.random.normal(key, (2,))

        def forgets_the_clock(keys, start):
            def turn(carry, key):
                x, t = carry
                x, t = 0.9 * x, t + 1
                late = (t >= 50) | (jnp.abs(x[0]) > 2.0)
                x = jnp.where(late, throw(key), x)
                return (x, t), x  # EN012

            return lax.scan(turn, (start, 0), keys)

        def sets_it_back(keys, start):
            def turn(carry, key):
                x, t = carry
                x, t = 0.9 * x, t + 1
                late = (t >= 50) | (jnp.abs(x[0]) > 2.0)
                x = jnp.where(late, throw(key), x)
                t = jnp.where(late, 0, t)
                return (x, t), x

            return lax.scan(turn, (start, 0), keys)

        def now_and_then(keys, start):
            def turn(carry, key):
                x, t = carry
                x = jnp.where(t % 10 == 0, throw(key), 0.9 * x)
                return (x, t + 1), x

            return lax.scan(turn, (start, 0), keys)

        def after_a_while(keys, start):
            def turn(carry, key):
                x, t = carry
                x = jnp.where(t < 10, throw(key), 0.9 * x)
                return (x, t + 1), x

            return lax.scan(turn, (start, 0), keys)

        def goes_on_from_the_best(losses, start):
            def turn(carry, loss):
                x, best, t = carry
                best = jnp.where(loss < 0.0, x, best)
                x = jnp.where(t >= 50, best, x - loss)
                return (x, best, t + 1), x

            return lax.scan(turn, (start, start, 0), losses)
        """,
    "lanes that add up what comes after their end": """
        class Try(NamedTuple):
            place: jax.Array
            through: jax.Array
            earned: jax.Array
            taken: jax.Array

        def walk(place):
            return 0.9 * place, -jnp.abs(place), jnp.abs(place) < 0.1

        def counts_all(start):
            def body(it):
                place, gain, arrived = jax.vmap(walk)(it.place)
                through = it.through | arrived
                earned = it.earned + gain  # EN016
                return Try(place, through, earned, it.taken + ~it.through)

            first = Try(start, start > 9.0, jnp.zeros(4), jnp.zeros(4))
            return lax.while_loop(lambda it: ~jnp.all(it.through), body, first)

        def counts_alone(start):
            def body(carry):
                place, through, earned = carry
                place, gain, arrived = jax.vmap(walk)(place)
                earned = earned + gain  # EN016
                return place, through | arrived, earned

            first = start, start > 9.0, jnp.zeros(4)
            return lax.while_loop(lambda it: ~jnp.all(it[1]), body, first)

        def counts_while_any_moves(start):
            def body(carry):
                place, through, earned = carry
                place, gain, arrived = jax.vmap(walk)(place)
                return place, through | arrived, earned + gain

            first = start, start > 9.0, jnp.zeros(4)
            return lax.while_loop(lambda it: jnp.sum(it[0]) > 0.1, body, first)

        def moves_on_unseen(start, winds):
            def body(carry, wind):
                place, going, taken = carry
                place = place + 0.1 * wind
                taken = taken + going
                return (place, going & (jnp.abs(place).max() < 9.0), taken), None

            return lax.scan(body, (start, True, 0), winds)[0][2]

        def moves_on(start):
            def body(carry, _):
                place, going, taken = carry
                place = place + 0.1 * jnp.tanh(place)
                taken = taken + going
                return (place, going & (jnp.abs(place).max() < 9.0), taken), None

            return lax.scan(body, (start, True, 0), None, 25)[0]

        def counts_until_then(start):
            def body(it):
                place, gain, arrived = jax.vmap(walk)(it.place)
                through = it.through | arrived
                earned = it.earned + jnp.where(it.through, 0.0, gain)
                return Try(place, through, earned, it.taken + ~it.through)

            first = Try(start, start > 9.0, jnp.zeros(4), jnp.zeros(4))
            return lax.while_loop(lambda it: ~jnp.all(it.through), body, first)

        def stops_by_itself(start):
            def body(it):
                place, gain, arrived = jax.vmap(walk)(it.place)
                gain = gain * (place > 0.0)
                return Try(place, it.through | arrived, it.earned + gain, it.taken + 1)

            first = Try(start, start > 9.0, jnp.zeros(4), jnp.zeros(4))
            return lax.while_loop(lambda it: ~jnp.all(it.through), body, first)
        """,
    "what is stored after a reset": """
        class Item(NamedTuple):
            obs: jax.Array
            reward: jax.Array
            next_obs: jax.Array
            terminated: jax.Array

        def step(state, action, key):
            after = state + action
            terminated, late = jnp.abs(after[0]) > 2.0, after[1] > 50
            over = terminated | late
            fresh = jax.random.normal(key, (2,))
            return jnp.where(over, fresh, after), -after[0] ** 2, terminated, after

        def first_of_the_next(w, obs, actions, keys):
            seen, reward, terminated, final = jax.vmap(step)(obs, actions, keys)
            item = Item(
                obs=obs,
                reward=reward,
                next_obs=seen,  # EN004
                terminated=terminated,
            )
            y = item.reward + 0.99 * (1.0 - item.terminated) * (item.next_obs @ w)
            return y

        def last_of_this(w, obs, actions, keys):
            seen, reward, terminated, final = jax.vmap(step)(obs, actions, keys)
            item = Item(obs, reward, final, terminated)
            y = item.reward + 0.99 * (1.0 - item.terminated) * (item.next_obs @ w)
            return y, seen
        """,
    "flags of lanes that a collective joins": """
        def swing(key, speed, torque):
            moved = speed + 0.1 * torque
            fell = jnp.abs(moved) > 8.0
            again = lax.pmax(fell.astype(jnp.int32), "lanes") > 0  # EN001
            return jnp.where(again, jax.random.normal(key), moved), lax.pmean(moved, "lanes")

        def swing_alone(key, speed, torque):
            moved = speed + 0.1 * torque
            fell = jnp.abs(moved) > 8.0
            some = lax.pmax(fell.astype(jnp.int32), "lanes")
            return jnp.where(fell, jax.random.normal(key), moved), some

        def play(key, place, move):
            place = place + move
            lost = jnp.abs(place) > 8.0
            over = lax.pmax(lost.astype(jnp.int32), "players") > 0
            return jnp.where(over, jax.random.normal(key), place), over

        def entry(keys, speeds, torques):
            wrong = jax.vmap(swing, axis_name="lanes")(keys, speeds, torques)
            right = jax.vmap(swing_alone, axis_name="lanes")(keys, speeds, torques)
            return wrong, right, jax.vmap(play, axis_name="players")(keys, speeds, torques)
        """,
    "a count of ends that are numbers, of a state before it goes on": """
        class Bandit(NamedTuple):
            context: jax.Array
            done: jax.Array

        def pull(bandit, arm):
            payoff = (bandit.context * arm).sum(axis=1)
            context = 0.9 * bandit.context + 0.1
            return Bandit(context, (payoff > 1.5).astype(jnp.float32))

        def together(key, bandit, arm):
            bandit = pull(bandit, arm)
            anew = lambda: jax.random.normal(key, bandit.context.shape)
            context = lax.cond(bandit.done.sum() > 0, anew, lambda: bandit.context)  # EN001
            return bandit._replace(context=context)

        def alone(key, bandit, arm):
            bandit = pull(bandit, arm)
            anew = jax.random.normal(key, bandit.context.shape)
            context = jnp.where(bandit.done[:, None] > 0, anew, bandit.context)
            return bandit._replace(context=context), bandit.done.sum() > 0
        """,
    "a mean of old and new by the largest flag": """
        def mixed(pos, push):
            pos = pos + push
            done = (jnp.abs(pos).max(axis=1) > 2.0).astype(jnp.float32)
            gate = done.max()
            return (1.0 - gate) * pos + gate * jnp.zeros_like(pos), done  # EN001

        def apart(pos, push):
            pos = pos + push
            done = (jnp.abs(pos).max(axis=1) > 2.0).astype(jnp.float32)
            gate = done[:, None]
            return (1.0 - gate) * pos + gate * jnp.zeros_like(pos), done.max()

        def entry(pos, push):
            return mixed(pos, push), apart(pos, push)

        def inputs():
            return jnp.zeros((4, 3)), jnp.ones((4, 3))
        """,
}


@each_of(PROGRAMS)
def test_programs_have_what_they_claim(program: str):
    check_claims("from typing import NamedTuple\n\n" + textwrap.dedent(program), "env")
