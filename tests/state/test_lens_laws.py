"""The laws of a lens, on generated states of every kind of container."""

from hypothesis import given
from hypothesis import strategies as st

from verax.state import bind, lens

from .structures import build, getter, leaf_paths, leaves, replaced, seen, specs


@st.composite
def states_with_paths(draw, count=1):
    """A spec and some different paths to leaves of it, or to nodes where there is only one."""
    spec = draw(specs)
    paths = draw(st.permutations(leaf_paths(spec)))[:count]
    if len(paths) == 1:
        paths = [paths[0][: draw(st.integers(0, len(paths[0])))]]
    return spec, paths


@given(states_with_paths(), leaves)
def test_set_gives_the_state_that_was_built_with_the_new_value(case, new):
    spec, [path] = case
    state, where = build(spec), lens(getter(spec, path))
    before = seen(state)
    assert seen(where.set(state, new)) == seen(build(replaced(spec, path, new)))
    assert seen(state) == before


@given(states_with_paths(), leaves, leaves)
def test_the_three_laws(case, one, other):
    spec, [path] = case
    state, where = build(spec), lens(getter(spec, path))
    assert seen(where.set(state, where.get(state))) == seen(state)
    assert where.get(where.set(state, one)) is one
    assert seen(where.set(where.set(state, one), other)) == seen(where.set(state, other))


@given(states_with_paths(count=3), st.lists(leaves, min_size=3, max_size=3), st.data())
def test_several_places_are_set_at_once(case, news, data):
    spec, paths = case
    getters = [getter(spec, path) for path in paths]
    arrange = data.draw(st.sampled_from([tuple, list, lambda parts: dict(enumerate(parts))]))
    expected = spec
    for path, new in zip(paths, news, strict=False):
        expected = replaced(expected, path, new)
    where = lens(lambda state: arrange([get(state) for get in getters]))
    changed = where.set(build(spec), arrange(news[: len(paths)]))
    assert seen(changed) == seen(build(expected))
    assert seen(where.get(changed)) == seen(arrange(news[: len(paths)]))


@given(states_with_paths(), leaves, st.data())
def test_a_path_may_be_cut_anywhere(case, new, data):
    spec, [path] = case
    cut = data.draw(st.integers(0, len(path)))
    inner_spec = spec
    for index in path[:cut]:
        inner_spec = inner_spec[1][index]
    outer, inner = getter(spec, path[:cut]), getter(inner_spec, path[cut:])
    expected = seen(build(replaced(spec, path, new)))
    state = build(spec)
    assert seen(lens(outer).focus(inner).set(state, new)) == expected
    assert seen(lens(outer).nest(lens(inner)).set(state, new)) == expected
    assert seen(bind(state, outer).focus(lens(inner)).set(new)) == expected


@given(states_with_paths(count=2).filter(lambda case: len(case[1]) == 2), leaves, leaves)
def test_merged_lenses_set_both(case, one, other):
    spec, paths = case
    first, second = (lens(getter(spec, path)) for path in paths)
    merged = first.merge(second)
    expected = build(replaced(replaced(spec, paths[0], one), paths[1], other))
    assert seen(merged.set(build(spec), (one, other))) == seen(expected)
    assert merged.get(expected) == (one, other)
