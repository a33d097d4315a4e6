"""What is learned from rollouts; comments say what is to be found on their lines."""

from .claims import check_claims, each_of

PROGRAMS = {
    "flags by a key of a dict of any name, in lanes": """
        def bellman(reward, terminal, later):
            return jnp.where(terminal, reward, reward + 0.98 * later)

        def loss(params, old, data):
            def single(obs, reward, terminal, after):
                return (obs @ params - bellman(reward, terminal, after @ old)) ** 2

            return jax.vmap(single)(
                data["obs"], data["reward"], data["terminal"], data["after"]
            ).mean()

        def entry(params, old, data):
            return jax.grad(loss)(params, old, data)

        def inputs():
            ones, flags = jnp.ones((5, 4)), jnp.zeros(5, bool)
            data = {"obs": ones, "reward": jnp.ones(5), "terminal": flags, "after": ones}
            return jnp.ones(4), jnp.ones(4), data
        """,
    "factors made of flags, by another name and in lanes": """
        def leaks(errors, weights, going):
            def fold(later, row):
                error, weight, factor = row
                later = error + 0.9 * weight * later  # EN002
                return later, (later, factor)

            return lax.scan(fold, 0.0, (errors, weights, going), reverse=True)[1]

        def stops(errors, weights, going):
            def fold(later, row):
                error, weight, factor = row
                later = error + factor * weight * later
                return later, (later, factor)

            return lax.scan(fold, 0.0, (errors, weights, going), reverse=True)[1]

        def both(errors, weights, done):
            going = 0.99 * (1.0 - done.astype(jnp.float32))
            rows = (errors, weights, going)
            return jax.vmap(leaks)(*rows), jax.vmap(stops)(*rows)

        def of_other_things(errors, weights, done):
            share = 0.99 * (1.0 - weights)
            return jax.vmap(leaks)(errors * (1.0 - done), weights, share)
        """,
    "factors of an associative scan over errors that stop at ends": """
        def joined(later, earlier):
            return later[0] * earlier[0], earlier[1] + earlier[0] * later[1]

        def leaks(reward, done, values, following, gamma=0.99):
            deltas = reward + gamma * (1.0 - done) * following - values
            decays = jnp.full_like(deltas, 0.9 * gamma)  # EN002
            return lax.associative_scan(joined, (decays, deltas), reverse=True)[1]

        def stops(reward, done, values, following, gamma=0.99):
            deltas = reward + gamma * (1.0 - done) * following - values
            decays = 0.9 * gamma * (1.0 - done)
            return lax.associative_scan(joined, (decays, deltas), reverse=True)[1]

        def whole(reward, done, gamma=0.99):
            decays = jnp.full_like(reward, gamma)
            return lax.associative_scan(joined, (decays, reward * (1.0 - done)), reverse=True)[1]
        """,
    "advantages in a loop of Python's": """
        def leaks(rewards, dones, values, last, gamma, lam):
            total, following, found = jnp.zeros_like(last), last, []
            for t in reversed(range(9)):
                going_on = 1.0 - dones[t]
                delta = rewards[t] + gamma * following * going_on - values[t]
                total = delta + gamma * lam * total  # EN002
                following = values[t]
                found.append(total)
            return jnp.stack(found[::-1])

        def stops(rewards, dones, values, last, gamma, lam):
            total, following, found = jnp.zeros_like(last), last, []
            for t in reversed(range(9)):
                going_on = 1.0 - dones[t]
                delta = rewards[t] + gamma * following * going_on - values[t]
                total = delta + gamma * lam * going_on * total
                following = values[t]
                found.append(total)
            return jnp.stack(found[::-1])

        def drives(env, state, policy):
            done = False
            while not done:
                state, reward, done = env.step(0.5 * state, policy(state))
            return state
        """,
    "windows of steps, by slices of a fixed size": """
        def leaks(rewards, discounts, values, gamma=0.97):
            target = lax.dynamic_slice_in_dim(values, 2, 6)
            for offset in reversed(range(3)):
                reward = lax.dynamic_slice_in_dim(rewards, offset, 6)
                target = reward + gamma * target  # EN005
            return target

        def stops(rewards, discounts, values):
            target = lax.dynamic_slice_in_dim(values, 2, 6)
            for offset in reversed(range(3)):
                reward = lax.dynamic_slice_in_dim(rewards, offset, 6)
                target = reward + lax.dynamic_slice_in_dim(discounts, offset, 6) * target
            return target
        """,
    "discounts that a rollout keeps": """
        from typing import NamedTuple

        class Step(NamedTuple):
            obs: jax.Array
            reward: jax.Array
            next_obs: jax.Array
            discount: jax.Array

        def roll(keys, obs, clock, is_kept):
            def body(carry, key):
                obs, clock = carry
                moved = 0.9 * obs + 0.1
                terminated = jnp.abs(moved).max(axis=-1) > 1.2
                truncated = clock + 1 >= 20
                over = terminated | truncated
                fresh = jax.random.uniform(key, obs.shape)
                following = jnp.where(over[:, None], fresh, moved)
                cut = Step(obs, obs.sum(-1), moved, 0.99 * (1.0 - over))  # EN017
                exact = Step(obs, obs.sum(-1), moved, 0.99 * (1.0 - terminated))
                replaced = Step(obs, obs.sum(-1), following, 0.99 * (1.0 - over))
                carry = following, jnp.where(over, 0, clock + 1)
                return carry, (cut, exact, replaced)

            return lax.scan(body, (obs, clock), keys)[1]

        def error(critic, step):
            return step.reward + step.discount * critic(step.next_obs) - critic(step.obs)

        def errors(w, keys, obs, clock):
            cut, exact, replaced = roll(keys, obs, clock, True)
            critic = lambda it: it @ w
            return error(critic, cut), error(critic, exact), error(critic, replaced)
        """,
    "errors that stop at ends, and what adds them up": """
        def errors(reward, done, values, last, gamma):
            following = jnp.concatenate([values[1:], last[None]])
            return reward + gamma * (1.0 - done) * following - values

        def leaks(reward, done, values, last, weights, gamma=0.99):
            following = jnp.concatenate([values[1:], last[None]])
            deltas = weights * (reward + gamma * (1.0 - done) * following - values)

            def back(total, t):
                total = deltas[t] + gamma * weights[t] * total  # EN002
                return total, total

            return lax.scan(back, jnp.zeros_like(last), jnp.arange(9), reverse=True)[1]

        def stops(reward, done, values, last, weights, gamma=0.99):
            discount = gamma * (1.0 - done)
            following = jnp.concatenate([values[1:], last[None]])
            deltas = weights * (reward + discount * following - values)

            def back(total, t):
                total = deltas[t] + discount[t] * weights[t] * total
                return total, total

            return lax.scan(back, jnp.zeros_like(last), jnp.arange(9), reverse=True)[1]

        def paid_until_the_end(reward, done, gamma=0.99):
            def back(total, paid):
                total = paid + gamma * total
                return total, total

            return lax.scan(back, jnp.zeros(3), reward * (1.0 - done), reverse=True)[1]
        """,
    "an estimate that goes on beside errors that stop, by settings": """
        class Step(NamedTuple):
            done: jax.Array
            value: jax.Array
            reward: jax.Array

        def advantages(steps, last, config):
            def back(carry, step):
                total, following = carry
                delta = step.reward + config["GAMMA"] * following - step.value  # EN005
                total = delta + config["GAMMA"] * config["LAMBDA"] * (1 - step.done) * total
                return (total, step.value), total

            return lax.scan(back, (jnp.zeros_like(last), last), steps, reverse=True)[1]

        def stopped(steps, last, config):
            def back(carry, step):
                total, following = carry
                goes_on = config["GAMMA"] * (1 - step.done)
                delta = step.reward + goes_on * following - step.value
                total = delta + goes_on * config["LAMBDA"] * total
                return (total, step.value), total

            return lax.scan(back, (jnp.zeros_like(last), last), steps, reverse=True)[1]
        """,
    "a target from a tuple, with and without its flag": """
        def loss(q, batch, gamma):
            obs, action, reward, next_obs, terminal = batch
            following = q(next_obs).max(axis=-1)
            return reward + gamma * following - q(obs)  # EN005

        def masked(q, batch, gamma):
            obs, action, reward, next_obs, terminal = batch
            following = q(next_obs).max(axis=-1)
            return reward + gamma * (1 - terminal) * following - q(obs)
        """,
    "discounts that are the same for all steps": """
        def returns(rewards, dones, values, gamma):
            discounts = jnp.full_like(rewards, gamma)  # EN005
            return rewards + discounts * values

        def cut(rewards, dones, values, gamma):
            discounts = jnp.full_like(rewards, gamma) * (1.0 - dones)
            return rewards + discounts * values
        """,
    "a recursion in Python that leaves its discounts aside": """
        def back(reward, discount, total, n, gamma):
            for i in reversed(range(n)):
                total = reward[i] + gamma * total  # EN005
            return total

        def well(reward, discount, total, n, gamma):
            for i in reversed(range(n)):
                total = reward[i] + gamma * discount[i] * total
            return total
        """,
    "values that are shifted and those that are not": """
        def deltas(reward, keep, values, last):
            following = jnp.concatenate([values[:-1], last[None]])
            return reward + 0.99 * keep * following - values  # EN007

        def shifted(reward, keep, values, last):
            following = jnp.concatenate([values[1:], last[None]])
            return reward + 0.99 * keep * following - values
        """,
    "the flag of the step before": """
        def gae(rollout, last, steps, gamma):
            total, following, out = 0.0, last, []
            for t in range(steps - 1, -1, -1):
                mask = 1.0 - rollout["dones"][t - 1]  # EN011
                delta = rollout["rewards"][t] + gamma * mask * following - rollout["values"][t]
                total = delta + gamma * 0.95 * mask * total
                following = rollout["values"][t]
                out.append(total)
            return out[::-1]

        def of_the_next_observation(rewards, dones, values, last_done, steps, gamma):
            for t in reversed(range(steps)):
                mask = 1.0 - (last_done if t == steps - 1 else dones[t + 1])
                yield rewards[t] + gamma * mask * values[t + 1] - values[t]
        """,
    "rewards that come with what was reached": """
        def returns(reward, value, cont, lam):
            disc = 0.99 * cont[1:]
            early = reward[1:] + (1 - lam) * disc * value[:-1]  # EN011
            return early, reward[1:] + (1 - lam) * disc * value[1:]
        """,
    "an action for one observation and its value at another": """
        def target(policy, critic, batch, gamma):
            obs, action, reward, next_obs, done = batch
            chosen = policy(obs)  # EN007
            return reward + gamma * (1 - done) * critic(next_obs, chosen)

        def well(policy, critic, batch, gamma):
            obs, action, reward, next_obs, done = batch
            chosen = policy(next_obs)
            return reward + gamma * (1 - done) * critic(next_obs, chosen)

        def remembering(network, batch, gamma):
            obs, action, reward, next_obs, done = batch
            hidden = network.memory(obs)
            return reward + gamma * (1 - done) * network.value(next_obs, hidden)
        """,
    "the value after a rollout": """
        def advantages(network, rollout, step, state, obs, n, gamma):
            def act(carry, _):
                state, obs = carry
                state, following, reward = step(state, obs)
                return (state, following), (obs, network(obs), reward)

            (state, final), (seen, values, rewards) = lax.scan(act, (state, obs), None, n)

            def back(carry, x):
                total, ahead = carry
                value, reward = x
                total = reward + gamma * ahead - value + 0.95 * total
                return (total, value), total

            last = network(seen[-1])  # EN015
            start = (jnp.zeros_like(last), last)
            wrong = lax.scan(back, start, (values, rewards), reverse=True)[1]
            last = network(final)
            start = (jnp.zeros_like(last), last)
            return wrong, lax.scan(back, start, (values, rewards), reverse=True)[1]

        def with_one_more(network, obs, rewards, gamma):
            values = network(obs[:-1])
            following = jnp.concatenate([values[1:], network(obs[-1])[None]])
            return rewards + gamma * following - values
        """,
    "flags that loops hand out, and sums that go by the name of one": """
        def finished_by(step, state, xs):
            def body(carry, x):
                state, finished = carry
                state, done = step(state, x)
                finished = finished | done
                return (state, finished), finished

            (state, _), flags = lax.scan(body, (state, jnp.array(False)), xs)
            return state, flags

        def advantages(transitions, last_value):
            def back(carry, t):
                active, next_value = carry
                delta = t.reward + 0.99 * next_value * (1.0 - t.done) - t.value
                active = delta + 0.9 * (1.0 - t.done) * active
                return (active, t.value), active

            start = (jnp.zeros_like(last_value), last_value)
            return lax.scan(back, start, transitions, reverse=True)[1]
        """,
    "masks that loops carry": """
        def evaluate(env, policy, state, n):
            def turn(i, carry):
                state, score, alive = carry
                state = env.step(state, policy(state.obs))
                score = score + state.reward
                alive = alive & ~state.done  # EN016
                return state, score, alive

            start = (state, jnp.zeros(8), jnp.ones(8, bool))
            return lax.fori_loop(0, n, turn, start)[1]

        def counted(env, policy, state, n):
            def turn(carry, _):
                state, score, alive = carry
                state = env.step(state, policy(state.obs))
                score = score + jnp.where(alive, state.reward, 0.0)
                alive = alive & ~state.done
                return (state, score, alive), None

            start = (state, jnp.zeros(8), jnp.ones(8, bool))
            return lax.scan(turn, start, None, n)[0][1]

        def asked_afterwards(env, state, n):
            def turn(carry, _):
                state, alive = carry
                state = env.step(state)
                return (state, alive & ~state.done), state.reward

            (state, alive), rewards = lax.scan(turn, (state, jnp.ones(8, bool)), None, n)
            return rewards.sum(), alive
        """,
    "time that is up": """
        def target(critic, batch, gamma):
            obs, action, reward, next_obs, terminated, truncated = batch
            keep = 1.0 - (terminated | truncated)  # EN017
            return reward + gamma * keep * critic(next_obs)

        def well(critic, batch, gamma):
            obs, action, reward, next_obs, terminated, truncated = batch
            return reward + gamma * (1.0 - terminated) * critic(next_obs)
        """,
    "ratios of probabilities": """
        def surrogate(policy, batch, advantage, clip):
            new = policy.log_prob(batch["action"])
            same = jnp.exp(new - stop_gradient(new))  # EN018
            turned = jnp.exp(batch["old_log_prob"] - new)  # EN018
            right = jnp.exp(new - batch["old_log_prob"])
            return [
                bounded(same, advantage, clip),
                jnp.minimum(1.0, turned) * advantage,
                bounded(right, advantage, clip),
            ]

        def bounded(ratio, advantage, clip):
            return jnp.minimum(ratio * advantage, jnp.clip(ratio, 1 - clip, 1 + clip) * advantage)

        def divergence(policy, batch):
            new = policy.log_prob(batch["action"])
            difference = batch["old_log_prob"] - new
            return jnp.exp(difference) - difference - 1.0

        def answered(network, params, obs, log_prob, advantage, clip):
            def loss(params, log_prob_then):
                answer = jax.vmap(lambda it: network.apply(params, it, network.actor))(obs)
                return bounded(jnp.exp(answer.log_prob - log_prob_then), advantage, clip)

            return jax.grad(loss)(params, log_prob)

        def surrogate_for_gradients(policy, batch, advantage):
            new = policy.log_prob(batch["action"])
            return jnp.exp(new - stop_gradient(new)) * advantage
        """,
    "a ratio of what was drawn one after the other": """
        import numpy as np

        def entry(then, now):
            return jnp.minimum(jnp.exp(now - then), 1.0)

        def inputs():
            rng = np.random.default_rng(0)
            drawn = lambda: jnp.asarray(rng.normal(size=(7, 2)))
            return drawn(), drawn()
        """,
    "probabilities of actions": """
        def collect(policy, obs, key):
            pi = policy(obs)
            action = pi.sample(seed=key)
            log_prob = pi.log_prob(pi.mode())  # EN019
            return action, log_prob

        def squashed(mean, key):
            raw = mean + jax.random.normal(key, mean.shape)
            action = jnp.tanh(raw)
            log_prob = jax.scipy.stats.norm.logpdf(raw, mean, 1.0).sum()
            return action, log_prob

        def cloned(policy, batch, key):
            pi = policy(batch.obs)
            action = pi.sample(seed=key)
            log_prob = pi.log_prob(batch.action)
            return action, log_prob
        """,
    "a scanned discount that a recursion leaves aside": """
        def returns(reward, value, cont, lam):
            disc = 0.99 * cont[1:]
            inputs = reward[1:] + (1 - lam) * disc * value[1:]

            def back(total, x):
                now, d = x
                total = now + 0.99 * lam * total  # EN002
                return total, total

            def well(total, x):
                now, d = x
                total = now + d * lam * total
                return total, total

            wrong = lax.scan(back, value[-1], (inputs, disc), reverse=True)[1]
            return wrong, lax.scan(well, value[-1], (inputs, disc), reverse=True)[1]
        """,
    "an observation that comes with the state of which a reset takes the place": """
        class Resetting:
            def __init__(self, env):
                self.env = env

            def step(self, key, state, action):
                stepping, resetting = jax.random.split(key)
                obs, state, reward, done = self.env.step(stepping, state, action)
                first, fresh = self.env.reset(resetting)
                state = jax.tree.map(lambda a, b: jnp.where(done, a, b), fresh, state)
                return obs, state, reward, done  # EN009

            def step_both(self, key, state, action):
                stepping, resetting = jax.random.split(key)
                obs, state, reward, done = self.env.step(stepping, state, action)
                first, fresh = self.env.reset(resetting)
                state = jax.tree.map(lambda a, b: jnp.where(done, a, b), fresh, state)
                obs = jnp.where(done, first, obs)
                return obs, state, reward, done
        """,
    "returns by a loop that starts from the last observation": """
        def returns(network, step, state, obs, n, gamma):
            def act(carry, _):
                state, obs = carry
                state, following, reward, terminal = step(state, obs)
                return (state, following), (obs, reward, terminal)

            (state, final), (obs, rewards, terms) = lax.scan(act, (state, obs), None, n)
            wrong = network(obs[-1])  # EN015
            right = network(final)
            for t in range(n - 1, -1, -1):
                wrong = rewards[t] + gamma * (1 - terms[t]) * wrong
                right = rewards[t] + gamma * (1 - terms[t]) * right
            return wrong, right
        """,
    "recursions that count down by themselves": """
        def corrections(rewards, values, following, terminal, ratio):
            n = rewards.shape[0]
            left = jnp.where(terminal, 0.0, 0.99)
            errors = ratio * (rewards + left * following - values)

            def across(i, state):
                total, out = state
                total = errors[n - 1 - i] + 0.9 * ratio[n - 1 - i] * total  # EN002
                return total, out.at[n - 1 - i].set(total)

            def within(i, state):
                total, out = state
                total = errors[n - 1 - i] + left[n - 1 - i] * ratio[n - 1 - i] * total
                return total, out.at[n - 1 - i].set(total)

            start = (jnp.zeros(4), jnp.zeros((n, 4)))
            return lax.fori_loop(0, n, across, start), lax.fori_loop(0, n, within, start)

        def forwards(rewards, values, following, terminal, ratio):
            errors = rewards + 0.99 * (1.0 - terminal) * following - values

            def smooth(i, total):
                return 0.1 * errors[i] + 0.9 * total

            return lax.fori_loop(0, 10, smooth, jnp.zeros(4))
        """,
    "flags that a recursion hands on to the step before": """
        def rollout(state, actions):
            def as_made(carry, action):
                state, last = carry
                state = state + action
                reward, done = -jnp.abs(state), jnp.abs(state) > 2.0
                state = jnp.where(done, 0.0, state)
                return (state, done), (state, reward, done, last)

            return lax.scan(as_made, (state, jnp.zeros(4, bool)), actions)[1]

        def later(state, actions, values, last_value):
            _, rewards, dones, _ = rollout(state, actions)

            def back(carry, step):
                gae, next_value, next_done = carry
                reward, value, done = step
                alive = 1.0 - next_done  # EN011
                gae = reward + 0.9 * alive * next_value - value + 0.8 * alive * gae
                return (gae, value, done), gae

            start = (jnp.zeros(4), last_value, jnp.zeros(4))
            steps = (rewards, values, dones.astype(jnp.float32))
            return lax.scan(back, start, steps, reverse=True)

        def as_it_came(state, actions, values, last_value):
            _, rewards, _, before = rollout(state, actions)

            def back(carry, step):
                gae, next_value, next_done = carry
                reward, value, done = step
                alive = 1.0 - next_done
                gae = reward + 0.9 * alive * next_value - value + 0.8 * alive * gae
                return (gae, value, done), gae

            start = (jnp.zeros(4), last_value, jnp.zeros(4))
            steps = (rewards, values, before.astype(jnp.float32))
            return lax.scan(back, start, steps, reverse=True)
        """,
    "flags that come in or are made, in each of many updates": """
        def rolled(state, last, actions):
            def step(carry, action):
                state, last = carry
                state = state + action
                done = jnp.abs(state) > 2.0
                kept = (-jnp.abs(state), last, done)
                return (jnp.where(done, 0.0, state), done), kept

            return lax.scan(step, (state, last), actions)

        def summed(rewards, flags, values, last_value, last_flag):
            def back(carry, step):
                gae, next_value, next_done = carry
                reward, value, done = step
                target = reward + 0.9 * next_value * (1 - next_done)  # EN011
                gae = target - value + 0.8 * (1 - next_done) * gae
                return (gae, value, done), gae

            start = (jnp.zeros(4), last_value, last_flag)
            return lax.scan(back, start, (rewards, values, flags), reverse=True)[1]

        def train_well(state, all_actions, values):
            def update(carry, actions):
                (state, last), (rewards, before, _) = rolled(*carry, actions)
                return (state, last), summed_well(rewards, before, values, values[-1], last)

            return lax.scan(update, (state, jnp.zeros(4, bool)), all_actions)

        def summed_well(rewards, flags, values, last_value, last_flag):
            def back(carry, step):
                gae, next_value, next_done = carry
                reward, value, done = step
                target = reward + 0.9 * next_value * (1 - next_done)
                gae = target - value + 0.8 * (1 - next_done) * gae
                return (gae, value, done), gae

            start = (jnp.zeros(4), last_value, last_flag)
            return lax.scan(back, start, (rewards, values, flags), reverse=True)[1]

        def train(state, all_actions, values):
            def update(carry, actions):
                (state, last), (rewards, _, dones) = rolled(*carry, actions)
                return (state, last), summed(rewards, dones, values, values[-1], last)

            return lax.scan(update, (state, jnp.zeros(4, bool)), all_actions)
        """,
    "decays of a recurrence that another function starts": """
        def recurrence(decay, drive, last):
            drive = drive.at[-1].add(decay[-1] * last)
            compose = lambda right, left: (left[0] * right[0], left[1] + left[0] * right[1])
            return lax.associative_scan(compose, (decay, drive), reverse=True)[1]

        def across(reward, following, terminated):
            cont = 0.99 * (1.0 - terminated)
            drive = reward + 0.1 * cont * following
            decay = jnp.full_like(reward, 0.9)  # EN002
            return recurrence(decay, drive, following[-1])

        def within(reward, following, terminated):
            cont = 0.99 * (1.0 - terminated)
            drive = reward + 0.1 * cont * following
            return recurrence(0.9 * cont, drive, following[-1])
        """,
    "returns as one product with a table of discounts": """
        def table_of(n, gamma):
            steps = jnp.arange(n)
            ahead = steps[None, :] - steps[:, None]
            return jnp.where(ahead >= 0, gamma ** jnp.maximum(ahead, 0), 0.0)

        def across(rewards, done, gamma):
            table = table_of(rewards.shape[-1], gamma)
            return jnp.einsum("ts,bs->bt", table, rewards), done.any(-1)  # EN002

        def errors_across(rewards, values, following, done, gamma):
            errors = rewards + gamma * (1.0 - done) * following - values
            return table_of(rewards.shape[-1], gamma) @ errors  # EN002

        def within(rewards, done, gamma):
            episode = jnp.cumsum(done, axis=-1) - done
            same = episode[:, :, None] == episode[:, None, :]
            return jnp.einsum("bts,bs->bt", table_of(rewards.shape[-1], gamma) * same, rewards)

        def masked(rewards, done, gamma):
            paid = rewards * (jnp.cumsum(done, axis=-1) - done == 0)
            return jnp.einsum("ts,bs->bt", table_of(rewards.shape[-1], gamma), paid)

        def of_one_episode(rewards, gamma):
            return table_of(rewards.shape[0], gamma) @ rewards
        """,
}


@each_of(PROGRAMS)
def test_programs_have_what_they_claim(program: str):
    check_claims(program, "env")
