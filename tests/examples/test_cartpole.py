"""The example project: its bugs do harm, and the auditor finds each."""

import subprocess
import sys
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import jax
import jax.numpy as jnp
import pytest

from verax.audit import Report
from verax.audit.child import Given
from verax.audit.command import audit_targets
from verax.audit.source.engine import Options

FOLDER = Path(__file__).parents[2] / "examples/cartpole"
MODULES = ("env", "networks", "losses", "optimiser", "train")
BOTH = pytest.mark.parametrize("folder", ["broken", "repaired"])


class Bug(NamedTuple):
    """A bug of the broken project, by its line, and the rule that knows such bugs."""

    code: str
    file: str
    line: str


PLANTED = [
    Bug("DF101", "train.py", "logits, _ = networks.forward(params, observation)"),
    Bug(
        "RK001",
        "train.py",
        "states, done = jax.vmap(env.step)(jax.random.split(key, ENVS), states, action)",
    ),
    Bug("DF102", "losses.py", "log_policy = jax.nn.log_softmax(logits)"),
    Bug("DF102", "train.py", "action = act(key, logits)"),
    Bug("EN002", "losses.py", "advantage = surprise + DISCOUNT * TRACE * later"),
    Bug("AX002", "losses.py", "value_loss = jnp.mean((values - target) ** 2)"),
    Bug("GR014", "losses.py", "value_loss = jnp.mean((values - target) ** 2)"),
    Bug("JT101", "optimiser.py", "updates += 1"),
]


def reported(folder: str) -> Report:
    target = f"{FOLDER / folder / 'train.py'}:update"
    return audit_targets([str(FOLDER / folder), target], Given((), {}, "example", None))


@pytest.fixture(scope="module")
def report_of_broken() -> Report:
    return reported("broken")


def line_of(bug: Bug) -> int:
    lines = (FOLDER / "broken" / bug.file).read_text().split("\n")
    (number,) = (it for it, text in enumerate(lines, 1) if text.strip() == bug.line)
    return number


@pytest.mark.parametrize("bug", PLANTED, ids=lambda bug: f"{bug.code}-{bug.file}")
def test_each_bug_is_found(bug: Bug, report_of_broken: Report):
    places = [issue.place for issue in report_of_broken.issues if issue.code == bug.code]
    assert (bug.file, line_of(bug)) in {(Path(it.file).name, it.line) for it in places}


def test_nothing_else_is_found_and_each_bug_once(report_of_broken: Report):
    found = [issue.code for issue in report_of_broken.issues]
    assert sorted(found) == sorted(bug.code for bug in PLANTED)
    assert report_of_broken.warnings == ()


def test_reading_alone_finds_bugs_across_files():
    report = audit_targets([str(FOLDER / "broken")], Given((), {}, None, None), options=Options())
    assert {"RK001", "JT101"} <= {issue.code for issue in report.issues}


def test_the_repaired_project_is_clean():
    report = reported("repaired")
    assert report.findings == ()
    assert {"RK001", "GR010"} <= {it.code for it in report.verified}


def test_only_the_repaired_project_learns():
    def last_steps(folder: str) -> float:
        command = [sys.executable, "-W", "error", str(FOLDER / folder / "train.py")]
        out = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        return float(out.split()[-2])

    assert last_steps("repaired") > 4 * last_steps("broken")


# Each bug does harm on its own.


@pytest.fixture(autouse=True)
def _promotion_as_users_have_it():
    with jax.numpy_rank_promotion("allow"), jax.numpy_dtype_promotion("standard"):
        yield


@cache
def load(folder: str) -> SimpleNamespace:
    """The modules of one project; those of the other have the same names."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER / folder))
        modules = {name: __import__(name) for name in MODULES}
        for name in MODULES:
            del sys.modules[name]
    return SimpleNamespace(**modules)


@cache
def a_rollout(folder: str):
    project = load(folder)
    learner, key = project.train.example()
    states, rollout = jax.jit(project.train.collect)(learner.params, learner.states, key)
    return learner, rollout, project.env.normalise(project.env.observe(states))


@BOTH
def test_the_policy_sees_normalised_observations(folder: str):
    project = load(folder)
    learner, rollout, _ = a_rollout(folder)
    seen = project.env.normalise(project.env.observe(learner.states))
    assert jnp.allclose(rollout.observation[0], seen) == (folder == "repaired")


@BOTH
def test_actions_and_new_episodes_have_keys_of_their_own(
    folder: str, monkeypatch: pytest.MonkeyPatch
):
    project = load(folder)
    learner, key = project.train.example()
    used: list[list[int]] = []

    def recorded(function):
        def consume(key, *args, **kwargs):
            used.append(jax.random.key_data(key).tolist())
            return function(key, *args, **kwargs)

        return consume

    monkeypatch.setattr(project.train, "STEPS", 2)
    with jax.disable_jit():
        for name in ("split", "categorical"):
            monkeypatch.setattr(jax.random, name, recorded(getattr(jax.random, name)))
        project.train.collect(learner.params, learner.states, key)
    distinct = {tuple(it) for it in used}
    assert (len(distinct) == len(used)) == (folder == "repaired")


@BOTH
def test_a_policy_can_make_up_its_mind(folder: str):
    project = load(folder)
    learner = project.train.example()[0]
    params = learner.params._replace(policy=1000 * learner.params.policy)
    preferred, _ = project.networks.forward(params, jnp.ones(4))
    assert (jax.nn.softmax(preferred).max() > 0.99) == (folder == "repaired")


@BOTH
def test_advantages_end_with_their_episode(folder: str):
    project = load(folder)
    _, rollout, _ = a_rollout(folder)
    rollout = rollout._replace(done=rollout.done.at[3].set(1.0))
    zeros = jnp.zeros_like(rollout.reward)
    once = project.losses.advantages(rollout, zeros, zeros)
    later = rollout._replace(reward=rollout.reward.at[4:].add(1.0))
    again = project.losses.advantages(later, zeros, zeros)
    assert jnp.array_equal(once[:4], again[:4]) == (folder == "repaired")


@BOTH
def test_a_perfect_critic_has_no_loss(folder: str, monkeypatch: pytest.MonkeyPatch):
    project = load(folder)
    learner, rollout, last = a_rollout(folder)
    monkeypatch.setattr(project.losses, "DISCOUNT", 0.0)
    values = project.networks.forward(learner.params, rollout.observation)[1][..., 0]
    loss = project.losses.actor_critic(learner.params, rollout._replace(reward=values), last)
    assert bool(jnp.abs(loss) < 1e-9) == (folder == "repaired")


@BOTH
def test_the_target_is_not_trained(folder: str):
    project = load(folder)
    learner, rollout, last = a_rollout(folder)
    rollout = rollout._replace(done=jnp.zeros_like(rollout.done))
    gradient = jax.grad(project.losses.actor_critic, argnums=2)(learner.params, rollout, last)
    assert bool(jnp.all(gradient == 0)) == (folder == "repaired")


@BOTH
def test_the_learning_rate_decays(folder: str):
    project = load(folder)
    learner, key = project.train.example()
    for _ in range(3):
        learner, _ = project.train.update(learner, key)
    count = project.optimiser.updates if folder == "broken" else learner.adam.updates
    assert count == (1 if folder == "broken" else 3)
