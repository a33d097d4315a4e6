"""The first three sections of a report, from facts: data flow, transformations, boundaries."""

from __future__ import annotations

from typing import Any

from ..facts import Facts
from .boundaries import crossings
from .flow import flow_of
from .stack import transformations


def sections_of(facts: Facts) -> dict[str, Any]:
    """Data flow, transformation stack and shape trace of a traced function."""
    return {
        "data_flow": (flow_of(facts),),
        "transformation_stack": transformations(facts),
        "shape_trace": crossings(facts),
    }
