"""Optimisers, schedules and modes of training."""

from .claims import check_found, check_silent, each_of

WRONG = {
    "a flag that means the opposite": """
        import flax.linen as nn

        class Block(nn.Module):
            @nn.compact
            def __call__(self, x, is_training):
                x = nn.BatchNorm(use_running_average=is_training)(x)  # DF111
                return nn.Dropout(0.1, deterministic=not is_training)(x)

        def evaluate(state, batch):
            return state.apply_fn(state.variables, batch, train=True)  # DF111

        def forward(model, x, *, deterministic):
            return model(x, deterministic=not deterministic)  # DF111
        """,
    "epochs for steps": """
        def rate(config, epochs):
            first = optax.linear_schedule(0.0, config.rate, config.warmup_epochs)  # DF112
            rest = optax.cosine_decay_schedule(config.rate, decay_steps=epochs)  # DF112
            return optax.join_schedules([first, rest], [config["warmup_epochs"]])  # DF112

        def fit(config, state, loader, step):
            for epoch in range(config.epochs):
                for batch in loader:
                    state = step(state, batch)
            return state
        """,
    "clipping that comes too late, and a rate for ever": """
        def optimiser(rate, limit):
            schedule = optax.linear_schedule(0.0, rate, 100)
            inner = optax.sgd(learning_rate=schedule(0))  # DF120
            return optax.chain(
                optax.add_decayed_weights(1e-4),
                inner,
                optax.clip(limit),  # DF120
            )
        """,
    "a schedule that goes uphill": """
        def fit(loss, params, x):
            schedule = optax.cosine_decay_schedule(1e-3, 100)
            tx = optax.chain(optax.trace(0.9), optax.scale_by_schedule(schedule))  # DF113
            state = tx.init(params)
            for _ in range(3):
                updates, state = tx.update(jax.grad(loss)(params, x), state)
                params = optax.apply_updates(params, updates)
            return params
        """,
    "a state for the other network": """
        TX = optax.adam(1e-3)

        def made():
            actor, critic = jnp.ones(3), jnp.zeros(3)
            return (actor, TX.init(actor)), (critic, TX.init(actor))  # DF114

        def descended(loss, params, state, x):
            updates, state = TX.update(jax.grad(loss)(params, x), state, params)
            return optax.apply_updates(params, updates), state

        def train(x):
            actor, critic = made()
            for _ in range(3):
                actor = descended(lambda p, x: jnp.sum(p * x), *actor, x)
                critic = descended(lambda p, x: jnp.sum((p - x) ** 2), *critic, x)
            return actor[0], critic[0]
        """,
}

RIGHT = {
    "epochs of one step each": """
        def fit(params, grad, epochs):
            optimiser = optax.adam(optax.cosine_decay_schedule(1e-3, decay_steps=epochs))
            state = optimiser.init(params)
            for epoch in range(epochs):
                updates, state = optimiser.update(grad(params), state)
                params = optax.apply_updates(params, updates)
            return params
        """,
    "flags that mean the same": """
        def evaluate(state, batch, train=False):
            data = load(batch, train=True)
            return state.apply_fn(state.variables, data, train=False), model(data, train=train)

        def train_and_evaluate(state, batch):
            return state.apply_fn(state.variables, batch, train=True)

        def forward(model, x, train, inference):
            return model(x, deterministic=not train) + model(x, inference=inference, key=None)
        """,
    "clipping on both sides, and schedules that are asked for the record": """
        def optimiser(rate, limit, step):
            schedule = optax.linear_schedule(0.0, rate, 100)
            print(schedule(0))
            inner = optax.chain(optax.clip(limit), optax.adam(schedule), optax.clip(limit))
            return optax.chain(optax.clip(limit), inner), optax.sgd(schedule(step))
        """,
    "steps of so many epochs": """
        def rate(config, epochs, steps_per_epoch):
            first = optax.linear_schedule(0.0, config.rate, config.warmup_epochs * steps_per_epoch)
            rest = optax.cosine_decay_schedule(config.rate, decay_steps=config.steps_per_epoch)
            return optax.join_schedules([first, rest], [config.warmup_steps])
        """,
    "chains that go downhill, or of which too little is known": """
        def fit(loss, params, x, rate, more):
            schedule = optax.cosine_decay_schedule(1e-3, 100)
            tx = optax.chain(
                optax.chain(optax.clip(1.0), optax.scale_by_adam()),
                optax.scale_by_schedule(lambda count: -schedule(count)),
            )
            other = optax.chain(optax.clip(1.0), optax.scale_by_adam(), optax.scale(rate))
            third = optax.chain(optax.scale_by_adam(), more)
            fourth = optax.chain(optax.scale_by_adam(), optax.scale(1e-3), optax.scale(-1.0))
            for each in (tx, other, third, fourth):
                updates, _ = each.update(jax.grad(loss)(params, x), each.init(params))
                params = optax.apply_updates(params, updates)
            return params
        """,
    "a state for parameters that were taken apart and put together": """
        TX = optax.adam(1e-3)

        def train(actor, critic, x):
            tree = {"actor": actor, "critic": critic}
            first, second = TX.init(tree["actor"]), TX.init(critic)
            for _ in range(3):
                slope = jax.grad(lambda p: jnp.sum(p * x))(tree["actor"])
                error = jax.grad(lambda p: jnp.sum((p - x) ** 2))(tree["critic"])
                moved, first = TX.update(slope, first)
                better, second = TX.update(error, second)
                tree["actor"] = optax.apply_updates(tree["actor"], moved)
                tree["critic"] = optax.apply_updates(tree["critic"], better)
            return tree
        """,
    "two optimisers of the same start, whose steps somebody else adds": """
        from helpers import added

        def compare(first, second, start, loss):
            one = two = start
            state, other = first.init(start), second.init(start)
            for _ in range(5):
                steps, state = first.update(jax.grad(loss)(one), state)
                one = added(one, steps)
                steps, other = second.update(jax.grad(loss)(two), other)
                two = added(two, steps)
            return one, two
        """,
}


@each_of(WRONG)
def test_it_is_found(program: str):
    check_found(program, "dataflow")


@each_of(RIGHT)
def test_it_is_left_alone(program: str):
    check_silent(program, "dataflow")
