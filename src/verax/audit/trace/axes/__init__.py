"""Semantic axes: where each dimension of each value comes from and what it means."""

from .analysis import AxisAnalysis as AxisAnalysis
from .analysis import Outer as Outer
from .analysis import Reshuffle as Reshuffle
from .axis import Axis as Axis
from .axis import Clash as Clash
from .declared import axes_of as axes_of
