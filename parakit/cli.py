"""The command line: thin words around the public calls."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

import parakit as pk
from parakit.memory import MemoryReport
from parakit.names import count, stage_letters
from parakit.plan import Precision
from parakit.units import Unit, number, percent, with_unit

_BAD_INPUT = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit status is 0, or 2 when the input cannot be used."""
    options = _parser().parse_args(arguments)
    command: Callable[[argparse.Namespace], None] = options.command
    try:
        command(options)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        sys.stderr.close()
        return 0
    except (ValueError, OSError, ModuleNotFoundError) as error:
        print(f"parakit: {error}", file=sys.stderr)
        return _BAD_INPUT
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="parakit", description="See how one neural network is trained across many devices."
    )
    parser.add_argument("--version", action="version", version=f"parakit {pk.__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_lab(commands)
    _add_grid(commands)
    _add_memory(commands)
    return parser


_Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # it has no public name


def _add_lab(commands: _Commands) -> None:
    words = "open the lessons in JupyterLab, in a folder of your own"
    parser = commands.add_parser("lab", help=words, description=words)
    parser.add_argument(
        "--dir", type=Path, help="folder for your lessons (default: parakit-lessons in your home)"
    )
    parser.add_argument("--port", type=int, default=8888, help="first port to try (default: %(default)s)")
    parser.add_argument("--no-browser", action="store_true", help="print the address instead of opening it")
    parser.add_argument(
        "--fresh", metavar="NAME", help="put a lesson as it was shipped beside yours, such as 02, and stop"
    )
    parser.set_defaults(command=_lab)


def _add_grid(commands: _Commands) -> None:
    words = "print a pipeline's stage-by-time grid and write its picture"
    parser = commands.add_parser("grid", help=words, description=words)
    parser.add_argument("--stages", type=int, required=True, help="devices, one stage each")
    parser.add_argument("--microbatches", type=int, required=True, help="pieces that the batch is cut into")
    parser.add_argument(
        "--schedule", default="1f1b", help=f"{' or '.join(pk.schedules())} (default: %(default)s)"
    )
    parser.add_argument(
        "--backward", type=float, default=2.0, help="forward slots of a backward (default: 2)"
    )
    parser.add_argument(
        "--transfer", type=float, default=0.0, help="forward slots from stage to stage (default: 0)"
    )
    parser.add_argument("--forward-only", action="store_true", help="leave backward work out")
    parser.add_argument("--theme", choices=["light", "dark"], default="light", help="of the picture")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="picture to write: .svg, .png or .pdf"
    )
    parser.set_defaults(command=_grid)


def _add_memory(commands: _Commands) -> None:
    words = "print the bytes of model states that each stage's device holds"
    parser = commands.add_parser("memory", help=words, description=words)
    parser.add_argument(
        "model",
        metavar="CONFIG.json",
        help=f"a Hugging Face config.json, or one of {', '.join(pk.Model.presets())}",
    )
    for name, words in (
        ("dp", "data-parallel degree"),
        ("tp", "tensor-parallel degree"),
        ("pp", "pipeline stages"),
    ):
        parser.add_argument(f"--{name}", type=int, default=1, help=f"{words} (default: 1)")
    parser.add_argument("--zero", type=int, default=0, help="ZeRO stage, 0 to 3 (default: 0)")
    parser.add_argument(
        "--precision", default="mixed-16", help=f"{', '.join(Precision)} (default: %(default)s)"
    )
    parser.add_argument(
        "--stage-layers", metavar="N,N,…", help="layers of each stage, where they do not divide"
    )
    parser.add_argument("--capacity", type=float, metavar="N", help="memory of one device, in --unit")
    parser.add_argument(
        "--unit", choices=list(Unit), default="GB", help="GB is 1e9 bytes, GiB 2**30 (default: GB)"
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="picture to write: .svg, .png or .pdf"
    )
    parser.set_defaults(command=_memory)


def _lab(options: argparse.Namespace) -> None:
    from parakit import lab

    work = (options.dir or lab.default_folder()).expanduser()
    if options.fresh is not None:
        print(f"wrote {lab.fresh_copy(options.fresh, work)}")
        return
    copied = lab.copy_lessons(work)
    for names, words in (
        (copied.new, "new"),
        (copied.updated, "updated"),
        (copied.kept, "yours, left as it is (--fresh NAME puts the shipped one beside it)"),
    ):
        for name in names:
            print(f"{work / name}: {words}")
    lab.start_jupyterlab(work, port=options.port, browser=not options.no_browser)


def _grid(options: argparse.Namespace) -> None:
    from parakit.draw.text import text_grid, text_key

    schedule = pk.schedule(
        options.schedule,
        devices=options.stages,
        microbatches=options.microbatches,
        forward_only=options.forward_only,
    )
    timeline = pk.simulate(schedule, backward=options.backward, transfer=options.transfer)
    what = "forward only" if options.forward_only else options.schedule
    print(f"{what}, {count(options.stages, 'stage')}, {count(options.microbatches, 'microbatch')}")
    print(text_grid(timeline))
    print(text_key(timeline))
    print(
        f"{number(timeline.span)} slots; idle share {percent(timeline.idle_share)} of all stage time, "
        f"idle over ideal {percent(timeline.idle_over_ideal)} of the busy time"
    )
    if not options.forward_only:
        held = timeline.in_flight.tolist()
        print(
            f"most microbatches held: {', '.join(map(str, held)) if len(held) <= 16 else f'{max(held)} to {min(held)}'}"
        )
    if options.output:
        print(f"wrote {pk.draw.grid(timeline).save(options.output, options.theme)}")


def _memory(options: argparse.Namespace) -> None:
    model = (
        pk.Model.preset(options.model)
        if options.model in pk.Model.presets()
        else pk.Model.from_config(Path(options.model))
    )
    plan = pk.Plan(
        dp=options.dp,
        tp=options.tp,
        pp=options.pp,
        zero=options.zero,
        precision=options.precision,
        stage_layers=_layers(options.stage_layers),
    )
    report = pk.memory(model, plan)
    unit = Unit(options.unit)
    capacity = None if options.capacity is None else options.capacity * unit.size
    print(
        f"{report.model_name}: {report.parameters:,} parameters; {plan.precision}, dp={plan.dp} tp={plan.tp} "
        f"pp={plan.pp}, ZeRO {plan.zero}; bytes on one device of each stage"
    )
    print(_table(report, unit))
    print(f"not counted yet: {', '.join(report.left_out)}")
    print(str(report.limit()) if capacity is None else report.verdict(capacity, unit))
    if options.output:
        print(f"wrote {pk.draw.memory_bars(report, capacity, unit=unit).save(options.output)}")


def _layers(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise ValueError(
            f"--stage-layers {text!r} is not a list of whole numbers, such as 14,13,13"
        ) from None


def _table(report: MemoryReport, unit: Unit) -> str:
    head = ["stage", *report.categories, "together"]
    rows = [
        [stage_letters(stage), *(with_unit(size, unit) for size in sizes), with_unit(sum(sizes), unit)]
        for stage, sizes in enumerate(report.bytes.tolist())
    ]
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    return "\n".join(
        "  ".join(text.rjust(width) for text, width in zip(row, widths, strict=True)) for row in (head, *rows)
    )
