"""Published and tool-made values, read from tests/data; each file names its source."""

import json
from pathlib import Path

DATA = Path(__file__).parent / "data"


def read(name: str) -> dict:
    return json.loads((DATA / name).read_text())
