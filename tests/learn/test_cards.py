"""The shipped cards, and what a faulty file is told."""

import pytest

import parakit as pk
from parakit.learn.cards import read


def test_the_first_ten_cards_are_whole_and_mostly_about_bubbles():
    cards = pk.learn.cards("bubbles")
    assert len(cards) == 10
    assert len({card.id for card in cards}) == 10
    assert all(card.front.endswith(("?", ".", ":")) and card.back and card.why for card in cards)
    assert [card.objective for card in cards].count("O3") == 9
    assert pk.learn.cards() == cards


def test_unknown_deck():
    with pytest.raises(ValueError, match="there is no deck 'bubble': did you mean 'bubbles'"):
        pk.learn.cards("bubble")


GOOD = "- {id: a, front: f, back: b, why: w, objective: O1}\n"
FAULTY = [
    ("a: [", "cards.yaml is not YAML: while parsing a flow node expected the node content"),
    ("3", "cards.yaml must be a list of cards, each with id, front, back, why, objective"),
    (GOOD + GOOD, "cards.yaml cannot be read:\n  - id 'a' stands on more than one card"),
    (
        "- {id: 3, front: f, back: b, objective: O9, extra: 1}\n- x\n",
        "cards.yaml cannot be read:\n  - card 1 lacks why\n  - card 1 has 'extra', which no card has\n"
        "  - card 1: id is 3: it must be a text (write it in quotes)\n"
        "  - card 1: there is no objective 'O9': known are O1, O2, O3\n"
        "  - card 2 is 'x': it must have id, front, back, why, objective",
    ),
]


@pytest.mark.parametrize(("text", "said"), FAULTY, ids=range(len(FAULTY)))
def test_a_faulty_file_is_told_every_fault(tmp_path, text, said):
    (tmp_path / "cards.yaml").write_text(text)
    with pytest.raises(ValueError) as error:
        read(tmp_path / "cards.yaml")
    assert str(error.value).startswith(said)


def test_a_deck_turns_and_goes_on():
    deck = pk.learn.deck("bubbles")
    assert deck.card.back not in deck._face.value
    deck._turn.click()
    assert deck.open
    assert deck.card.back in deck._face.value
    assert deck._turn.description == "Hide answer"
    deck._next.click()
    assert (deck.place, deck.open) == (1, False)
    deck._back.click()
    deck._back.click()
    assert deck.place == 9
    assert deck.stand_in().count("<details>") == 10
