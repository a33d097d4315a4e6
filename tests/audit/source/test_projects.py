"""Programs of several files: names are followed wherever they are imported from."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from verax.audit.source.engine import Options, audit_paths

HELPER = """
    def sign(x):
        if x > 0:
            return 1.0
        return -1.0
"""


def found_in(folder: Path, files: dict[str, str], *targets: str) -> list[tuple[str, str, int]]:
    """Code, file and line of what is found in a folder of files, or in some of them."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    paths = [str(folder / target) for target in targets or (".",)]
    report = audit_paths(paths, Options(jobs=1, cache=False))
    assert not report.notes
    return [
        (it.code, Path(it.place.file).relative_to(folder).as_posix(), it.place.line)
        for it in report.issues
    ]


WAYS_TO_IMPORT = {
    "absolute": ("from pkg.deep.helper import sign", "sign(x)"),
    "module": ("import pkg.deep.helper", "pkg.deep.helper.sign(x)"),
    "alias": ("import pkg.deep.helper as h", "h.sign(x)"),
    "relative": ("from .deep.helper import sign as s", "s(x)"),
    "package": ("from . import deep", "deep.helper.sign(x)"),
    "re-export": ("from pkg import sign", "sign(x)"),
    "star": ("from .deep.helper import *", "sign(x)"),
}


@pytest.mark.parametrize("way", WAYS_TO_IMPORT)
def test_a_helper_is_judged_by_who_calls_it(tmp_path: Path, way: str):
    statement, call = WAYS_TO_IMPORT[way]
    train = f"""
        import jax
        {statement}

        @jax.jit
        def step(x):
            return {call}
    """
    files = {
        "pkg/__init__.py": "from .deep.helper import sign\n",
        "pkg/deep/__init__.py": "from . import helper\n",
        "pkg/deep/helper.py": HELPER,
        "pkg/train.py": train,
    }
    assert found_in(tmp_path, files) == [("JT201", "pkg/deep/helper.py", 3)]


# How a module can come to its names; `sign` is the helper in all of them.
WAYS_TO_BIND = {
    "defined": "def sign(x): return 1.0 if x > 0 else -1.0",
    "another name": "def _sign(x): return 1.0 if x > 0 else -1.0\nsign = _sign",
    "one of several": "one, sign = 1, lambda x: 1.0 if x > 0 else -1.0",
    "in a branch": """
        import os
        if os.name == "nt":
            def sign(x): return 1.0 if x > 0 else -1.0
        else:
            print("there is no other")
    """,
    "where an import fails": """
        try:
            from fast_signs import nothing
        except ImportError:
            nothing = None
        if nothing is None or True:
            def sign(x): return 1.0 if x > 0 else -1.0
    """,
    "bound twice": """
        import functools
        def sign(x): return 1.0 if x > 0 else -1.0
        sign = functools.partial(sign)
    """,
    "an attribute that is set later": """
        class signs: pass
        signs.of = staticmethod(lambda x: 1.0 if x > 0 else -1.0)
        def sign(x): return signs.of(x)
    """,
    "in a table that is filled later": """
        TABLE = {}
        def _sign(x): return 1.0 if x > 0 else -1.0
        TABLE["sign"] = _sign
        def sign(x): return TABLE["sign"](x)
    """,
}


@pytest.mark.parametrize("way", WAYS_TO_BIND)
def test_a_module_binds_its_names_as_python_would(tmp_path: Path, way: str):
    train = """
        import jax
        from helper import sign

        @jax.jit
        def step(x):
            return sign(x)
    """
    files = {"helper.py": textwrap.dedent(WAYS_TO_BIND[way]), "train.py": train}
    lines = files["helper.py"].splitlines()
    asked = [number for number, line in enumerate(lines, 1) if "if x > 0" in line]
    found = [(code, line) for code, file, line in found_in(tmp_path, files) if file == "helper.py"]
    assert found
    assert all(code == "JT201" and line in asked for code, line in found)


def test_a_class_is_registered_where_it_is_defined(tmp_path: Path):
    layers = """
        import dataclasses
        import jax

        @dataclasses.dataclass
        class Layer:
            w: jax.Array

        jax.tree_util.register_dataclass(Layer, ["w"], [])
    """
    train = """
        import jax
        import jax.numpy as jnp
        from layers import Layer

        @jax.jit
        def total(layer):
            return jnp.sum(layer.w)

        print(total(Layer(jnp.ones(3))))
    """
    assert found_in(tmp_path, {"layers.py": layers, "train.py": train}) == []
    without = layers.replace("jax.tree_util.register_dataclass", "print")
    codes = [it[0] for it in found_in(tmp_path, {"layers.py": without, "train.py": train})]
    assert codes == ["PT201"]


def test_an_import_that_one_branch_uses_is_known_after_it(tmp_path: Path):
    text = """
        import jax
        import jax.numpy as jnp
        import os

        if os.environ.get("DEBUG"):
            print(jnp.pi)

        @jax.jit
        def step(x):
            return x if jnp.sum(x) > 0 else -x
    """
    assert found_in(tmp_path, {"train.py": text}) == [("JT201", "train.py", 11)]


