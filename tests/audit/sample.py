"""One report that has something in every field, for all formats to show."""

from verax.audit import Confidence, Engine, Evidence, Finding, Place, Report, Severity, Verified
from verax.audit.report import Crossing, Flow, FlowStep, FlowValue, Tensor, Transformation
from verax.audit.rules._rule import FAMILIES, Rule

FILE = "train.py"


def at(line: int, column: int = 5, function: str = "step") -> Place:
    return Place(FILE, line, column, function)


X = FlowValue("v0", "x", Tensor("float32", (8, 4), ("batch", "feat"), low=0, high=1))
W = FlowValue("v1", "params['w'][0]", Tensor("float32", (4, 32), ("feat", "hid")))
H = FlowValue("v2", "h", Tensor("float32", (8, 32), ("batch", "hid"), low=-1.0, high=1.0))
Y = FlowValue("v3", "", Tensor("bfloat16", ("n", 32), (None, "hid"), weak=True, low=0))
LOSS = FlowValue("v4", "loss", Tensor("float32", ()))

TANH = FlowStep(
    "h = jnp.tanh(\n        x @ w)",
    at(12),
    ("v0", "v1"),
    (H,),
    ("v3", "v4"),
    ("contracts feat", "used 2 times"),
)
LAYER = FlowStep(
    "y = layer(y)", Place("layers.py", 30, 9, "layer"), ("v2",), (Y,), notes=("softmaxed",)
)
LAYERS = FlowStep(
    "jax.lax.scan(layer, h, None, 24)", at(14), ("v2",), (LOSS,), (), (), (LAYER,), 24, "scan"
)

FLOW = Flow(
    "step", at(10), (X, W), (TANH, LAYERS), (LOSS,), ("params['b'] never reaches an output",)
)

VMAP = Transformation(
    "vmap", "layer", Place("layers.py", 28), (("in_axes", "(0, None)"),), ("maps batch away",)
)
STACK = Transformation("jit", "step", at(10), (("static_argnums", "()"),), (), (VMAP,), 2)

CARRY = Crossing("scan of layer", at(14), "carry", "h", H.tensor, H.tensor)
SCANNED = Crossing("scan of layer", at(14), "scanned", "x|y", X.tensor, None)

ISSUE = Finding(
    "AX001",
    "axis",
    "Axes that mean different things meet",
    Severity.CRITICAL,
    Confidence.CERTAIN,
    at(41, 12),
    "`x + y` adds batch=8 to time=8 in params['w'][0], [bold]not markup[/bold]",
    "batch meets batch",
    "y = y.T\nreturn x + y",
    Engine.TRACE,
    (Evidence("x is f32[batch=8,time=8]", at(12)), Evidence("<y> comes | from elsewhere")),
)
COST = Finding(
    "JT004",
    "jit",
    "Retraced at every call",
    Severity.MINOR,
    Confidence.LIKELY,
    Place(FILE, 50),
    "a list of 100 % is passed",
    "",
    "pass an array",
    Engine.SOURCE,
)
WARNING = Finding(
    "RK003",
    "prng",
    "Key from a constant",
    Severity.ERROR,
    Confidence.LIKELY,
    Place("other,file.py", 7),
    "jax.random.key(0) inside of step",
    "the key is an argument",
    "",
    Engine.TRACE,
)
PROVED = Verified(
    "SC001", "scan", "carry of the scan", "same structure, shape and dtype in and out", at(14)
)

REPORT = Report(
    "train.py:step",
    (FLOW,),
    (STACK,),
    (CARRY, SCANNED),
    (ISSUE, COST),
    (PROVED,),
    (WARNING,),
    ("layers.py:3: `# verax: ignore[XX]`: there is no rule 'XX'",),
)


def example_rule(code: str, name: str) -> Rule:
    family = next(family for family, prefix in FAMILIES.items() if code.startswith(prefix))
    return Rule(
        code,
        name,
        f"Title of {name}",
        family,
        Severity.CRITICAL,
        f"Finds `{name}`, which\nmatters.\n",
        "def entry(x):\n    return wrong(x)\n",
        "def entry(x):\n    return right(x)\n",
    )
