"""What a learner is able to do at the end; every card and question serves one of these."""

from enum import StrEnum


class Objective(StrEnum):
    """The three objectives of the course."""

    MATCH = "O1"  # for each strategy, what it splits and what it communicates
    CHOOSE = "O2"  # a strategy, from model-state size and measured communication costs
    BUBBLE = "O3"  # say what a pipeline bubble is, and one way to shrink it