def test_a_helper_that_nobody_traces_is_left_alone(tmp_path: Path):
    files = {
        "pkg/__init__.py": "",
        "pkg/helper.py": HELPER,
        "pkg/train.py": "from .helper import sign\n\nprint(sign(3.0))\n",
    }
    assert found_in(tmp_path, files) == []


def test_a_jitted_caller_three_files_away_is_seen(tmp_path: Path):
    files = {
        "helper.py": HELPER,
        "model.py": "from helper import sign\n\ndef apply(w, x):\n    return sign(x @ w)\n",
        "loss.py": "import model\n\ndef loss(w, x):\n    return model.apply(w, x).sum()\n",
        "train.py": "import jax\nfrom loss import loss\n\nstep = jax.jit(loss)\n",
    }
    assert found_in(tmp_path, files) == [("JT201", "helper.py", 3)]


def test_a_transformation_that_a_project_wraps_is_followed(tmp_path: Path):
    files = {
        "compiling.py": """
            import functools
            import jax

            def compiled(function=None, **options):
                if function is None:
                    return functools.partial(compiled, **options)
                return jax.jit(function, **options)
        """,
        "helper.py": HELPER,
        "train.py": """
            from compiling import compiled
            from helper import sign

            @compiled
            def step(x):
                return sign(x)
        """,
    }
    assert found_in(tmp_path, files) == [("JT201", "helper.py", 3)]


def test_one_file_of_a_package_is_read_with_what_it_imports(tmp_path: Path):
    files = {
        "pkg/__init__.py": "",
        "pkg/helper.py": HELPER,
        "pkg/train.py": """
            import jax
            from pkg.helper import sign

            step = jax.jit(sign)
        """,
    }
    assert found_in(tmp_path, files, "pkg/train.py") == [("JT201", "pkg/helper.py", 3)]


def test_modules_that_import_each_other_end(tmp_path: Path):
    files = {
        "a.py": "import b\n\ndef f(x):\n    return b.g(x)\n",
        "b.py": "from a import f\n\ndef g(x):\n    return f(x)\n",
    }
    assert found_in(tmp_path, files) == []


def test_a_file_that_cannot_be_parsed_does_not_hide_the_others(tmp_path: Path):
    (tmp_path / "broken.py").write_text("def f(:\n")
    lines = [
        "import jax",
        "from broken import f",
        "@jax.jit",
        "def g(x):",
        "  if x > 0:",
        "    f(x)",
    ]
    (tmp_path / "fine.py").write_text("\n".join(lines))
    report = audit_paths([str(tmp_path)], Options(jobs=1, cache=False))
    assert [it.code for it in report.issues] == ["JT201"]
    assert len(report.notes) == 1
    assert "broken.py:1" in report.notes[0]


def test_what_a_module_does_to_a_name_is_done_in_order(tmp_path: Path):
    """A loop that is run for one name also fills the table of another, before that is frozen."""
    tables = """
        import jax.numpy as jnp
        import numpy as np

        step = 1
        FIRST = np.zeros((4, 4))
        for i in range(4):
            FIRST[i, 0] = step
        SECOND = np.zeros((4, 4))
        for i in range(4):
            step = i + 1
            SECOND[i, 0] = step
        FIRST = jnp.array(FIRST)
        SECOND = jnp.array(SECOND)
    """
    use = """
        from tables import FIRST, SECOND

        def read(i):
            first = FIRST[i]
            SECOND[i, 0] = 2.0
            return first
    """
    files = {"tables.py": tables, "use.py": use}
    assert found_in(tmp_path, files, "use.py") == [("JT207", "use.py", 6)]


@pytest.mark.parametrize("order", ["scaled_rows, shifted_rows", "shifted_rows, scaled_rows"])
def test_a_name_stands_for_what_it_is_where_it_is_read(tmp_path: Path, order: str):
    maps = """\
        from jax import vmap

        def scaled(x, y, z):
            return x * y + z

        def shifted(x, y):
            return x + y

        axes = (0, None, None)
        scaled_rows = vmap(scaled, in_axes=axes)

        axes = (0, None)
        shifted_rows = vmap(shifted, in_axes=axes)

        def last():
            return vmap(scaled, in_axes=axes)
    """
    use = f"""\
        from maps import last, {order}

        def rows(x):
            {order.split(", ")[0]}
            return scaled_rows(x, 1.0, 2.0), shifted_rows(x, 1.0)

        def wrong(x):
            return last()(x, 1.0, 2.0)
    """
    assert found_in(tmp_path, {"maps.py": maps, "use.py": use}) == [("VM202", "maps.py", 16)]


def test_a_class_is_registered_where_it_is_handed_on(tmp_path: Path):
    layers = """
        import dataclasses
        import jax

        @dataclasses.dataclass
        class Layer:
            w: jax.Array
    """
    registered = """
        import jax
        from layers import Layer

        jax.tree_util.register_dataclass(Layer, ["w"], [])
    """
    train = """
        import jax
        import jax.numpy as jnp
        import registered

        @jax.jit
        def total(layer):
            return jnp.sum(layer.w)

        print(total(registered.Layer(jnp.ones(3))))
    """
    files = {"layers.py": layers, "registered.py": registered, "train.py": train}
    assert found_in(tmp_path, files) == []


