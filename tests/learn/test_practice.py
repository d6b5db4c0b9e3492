"""Questions: right answers are right, mistakes are recognised, and numbers are read as people type them."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import parakit as pk
from parakit.learn.question import parse


@pytest.mark.parametrize("family", pk.learn.families())
def test_for_200_seeds_the_answer_is_right_and_no_mistake_is_found_in_it(family):
    for seed in range(200):
        question = pk.learn.practice(seed=seed, family=family)
        verdict = question.check(str(question.answer))
        assert verdict.right, (seed, question)
        assert str(question.answer) in question.working[-1], question
        for mistake in question.mistakes:
            if mistake.answer != question.answer:
                said = question.check(str(mistake.answer))
                assert said.right or said.mistake, (seed, mistake)


def test_the_wrong_ratio_is_recognised_and_explained():
    question = next(
        q
        for q in (pk.learn.practice(seed=s, family="idle-share") for s in range(2000))
        if "4 equal stages and 8 m" in q.text
    )
    assert question.answer == Fraction(3, 11)
    for typed in ("3/11", "0.27", "27%", "27 %", "27.3%", "0,273"):
        assert question.check(typed).right, typed
    verdict = question.check("3/8")
    assert (verdict.right, verdict.mistake) == (False, "idle over ideal")
    assert verdict.why == (
        "That is idle over busy time, 3/8. The share asked for is of all time: idle and busy together."
    )
    assert question.check("27").why == "A share of a whole is at most 1 (or 100%)."
    assert question.check("a lot").why == "'a lot' cannot be read: type a share such as 3/11, 0.27 or 27%."


@given(
    p=st.integers(2, 8),
    limit=st.sampled_from([Fraction(1, 20), Fraction(1, 10), Fraction(1, 8), Fraction(1, 5)]),
)
def test_microbatches_for_a_share_are_the_least(p, limit):
    for seed in range(40):
        question = pk.learn.practice(seed=seed, family="microbatches-for-share")
        m = int(question.answer)
        stages = int(question.text.split(" has ")[1].split()[0])
        share = Fraction(question.text.split("at most ")[1].split("%")[0]) / 100

        def idle(m, p=stages):
            return pk.simulate(pk.schedule("1f1b", devices=p, microbatches=m)).idle_share

        assert idle(m) <= share + 1e-12
        assert m == 1 or idle(m - 1) > share
        break


def test_the_same_seed_gives_the_same_question_and_seeds_differ():
    assert pk.learn.practice(seed=7) == pk.learn.practice(seed=7)
    assert len({pk.learn.practice(seed=s, family="idle-share").text for s in range(50)}) > 20


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match="there is no question family 'idle': did you mean"):
        pk.learn.practice(family="idle")
    with pytest.raises(ValueError, match="there is no objective with questions so far 'O1': known are O3"):
        pk.learn.practice(objective="O1")
    with pytest.raises(ValueError, match="seed is -1: it must be a whole number from 0"):
        pk.learn.practice(seed=-1)


READ = [
    ("12", "slots", Fraction(12)),
    (" 12 slots ", "slots", Fraction(12)),
    ("12 slot", "slots", Fraction(12)),
    ("1/3", "", Fraction(1, 3)),
    ("12.5 GB", "GB", Fraction(25, 2)),
    ("12,5", "GB", Fraction(25, 2)),
    ("12 bananas", "slots", None),
    ("12%", "slots", None),
    ("1/0", "", None),
    ("", "", None),
    ("--3", "", None),
]


@pytest.mark.parametrize(("text", "unit", "value"), READ, ids=[text or "empty" for text, _, _ in READ])
def test_numbers_are_read_as_people_type_them(text, unit, value):
    assert parse(text, unit) == value


@given(st.text(max_size=30))
def test_any_text_is_judged_without_an_error(text):
    assert isinstance(pk.learn.practice(seed=1).check(text).right, bool)


def test_asking_in_a_notebook():
    asked = pk.learn.ask(pk.learn.practice(seed=1, family="idle-slots"))
    asked.check()
    assert "Type an answer first." in asked._said.value
    asked.field.value = "1"
    assert asked.verdict is not None
    assert not asked.verdict.right
    asked.hint()
    assert "Hint: " in asked._said.value
    asked.show_working()
    assert "rows" in asked._said.value
    asked.field.value = str(asked.question.answer)
    assert asked.verdict.right
    assert asked._said.value.count("✔") == 1


def test_a_prediction_is_checked_and_explained():
    asked = pk.learn.predict("How many?", "12", unit="slots", why="Because 4 × 3 = 12.")
    asked.field.value = "11"
    assert asked.verdict.why == "Not that. Look again, then try once more."
    asked.field.value = "12"
    assert asked.verdict.why == "Right: 12 slots."
    assert "Because 4 × 3 = 12." in asked.stand_in()
    with pytest.raises(ValueError, match="answer is 'many': it must be a number as a learner would type it"):
        pk.learn.predict("How many?", "many", why="")
