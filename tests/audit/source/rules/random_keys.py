"""What is found of random keys in a program."""

from functools import partial

from .reading import found_of

found = partial(found_of, "prng")
