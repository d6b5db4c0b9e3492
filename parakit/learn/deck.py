"""A deck of flashcards to turn over. Tab moves between its buttons, Space presses them."""

from __future__ import annotations

from html import escape

import ipywidgets as widgets

from parakit.learn.cards import Card, cards
from parakit.live import LiveBox


class Deck(LiveBox):
    """Cards one after the other: think of the answer, show it, go on.

    Attributes:
        cards: the cards in order.
        place: index of the card that is up.
        open: whether its answer is shown.
    """

    invitation = "Run this cell to turn the cards."

    def __init__(self, deck_cards: tuple[Card, ...]) -> None:
        super().__init__("deck")
        self.cards = deck_cards
        self.place = 0
        self.open = False
        self._face = widgets.HTML(layout=widgets.Layout(width="100%", min_height="196px"))
        self._back = widgets.Button(description="Previous")
        self._turn = widgets.Button(button_style="primary", layout=widgets.Layout(width="160px"))
        self._next = widgets.Button(description="Next")
        self._back.on_click(lambda _: self.go(self.place - 1))
        self._turn.on_click(lambda _: self.turn())
        self._next.on_click(lambda _: self.go(self.place + 1))
        self.children = (self._face, widgets.HBox([self._back, self._turn, self._next]), self.hider)
        self._draw()

    @property
    def card(self) -> Card:
        """The card that is up."""
        return self.cards[self.place]

    def turn(self) -> None:
        """Show the answer, or hide it again."""
        self.open = not self.open
        self._draw()

    def go(self, place: int) -> None:
        """Put another card up, its answer hidden; past the end the deck starts again."""
        self.place, self.open = place % len(self.cards), False
        self._draw()

    def stand_in(self) -> str:
        """All cards, answers folded away."""
        return "".join(
            f"<details><summary>{escape(card.front)}</summary><p><b>{escape(card.back)}</b> {escape(card.why)}</p></details>"
            for card in self.cards
        )

    def _draw(self) -> None:
        card = self.card
        answer = (
            f'<div style="margin-top:12px;font-weight:600">{escape(card.back)}</div><div>{escape(card.why)}</div>'
            if self.open
            else '<div style="margin-top:12px;opacity:.75">Say your answer, then show it.</div>'
        )
        self._turn.description = "Hide answer" if self.open else "Show answer"
        self._face.value = (
            f'<div role="status" style="border:1px solid;border-radius:8px;padding:14px 18px;min-height:180px;box-sizing:border-box;margin-right:4px;'
            f'font-size:18px;line-height:26px">'
            f'<div style="font-size:14px;opacity:.75">card {self.place + 1} of {len(self.cards)}</div>'
            f"<div>{escape(card.front)}</div>{answer}</div>"
        )


def deck(name: str) -> Deck:
    """The cards of a deck, to turn over.

    Raises:
        ValueError: there is no such deck.
    """
    return Deck(cards(name))
