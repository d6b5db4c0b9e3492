"""When times add, and when the longer one counts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import parakit as pk


@given(
    compute=st.floats(0, 10),
    size=st.floats(0, 1e12),
    latency=st.floats(0, 0.01),
    buckets=st.integers(1, 40),
    overlap=st.booleans(),
)
def test_streams_keep_their_bounds(compute, size, latency, buckets, overlap):
    link = pk.Link(latency=latency, bandwidth=10e9)
    both = pk.overlap(compute, size, link, buckets=buckets, overlap=overlap)
    sent = buckets * link.seconds(size / buckets) if size else 0
    assert both.added == pytest.approx(compute + sent)
    assert max(compute, sent) * (1 - 1e-9) <= both.total <= (compute + sent) * (1 + 1e-9)
    assert both.hidden + both.exposed == pytest.approx(sent, abs=1e-9 * (1 + sent))
    if not overlap:
        assert both.total == pytest.approx(compute + sent)


def test_one_bucket_hides_nothing_and_many_hide_all_but_the_last():
    link = pk.Link(latency=0, bandwidth=1e9)
    assert pk.overlap(1.0, 0.5e9, link).total == pytest.approx(1.5)
    assert pk.overlap(1.0, 0.5e9, link, buckets=10).total == pytest.approx(1.05)
    assert pk.overlap(1.0, 3e9, link, buckets=10).total == pytest.approx(3.1)  # too much to hide


def test_with_latency_there_is_a_best_number_of_buckets():
    link = pk.Link(latency=0.01, bandwidth=1e9)
    times = {n: pk.overlap(1.0, 0.5e9, link, buckets=n).total for n in (1, 4, 16, 64, 256)}
    best = min(times, key=times.get)
    assert best not in (1, 256)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"compute": -1}, "compute is -1: it must be a number of seconds of at least 0"),
        ({"size": "much"}, "size is 'much': it must be a number of bytes of at least 0"),
        ({"link": 25e9}, "link is 25000000000.0: it must be a pk.Link(…)"),
        ({"buckets": 0}, "buckets is 0: it must be a whole number from 1 to 10,000"),
        ({"overlap": "yes"}, "overlap is 'yes': it must be True or False"),
    ],
)
def test_bad_numbers_are_refused(given, said):
    arguments = {"compute": 1.0, "size": 1e9, "link": pk.Link(latency=0, bandwidth=1e9), **given}
    compute, size, link = (arguments.pop(name) for name in ("compute", "size", "link"))
    with pytest.raises(ValueError) as error:
        pk.overlap(compute, size, link, **arguments)
    assert str(error.value) == said
