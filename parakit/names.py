"""What a learner sees things called: stages are letters, microbatches count from 1."""


def stage_letters(stage: int) -> str:
    """The letters of a stage counted from 0: A to Z, then AA, AB and so on.

    Example:
        >>> [stage_letters(s) for s in (0, 25, 26, 701, 702)]
        ['A', 'Z', 'AA', 'ZZ', 'AAA']
    """
    letters = ""
    number = stage + 1
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


def cell(stage: int, microbatch: int) -> str:
    """The label of a grid cell; stage and microbatch count from 0.

    Example:
        >>> cell(1, 2)
        'B3'
    """
    return f"{stage_letters(stage)}{microbatch + 1}"


def count(number: int, noun: str) -> str:
    """A number with its noun.

    Example:
        >>> count(1, "stage"), count(8, "microbatch"), count(1200, "slot")
        ('1 stage', '8 microbatches', '1,200 slots')
    """
    if number == 1:
        return f"1 {noun}"
    if noun.endswith("ry"):
        return f"{number:,} {noun[:-1]}ies"
    return f"{number:,} {noun}{'es' if noun.endswith(('ch', 's', 'x')) else 's'}"
