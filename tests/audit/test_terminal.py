"""A report as text."""

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from rich.cells import cell_len

from verax.audit import Report
from verax.audit.render import to_terminal

from .reports import reports
from .sample import CARRY, FLOW, ISSUE, REPORT, SCANNED, TANH, X

EXPECTED = """\
train.py:step

1. Data flow
  step  train.py:10
    · params['b'] never reaches an output
  ├── inputs
  │   ├── x  f32[batch=8,feat=4]  in 0..1
  │   └── params['w'][0]  f32[feat=4,hid=32]
  ├── line 12  h = jnp.tanh(x @ w)
  │     h  f32[batch=8,hid=32]  in -1..1  from  x, params['w'][0]
  │     used by  line 30, loss
  │     · contracts feat
  │     · used 2 times
  ├── line 14  scan  jax.lax.scan(layer, h, None, 24)  \N{MULTIPLICATION SIGN} 24
  │     loss  f32[]  from  h
  │   └── layers.py:30  y = layer(y)
  │         bf16[n,hid=32]  weak  in 0..inf  from  h
  │         · softmaxed
  └── outputs
      └── loss  f32[]

2. Transformation stack
  jit  step  train.py:10  \N{MULTIPLICATION SIGN} 2
    static_argnums=()
  └── vmap  layer  layers.py:28
        in_axes=(0, None)
        · maps batch away

3. Shape trace at boundaries
  scan of layer  train.py:14
    carry    h    f32[batch=8,hid=32]  →  unchanged
    scanned  x|y  f32[batch=8,feat=4]  →  -

4. Issues found
  AX001 critical  Axes that mean different things meet
    train.py:41:12  in step
    now       `x + y` adds batch=8 to time=8 in params['w'][0], [bold]not
              markup[/bold]
    expected  batch meets batch
    fix       y = y.T
              return x + y
    because   1. x is f32[batch=8,time=8]  train.py:12
              2. <y> comes | from elsewhere

  JT004 minor (likely)  Retraced at every call
    train.py:50:1
    now       a list of 100 % is passed
    fix       pass an array

5. Verified correct
  ✓ SC001  carry of the scan  train.py:14
           same structure, shape and dtype in and out

6. Warnings
  RK003 error (likely)  Key from a constant
    other,file.py:7:1
    now       jax.random.key(0) inside of step
    expected  the key is an argument

Notes
· layers.py:3: `# verax: ignore[XX]`: there is no rule 'XX'

1 certain issue (1 critical), 1 likely issue (1 minor), 1 warning, 1 verified
"""


def test_all_sections_in_order_at_80_columns():
    assert to_terminal.render(REPORT, width=80) == EXPECTED


def test_a_report_prints_itself(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert str(REPORT) == EXPECTED


@settings(max_examples=settings().max_examples // 4)  # large reports, slow to wrap
@given(reports)
def test_no_line_is_wider_than_the_terminal(report: Report):
    text = to_terminal.render(report, width=60)
    assert max(cell_len(line) for line in text.split("\n")) <= 60


def test_what_does_not_fit_into_columns_goes_below_each_other():
    report = Report("t", shape_trace=(replace(CARRY, before=X.tensor),))
    text = to_terminal.render(report, width=55)
    assert "    carry  h\n        f32[batch=8,feat=4]  →  f32[batch=8,hid=32]\n" in text
    text = to_terminal.render(report, width=40)
    assert "    carry  h\n        f32[batch=8,feat=4]\n      → f32[batch=8,hid=32]\n" in text


def test_what_crosses_a_boundary_unchanged_fills_one_row():
    names = ["p['a']", "p['b']", "q", "r", "s", "t", "u"]
    same = [replace(CARRY, name=name) for name in names]
    text = to_terminal.render(Report("t", shape_trace=(*same, SCANNED)), width=80)
    assert "    carry    p[…] (2), q, r, s and 2 more  7 arrays             →  unchanged\n" in text
    assert "    scanned  x|y                           f32[batch=8,feat=4]  →  -\n" in text


def test_what_was_not_computed_is_not_called_none():
    text = to_terminal.render(Report("t", omitted="not shown for folders"), width=80)
    assert text.count("\n  not shown for folders\n") == 3
    assert text.count("\n  none\n") == 3
    text = to_terminal.render(replace(REPORT, omitted="not shown for folders"), width=80)
    assert "└── loss  f32[]\n  not shown for folders\n" in text


def test_colour_is_only_written_when_asked_for():
    colored = to_terminal.render(REPORT, width=80, color=True)
    assert "\x1b[" in colored
    assert "\x1b[" not in EXPECTED
    bare = re.sub(r"\x1b\[[\d;]*m", "", colored)
    assert [line.rstrip() for line in bare.split("\n")] == EXPECTED.split("\n")


def test_colour_does_not_depend_on_variables(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "30")
    assert to_terminal.render(REPORT, width=80) == EXPECTED


@pytest.mark.parametrize("color", [False, True])
def test_a_program_cannot_command_the_terminal(color: bool):
    issue = replace(ISSUE, title="a\x1b]0;owned\x07b\rc", fix="turn \u202e round")
    text = to_terminal.render(Report("t\x1b[2J", issues=(issue,)), width=80, color=color)
    assert "a\\x1b]0;owned\\x07b c" in text
    assert "turn \\u202e round" in text
    assert "t\\x1b[2J" in text


def test_depth_says_what_it_leaves_out():
    text = to_terminal.render(REPORT, width=80, depth=0)
    assert "layers.py:30" not in text
    assert "· 1 step inside" in text
    assert "· 1 transformation inside" in text
    # What the step inside makes still has a name.
    assert "used by  line 30, loss" in text
    assert to_terminal.render(REPORT, width=80, depth=1) == EXPECTED


def test_focus_shows_what_makes_and_uses_a_name():
    text = to_terminal.render(REPORT, width=80, focus="params")
    assert "params['w'][0]  f32[feat=4,hid=32]" in text
    assert "line 12  h = jnp.tanh(x @ w)" in text
    assert "from  x, params['w'][0]" in text
    assert "line 14" not in text
    assert "AX001" in text


def test_focus_on_a_function_shows_its_steps_and_transformation():
    text = to_terminal.render(REPORT, width=80, focus="layer")
    assert "layers.py:30" in text
    assert "vmap  layer" in text
    assert "line 12  h" not in text


def test_focus_on_a_name_that_is_nowhere_names_close_ones():
    text = to_terminal.render(REPORT, width=80, focus="los")
    assert "nothing is called 'los'; did you mean loss?" in text
    text = to_terminal.render(REPORT, width=200, focus="zzz")
    assert "nothing is called 'zzz'; there are h, layer, loss, params['w'][0], step, x" in text


def test_a_hundred_lines_of_code_stay_one_step():
    step = replace(TANH, text="f(\n    a,\n    b,\n)[\n    0\n] + " + "x" * 900)
    flow = replace(FLOW, steps=(step,))
    text = to_terminal.render(Report("t", (flow,)), width=2000)
    assert "f(a, b)[0] + xxx" in text
    assert "x…" in text
