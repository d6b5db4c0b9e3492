"""Flashcards and practice questions, as plain objects and as widgets."""

from parakit.learn.ask import ask, predict
from parakit.learn.cards import Card, cards
from parakit.learn.deck import deck
from parakit.learn.families import families, practice
from parakit.learn.question import Question, Verdict

__all__ = ["Card", "Question", "Verdict", "ask", "cards", "deck", "families", "practice", "predict"]
