"""What is sent: ring volumes, each strategy's transfers, and how they grow."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import read

import parakit as pk
from parakit.traffic import sent

RINGS = read("collectives.json")
FORMULAS = {
    "all-reduce": "all_reduce_ring",
    "reduce-scatter": "reduce_scatter_ring",
    "all-gather": "all_gather_ring",
    "all-to-all": "all_to_all",
    "send": "send",
}


@given(size=st.floats(1, 1e12), n=st.integers(1, 1024))
def test_bytes_are_the_published_ring_volumes(size, n):
    published = {"2 (n-1)/n S": 2 * (n - 1) / n * size, "(n-1)/n S": (n - 1) / n * size, "S": size}
    for collective, name in FORMULAS.items():
        formula = RINGS["bytes_sent_per_device"][name]
        assert sent(collective, size, n) == pytest.approx(published[formula]), RINGS["source"]
    assert sent("all-reduce", size, n) == pytest.approx(
        sent("reduce-scatter", size, n) + sent("all-gather", size, n)
    )


COUNT = 1_000_000


def data(zero, *, dp=8, microbatches=1, precision="mixed-16"):
    plan = pk.Plan(dp=dp, zero=zero, batch=dp * microbatches, precision=precision)
    return pk.traffic(COUNT, plan).total("data")


@pytest.mark.parametrize("dp", [2, 4, 8, 64])
def test_zero_1_and_2_send_as_much_as_plain_and_zero_3_half_more(dp):
    plain = data(0, dp=dp)
    assert plain == pytest.approx(2 * (dp - 1) / dp * 2 * COUNT, rel=1e-4)  # padded to the ranks
    assert [data(zero, dp=dp) / plain for zero in (1, 2, 3)] == pytest.approx([1, 1, 1.5])


def test_with_fp32_gradients_the_ratios_are_other():
    plain = data(0, precision="mixed-18")
    assert [data(zero, precision="mixed-18") / plain for zero in (1, 3)] == pytest.approx([0.75, 1.0])


@given(microbatches=st.integers(1, 64))
def test_zero_2_and_3_send_for_every_microbatch(microbatches):
    plain = data(0)
    assert data(0, microbatches=microbatches) == plain
    assert data(1, microbatches=microbatches) == pytest.approx(plain)
    assert data(2, microbatches=microbatches) == pytest.approx(plain * (1 + microbatches) / 2)
    assert data(3, microbatches=microbatches) == pytest.approx(plain * 1.5 * microbatches)


def test_one_replica_sends_nothing():
    for zero in range(4):
        assert pk.traffic(COUNT, pk.Plan(zero=zero)) == []


def test_sizes_are_padded_to_a_multiple_of_the_ranks():
    (one,) = pk.traffic(1001, pk.Plan(dp=8))
    assert one.size == 2 * 1008
    assert one.bytes == 2 * 7 / 8 * 2 * 1008


def test_only_what_is_trained_is_combined_but_zero_3_gathers_all():
    plan = pk.Plan(dp=8, zero=3, trainable=0.01)
    sizes = {one.what: one.size for one in pk.traffic(COUNT, plan)}
    assert sizes == {"parameters": 2 * COUNT, "gradients": 2 * 10_000}


BLOCKS = pk.Model(layers=12, hidden=64, heads=4, norm="plain", bias=False)


def tensor(model=BLOCKS, **plan):
    return pk.traffic(model, pk.Plan(**{"tp": 4, "sequence": 128, **plan}))


@pytest.mark.parametrize("recompute", ["none", "selective", "full"])
@pytest.mark.parametrize("microbatches", [1, 5])
def test_tensor_ranks_all_reduce_twice_a_block_and_direction(recompute, microbatches):
    found = tensor(recompute=recompute, batch=2 * microbatches, microbatch=2)
    wide = 2 * 128 * 64 * 2
    assert all((one.collective, one.size, one.group) == ("all-reduce", wide, (0, 1, 2, 3)) for one in found)
    passes = 3 if recompute == "full" else 2
    assert found.total("tensor") == passes * 2 * 12 * microbatches * (2 * 3 / 4 * wide)
    # Those that add gradients for a matrix's inputs go beside its weights' gradient.
    assert {one.what for one in found if one.overlaps} == {"gradients in blocks"}


@pytest.mark.parametrize("recompute", ["none", "full"])
def test_sequence_parallel_sends_the_same_and_gathers_its_inputs_again(recompute):
    plain = tensor(recompute=recompute).total()
    found = tensor(recompute=recompute, sequence_parallel=True)
    again = [one for one in found if one.what == "inputs of blocks kept as shards"]
    adding = [one for one in found if one.overlaps and one not in again]
    assert {one.collective for one in found} == {"all-gather", "reduce-scatter"}
    assert [(one.collective, one.count, one.when) for one in again] == [("all-gather", 24, "backward")]
    assert [(one.what, one.collective) for one in adding] == [("gradients in blocks", "reduce-scatter")]
    assert found.total() - sum(one.total for one in again) == pytest.approx(plain)


def test_parallel_blocks_are_combined_once():
    parallel = pk.Model(layers=12, hidden=64, heads=4, norm="plain", bias=False, parallel=True)
    assert tensor(parallel).total() == tensor().total() / 2


def test_a_vocabulary_adds_its_own_transfers():
    model = pk.Model(layers=6, hidden=64, heads=4, vocabulary=1000, norm="plain", bias=False)
    counts = {one.what: (one.collective, one.count, one.size) for one in tensor(model, batch=3)}
    assert counts["embedded tokens"] == ("all-reduce", 3, 128 * 64 * 2)
    assert counts["gradient of the head's input"] == ("all-reduce", 3, 128 * 64 * 2)
    assert counts["largest logit, its label's, sum"] == ("all-reduce", 9, 4 * 128)


def test_what_tensor_ranks_hold_twice_has_its_gradients_combined():
    model = pk.Model(layers=2, hidden=64, heads=4, kv_heads=2, bias=False)
    found = {one.what: one for one in tensor(model, sequence_parallel=True)}
    assert found["gradients of what each tensor rank holds"].size == 2 * (2 * 2 * 2 * 64)  # norms
    repeated = found["gradients of repeated key-value heads"]
    assert (repeated.group, repeated.size) == ((0, 1), 2 * (2 * 2 * 64 * 16))


@pytest.mark.parametrize(
    ("schedule", "chunks"),
    [
        ("1f1b", 1),
        ("gpipe", 1),
        ("interleaved-1f1b", 2),
        ("interleaved-1f1b", 3),
        ("looped-bfs", 2),
        ("zb-h1", 1),
        ("dualpipe", 1),
    ],
)
@pytest.mark.parametrize("tp", [1, 4])
@pytest.mark.parametrize("sequence_parallel", [False, True])
def test_every_boundary_is_crossed_once_a_direction_and_microbatch(schedule, chunks, tp, sequence_parallel):
    plan = pk.Plan(
        pp=2,
        tp=tp,
        batch=8,
        schedule=schedule,
        chunks=chunks,
        sequence=128,
        sequence_parallel=sequence_parallel,
    )
    found = [
        one for one in pk.traffic(BLOCKS, plan) if one.strategy == "pipeline" and one.collective == "send"
    ]
    size = 128 * 64 * 2 / (tp if sequence_parallel else 1)
    assert {one.bytes for one in found} == {size}
    for when in ("forward", "backward"):
        crossings = sum(one.count for one in found if one.when == when)
        assert crossings == (2 * chunks - 1) * 8  # p v - 1 boundaries
    assert all(len(one.group) == 2 for one in found)


def test_interleaving_crosses_more_boundaries_between_the_same_devices():
    plan = pk.Plan(pp=2, batch=8, schedule="interleaved-1f1b", chunks=3)
    forward = {one.group: one.count for one in pk.traffic(BLOCKS, plan) if one.when == "forward"}
    assert forward == {(0, 1): 3 * 8, (1, 0): 2 * 8}


def test_a_v_sends_nothing_where_it_turns():
    plan = pk.Plan(pp=2, batch=8, schedule="zbv")
    forward = {one.group: one.count for one in pk.traffic(BLOCKS, plan) if one.when == "forward"}
    assert forward == {(0, 1): 8, (1, 0): 8}  # A to B, C to D; B and C are on one device


@pytest.mark.parametrize("zero", [0, 1, 2, 3])
def test_dualpipe_adds_the_gradients_of_stages_that_two_devices_hold(zero):
    plan = pk.Plan(pp=4, dp=2, batch=16, zero=zero, schedule="dualpipe")
    once = pk.Plan(pp=4, dp=2, batch=16, zero=zero)
    model = pk.Model(layers=4, hidden=64, heads=4)
    twice = [one for one in pk.traffic(model, plan) if one.what == "gradients of stages held twice"]
    assert [(one.rank, one.group) for one in twice] == [(0, (0, 6)), (1, (2, 4)), (2, (4, 2)), (3, (6, 0))]
    for one in twice:
        assert one.size == 2 * (2 * model.parameters / 4) / (2 if zero else 1)
    # Two stages, each used for half of the microbatches: what ZeRO gathers is the same.
    inner = [pk.traffic(model, one).total("data", rank=1) for one in (plan, once)]
    expected = {0: 2, 1: 2, 2: (8 / 2 * 2 + 2) / (8 + 1), 3: 1}[zero]
    assert inner[0] / inner[1] == pytest.approx(expected)


def test_a_tied_embedding_s_gradients_are_added_between_the_ends():
    tied = pk.Model(layers=4, hidden=64, heads=4, vocabulary=1001, tied=True)
    untied = pk.Model(layers=4, hidden=64, heads=4, vocabulary=1001, tied=False)
    plan = pk.Plan(pp=4, tp=2, dp=2)
    found = [one for one in pk.traffic(tied, plan) if one.what == "gradients of the tied embedding"]
    assert [(one.rank, one.group, one.size) for one in found] == [
        (0, (0, 12), 2 * 501 * 64),
        (3, (0, 12), 2 * 501 * 64),
    ]
    assert not any("tied" in one.what for one in pk.traffic(untied, plan))
    assert not any("tied" in one.what for one in pk.traffic(tied, pk.Plan(dp=2)))


def test_experts_travel_by_all_to_all_and_their_gradients_over_fewer_replicas():
    experts = pk.Experts(count=8, per_token=2, layers=(1, 3))
    model = pk.Model(layers=4, hidden=64, heads=4, experts=experts)
    plan = pk.Plan(dp=8, ep=4, sequence=100, batch=24)
    found = pk.traffic(model, plan)
    moves = [one for one in found if one.strategy == "expert"]
    assert {(one.collective, one.size, one.count, one.group) for one in moves} == {
        ("all-to-all", 100 * 2 * 64 * 2, 2 * 3, (0, 1, 2, 3))
    }
    assert len(moves) == 4  # there and back, forward and backward
    groups = {one.what: one.group for one in found if one.strategy == "data"}
    assert groups == {"gradients": tuple(range(8)), "experts' gradients": (0, 4)}


@given(
    dp=st.sampled_from([1, 2, 4]),
    tp=st.sampled_from([1, 2, 4]),
    pp=st.sampled_from([1, 2, 3]),
    zero=st.integers(0, 3),
    ep=st.sampled_from([1, 2]),
    sequence_parallel=st.booleans(),
)
def test_groups_are_ranks_of_the_plan_and_volumes_fit_their_collective(
    dp, tp, pp, zero, ep, sequence_parallel
):
    model = pk.Model(layers=6, hidden=64, heads=4, vocabulary=99, experts=pk.Experts(count=4, per_token=2))
    plan = pk.Plan(dp=dp, tp=tp, pp=pp, zero=zero, ep=ep, sequence_parallel=sequence_parallel, batch=12)
    if plan.problems(model):
        return
    for one in pk.traffic(model, plan):
        assert set(one.group) <= set(plan.ranks.ravel().tolist())
        assert len(one.group) == len(set(one.group)) > 1
        assert one.bytes == pytest.approx(sent(one.collective, one.size, len(one.group)))
        assert one.count > 0
        stages = {int(np.argwhere(plan.ranks == rank)[0][0]) for rank in one.group}
        assert one.rank in stages


def test_totals_and_table():
    found = pk.traffic(pk.Model.preset("llama-3.2-1b"), pk.Plan(dp=2, pp=4, batch=8))
    assert found.total() == max(found.total(rank=rank) for rank in range(4))
    assert found.total("pipeline", rank=1) == 2 * 4 * 2048 * 2048 * 2
    lines = found.table().splitlines()
    assert lines[0].split() == [
        "pipeline",
        "rank",
        "strategy",
        "what",
        "collective",
        "devices",
        "each",
        "times",
        "a",
        "step",
        "when",
        "can",
        "overlap",
    ]
    assert any(line.startswith("A to C ") and "activations" in line for line in lines)


def test_a_plain_number_tells_no_widths():
    with pytest.raises(ValueError) as error:
        pk.traffic(10**9, pk.Plan(tp=2))
    assert str(error.value) == (
        "tp=2 and pp=1 send activations, whose width a plain number of parameters does not tell: "
        "give a pk.Model, or tp=1 and pp=1"
    )