ATTENTION = """
    import math

    import torch
    from torch import nn

    class SelfAttention(nn.Module):
        def __init__(self, width, heads):
            super().__init__()
            self.qkv, self.heads = nn.Linear(width, 3 * width), heads

        def forward(self, x):
            b, t, c = x.shape
            q, k, v = self.qkv(x).split(c, dim=-1)
            q, k, v = (y.view(b, t, self.heads, -1).transpose(1, 2) for y in (q, k, v))
            scores = q @ k.transpose(-2, -1) / math.sqrt(k.size(-1))
            return (scores.softmax(dim=-1) @ v).transpose(1, 2).reshape(b, t, c)
"""


def test_files_that_nothing_of_jax_leads_to_are_left_alone(tmp_path: Path):
    files = {
        "teacher/attention.py": ATTENTION,
        "teacher/__init__.py": "from .attention import SelfAttention\n",
        "teacher/run.py": "from teacher import SelfAttention\n\nmodel = SelfAttention(32, 4)\n",
        "student.py": """
            import jax.numpy as jnp

            def attend(q, k, v):
                return (q @ jnp.swapaxes(k, -2, -1)) @ v
        """,
    }
    assert found_in(tmp_path, files) == []
    with_jax = {
        "arrays.py": "import jax.numpy as jnp\n\nZEROS = jnp.zeros((2, 8, 4))\n",
        "use.py": "from arrays import ZEROS\n\nSWAPPED = ZEROS.transpose(-2, -1)\n",
    }
    assert found_in(tmp_path, with_jax) == [("AX201", "use.py", 3)]


def test_a_line_of_a_mixin_is_reported_once(tmp_path: Path):
    base = """
        import jax

        class Sampled:
            def sample(self, key, shape):
                noise = jax.random.normal(key, shape)
                keep = jax.random.bernoulli(key, 0.5, shape)
                return self.transformed(noise) * keep
    """
    files = {"mix/base.py": base, "mix/__init__.py": ""}
    for name in ("one", "two", "three", "four", "five", "six"):
        files[f"mix/{name}.py"] = f"""
            import jax
            import jax.numpy as jnp

            from .base import Sampled

            class Of{name}(Sampled):
                def transformed(self, noise):
                    return jnp.tanh(noise)

            @jax.jit
            def draw(key):
                return Of{name}().sample(key, (3,))
        """
    assert found_in(tmp_path, files) == [("RK001", "mix/base.py", 7)]
    assert found_in(tmp_path, files, "mix/six.py") == [("RK001", "mix/base.py", 7)]


PROFILER = """
    import functools
    import time

    class Profiler:
        def __init__(self):
            self.times = {}

        def wrap(self, name):
            def decorate(fn):
                @functools.wraps(fn)
                def wrapped(*args, **kwargs):
                    start = time.perf_counter()
                    try:
                        return fn(*args, **kwargs)
                    finally:
                        self.times.setdefault(name, []).append(time.perf_counter() - start)

                return wrapped

            return decorate

    PROFILER = Profiler()

    def timed(fn):
        def wrapped(*args):
            out = fn(*args)
            return out

        return wrapped

    def call(fn, *args):
        return fn(*args)
"""
TRAINING = """
    import jax

    from profiler import PROFILER, call, timed

    def {collect}

    def {perturb}

    def main(params):
        key = jax.random.key(0)
        for _ in range(10):
            key, sub = jax.random.split(key)
            rows = {first}params, sub)
            params = params + {second}rows, sub).mean()
        return params
"""
COLLECT = "collect(params, key):\n        return jax.random.normal(key, (8, 3)) @ params"
PERTURB = "perturb(x, key):\n        return x + jax.random.normal(key, x.shape)"
WRAPPED = {
    "by a decorator": ("@timed\n    def ", "@timed\n    def ", "collect(", "perturb("),
    "by a method": (
        '@PROFILER.wrap("c")\n    def ',
        '@PROFILER.wrap("p")\n    def ',
        "collect(",
        "perturb(",
    ),
    "one of two": ("@timed\n    @jax.jit\n    def ", "def ", "collect(", "perturb("),
    "where called": ("def ", "def ", "call(collect, ", "call(perturb, "),
}


@pytest.mark.parametrize("way", WRAPPED)
def test_a_key_that_wrapped_functions_share_is_reported_where_they_are_called(
    tmp_path: Path, way: str
):
    before, after, first, second = WRAPPED[way]
    text = TRAINING.format(collect=COLLECT, perturb=PERTURB, first=first, second=second)
    text = text.replace("def collect", f"{before}collect").replace("def perturb", f"{after}perturb")
    files = {"profiler.py": PROFILER, "train.py": text}
    line = textwrap.dedent(files["train.py"]).splitlines()
    number = next(n for n, it in enumerate(line, 1) if "params = params +" in it)
    assert found_in(tmp_path, files) == [("RK001", "train.py", number)]
