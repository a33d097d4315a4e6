"""What is seen while a program is traced and is gone afterwards: calls of tree functions.

A jaxpr holds arrays only. How the user's code takes trees apart, and which of its classes JAX looks
into, is noted here at the moment of the call, as plain facts with the user's frames.
"""

from .classes import class_place as class_place
from .observations import CarryTypes as CarryTypes
from .observations import Observation as Observation
from .observer import Observer as Observer
