"""What is around a position, compared with looking at every part."""

from hypothesis import given
from hypothesis import strategies as st

from verax.audit.source.queries.nested import Nested

# Blocks inside of each other or one after the other, as programs have them.
BLOCKS = st.recursive(
    st.just([]), lambda inner: st.lists(inner, min_size=1, max_size=4), max_leaves=20
)


def parts(
    blocks: list, start: int = 0
) -> tuple[list[tuple[tuple[int, int], tuple[int, int], int]], int]:
    """Each block with a number, from one line to another, and the line after them all."""
    found, line = [], start
    for block in blocks:
        inner, end = parts(block, line + len(blocks) % 2)  # some start where the outer one does
        end += 1
        found += [((line, 0), (end, 0), 0), *inner]
        line = end
    return found, line


@given(BLOCKS)
def test_what_is_around_a_position_is_found(blocks: list):
    placed, last = parts(blocks)
    named = [(start, end, number) for number, (start, end, _) in enumerate(placed)]
    nested = Nested(reversed(named))
    for line in range(-1, last + 2):
        for column in (0, 3):
            at = (line, column)
            around = [it for it in named if it[0] <= at < it[1]]
            around.sort(key=lambda it: (it[0], (-it[1][0], -it[1][1])))
            assert [(named[it][0], named[it][1]) for it in nested.around(at)] == [
                (start, end) for start, end, _ in around
            ]
