"""Reports of every form, for property tests; and the schema that their JSON follows."""

import json
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from verax.audit import Confidence, Engine, Evidence, Finding, Place, Report, Severity, Verified
from verax.audit.finding import Edit
from verax.audit.report import (
    Compiled,
    Crossing,
    Flow,
    FlowStep,
    FlowValue,
    Recompilation,
    Tensor,
    Transformation,
)

_DOCUMENT = json.loads((Path(__file__).parents[2] / "docs" / "report-schema.json").read_text())


def _closed(schema: Any) -> Any:
    """The schema without room for fields that it does not name."""
    if isinstance(schema, list):
        return [_closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: _closed(part) for key, part in schema.items()}
    if "required" in closed:
        closed.setdefault("additionalProperties", False)
    return closed


Draft202012Validator.check_schema(_DOCUMENT)
_VALIDATOR = Draft202012Validator(_closed(_DOCUMENT))


def check_schema(text: str) -> dict[str, Any]:
    """The JSON of a report, which has to follow the documented schema to the letter."""

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    data = json.loads(text, parse_constant=refuse)
    _VALIDATOR.validate(data)
    return data


def tuples(of: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(of, max_size=2).map(tuple)


texts = st.text(max_size=8)
lines = st.integers(1, 999)
# A relative file: an absolute one may be shown shorter than it is.
files = st.text(max_size=8).map(lambda name: f"f{name}")
places = st.builds(Place, files, lines, lines, texts, st.integers(0, 3))
perhaps_places = st.none() | places
bounds = st.none() | st.integers() | st.floats(allow_nan=False)


@st.composite
def tensors(draw: st.DrawFn) -> Tensor:
    shape = draw(tuples(st.integers(0, 99) | texts))
    axes = tuple(draw(st.none() | texts) for _ in shape) if draw(st.booleans()) else ()
    return Tensor(draw(texts), shape, axes, draw(st.booleans()), draw(bounds), draw(bounds))


values = st.builds(FlowValue, texts, texts, tensors())


def steps(depth: int = 2) -> st.SearchStrategy[FlowStep]:
    inside = tuples(steps(depth - 1)) if depth else st.just(())
    return st.builds(
        FlowStep,
        texts,
        perhaps_places,
        tuples(texts),
        tuples(values),
        tuples(texts),
        tuples(texts),
        inside,
        st.integers(1, 99),
        texts,
    )


def transformations(depth: int = 2) -> st.SearchStrategy[Transformation]:
    inside = tuples(transformations(depth - 1)) if depth else st.just(())
    return st.builds(
        Transformation,
        texts,
        texts,
        perhaps_places,
        tuples(st.tuples(texts, texts)),
        tuples(texts),
        inside,
        st.integers(1, 99),
    )


findings = st.builds(
    Finding,
    texts,
    texts,
    texts,
    st.sampled_from(Severity),
    st.sampled_from(Confidence),
    places,
    texts,
    texts,
    texts,
    st.sampled_from(Engine),
    tuples(st.builds(Evidence, texts, perhaps_places)),
    st.none() | st.builds(Edit, places, texts, texts),
    st.booleans(),
)
seconds = st.floats(0, 1e6)
perhaps_tensors = st.none() | tensors()
reports = st.builds(
    Report,
    texts,
    tuples(
        st.builds(
            Flow,
            texts,
            perhaps_places,
            tuples(values),
            tuples(steps()),
            tuples(values),
            tuples(texts),
        )
    ),
    tuples(transformations()),
    tuples(
        st.builds(Crossing, texts, perhaps_places, texts, texts, perhaps_tensors, perhaps_tensors)
    ),
    tuples(findings),
    tuples(st.builds(Verified, texts, texts, texts, texts, perhaps_places, st.booleans())),
    tuples(findings),
    tuples(texts),
    compiled=tuples(
        st.builds(
            Compiled,
            texts,
            perhaps_places,
            st.integers(1, 99),
            seconds,
            tuples(st.builds(Recompilation, perhaps_places, texts, seconds)),
        )
    ),
)
