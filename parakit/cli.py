"""The command line: thin words around the public calls."""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

import parakit as pk
from parakit.capacity import Capacity
from parakit.draw.memory import plan_words
from parakit.files import write_whole
from parakit.memory import MemoryReport
from parakit.names import count
from parakit.plan import Attention, Precision, Recompute
from parakit.plan_command import add_plan
from parakit.units import Unit, aligned, bytes_text, number, percent, with_unit

_FAULTY, _BAD_INPUT = 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the status is 0, 1 where `check` finds faults, 2 when the input cannot be used."""
    options = _parser().parse_args(arguments)
    command: Callable[[argparse.Namespace], int | None] = options.command
    try:
        status = command(options)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        sys.stderr.close()
        return 0
    except (ValueError, OSError, ModuleNotFoundError) as error:
        print(f"parakit: {error}", file=sys.stderr)
        return _BAD_INPUT
    return status or 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="parakit", description="See how one neural network is trained across many devices."
    )
    parser.add_argument("--version", action="version", version=f"parakit {pk.__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_lab(commands)
    _add_grid(commands)
    _add_check(commands)
    _add_trace(commands)
    _add_memory(commands)
    _add_traffic(commands)
    add_plan(commands, _model)
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
    _add_timeline(parser)
    parser.add_argument("--critical", action="store_true", help="outline the critical path")
    parser.add_argument("--theme", choices=["light", "dark"], default="light", help="of the picture")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="picture to write: .svg, .png or .pdf"
    )
    parser.set_defaults(command=_grid)


def _add_check(commands: _Commands) -> None:
    words = "say every reason why an order of actions cannot run"
    parser = commands.add_parser("check", help=words, description=words)
    parser.add_argument(
        "file",
        type=Path,
        metavar="FILE",
        help="a line a device, such as 0F0,0F1,0B0,0B1; - for standard input",
    )
    parser.add_argument("--stages", type=int, help="of the model (default: what the order speaks of)")
    parser.add_argument("--microbatches", type=int, help="of the batch (default: what the order speaks of)")
    parser.add_argument(
        "--communication",
        choices=["free", "blocking"],
        default="free",
        help="blocking: also sends and receives that wait for each other (default: %(default)s)",
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="picture with the faults marked: .svg, .png or .pdf"
    )
    parser.set_defaults(command=_check)


def _add_trace(commands: _Commands) -> None:
    words = "write a timeline for Perfetto or chrome://tracing, or as CSV"
    parser = commands.add_parser("trace", help=words, description=words)
    _add_timeline(parser)
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", required=True, help="to write: .json, .json.gz or .csv"
    )
    parser.set_defaults(command=_trace)


def _add_timeline(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--from",
        dest="source",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="an order as text, or traces (.json, .json.gz), one for each rank, instead of a schedule's name",
    )
    parser.add_argument("--stages", type=int, help="devices of the pipeline")
    parser.add_argument("--microbatches", type=int, help="pieces that the batch is cut into")
    parser.add_argument(
        "--schedule", default="1f1b", help=f"{', '.join(pk.schedules())} (default: %(default)s)"
    )
    parser.add_argument("--chunks", type=int, help="stages a device (default: what the schedule usually has)")
    parser.add_argument(
        "--backward", type=float, default=2.0, help="forward slots of a backward (default: 2)"
    )
    parser.add_argument(
        "--transfer", type=float, default=0.0, help="forward slots from stage to stage (default: 0)"
    )
    parser.add_argument(
        "--overhead", type=float, default=0.0, help="forward slots added to every action (default: 0)"
    )
    parser.add_argument("--forward-only", action="store_true", help="leave backward work out")


def _add_memory(commands: _Commands) -> None:
    words = "print the bytes that each stage's device holds"
    parser = commands.add_parser("memory", help=words, description=words)
    _add_model_and_plan(parser)
    parser.add_argument("--capacity", type=float, metavar="N", help="memory of one device, in --unit")
    parser.add_argument(
        "--reserve",
        type=float,
        default=0.0,
        metavar="N",
        help="of it not to be filled, in --unit (default: 0)",
    )
    parser.add_argument(
        "--gathered",
        type=float,
        default=0.0,
        metavar="N",
        help="bytes a parameter of the largest weight that ZeRO 3 holds whole (default: 0)",
    )
    parser.add_argument(
        "--tensors", action="store_true", help="name each tensor that a block keeps for backward"
    )
    parser.add_argument(
        "--advice", action="store_true", help="say what would lower the deciding use, and what not"
    )
    parser.add_argument(
        "--unit", choices=list(Unit), default="GB", help="GB is 1e9 bytes, GiB 2**30 (default: GB)"
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="picture to write: .svg, .png or .pdf"
    )
    parser.set_defaults(command=_memory)


def _add_traffic(commands: _Commands) -> None:
    words = "print what each device sends in one step"
    parser = commands.add_parser("traffic", help=words, description=words)
    _add_model_and_plan(parser)
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="picture to write: .svg, .png or .pdf"
    )
    parser.set_defaults(command=_traffic)


def _add_model_and_plan(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "model",
        metavar="CONFIG.json",
        help=f"a Hugging Face config.json, or one of {', '.join(pk.Model.presets())}",
    )
    for name, words in (
        ("dp", "data-parallel degree"),
        ("tp", "tensor-parallel degree"),
        ("pp", "pipeline-parallel degree"),
        ("ep", "expert-parallel degree"),
        ("microbatch", "examples that a pipeline takes at once"),
    ):
        parser.add_argument(f"--{name}", type=int, default=1, help=f"{words} (default: 1)")
    parser.add_argument("--zero", type=int, default=0, help="ZeRO stage, 0 to 3 (default: 0)")
    parser.add_argument("--batch", type=int, help="examples of one update (default: dp × microbatch × pp)")
    parser.add_argument("--sequence", type=int, default=2048, help="tokens of an example (default: 2048)")
    parser.add_argument(
        "--schedule", default="1f1b", help=f"{', '.join(pk.schedules())} (default: %(default)s)"
    )
    parser.add_argument("--chunks", type=int, help="stages a device (default: what the schedule usually has)")
    for option, choices in (("recompute", Recompute), ("attention", Attention), ("precision", Precision)):
        default = getattr(pk.Plan(), option)
        parser.add_argument(
            f"--{option}", default=str(default), help=f"{', '.join(choices)} (default: {default})"
        )
    parser.add_argument(
        "--sequence-parallel", action="store_true", help="split norms and dropouts over tp along the sequence"
    )
    parser.add_argument(
        "--trainable", type=float, default=1.0, help="share of the parameters that are trained (default: 1)"
    )
    parser.add_argument(
        "--stage-layers", metavar="N,N,…", help="layers of each stage, where they do not divide"
    )


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


def _timeline(options: argparse.Namespace) -> pk.Timeline:
    if options.source:
        if any(path.suffix in (".json", ".gz") for path in options.source):
            return pk.read_trace(options.source if len(options.source) > 1 else options.source[0])
        if len(options.source) > 1:
            raise ValueError(f"--from has {len(options.source)} orders: give one, or traces of one run")
        schedule = _order(options.source[0])
    else:
        if options.stages is None or options.microbatches is None:
            raise ValueError("give --stages and --microbatches, or --from FILE")
        schedule = pk.schedule(
            options.schedule,
            devices=options.stages,
            microbatches=options.microbatches,
            chunks=options.chunks,
            forward_only=options.forward_only,
        )
    # Times are of a device's whole share of the model, so that schedules do equal work.
    each = schedule.stages_each
    return pk.simulate(
        schedule,
        forward=1 / each,
        backward=options.backward / each,
        transfer=options.transfer,
        overhead=options.overhead,
    )


def _order(path: Path, stages: int | None = None, microbatches: int | None = None) -> pk.Schedule:
    if str(path) == "-":
        return pk.Schedule.from_text(sys.stdin.read(), stages=stages, microbatches=microbatches)
    return pk.Schedule.from_text(path.read_text(), path.name, stages=stages, microbatches=microbatches)


def _grid(options: argparse.Namespace) -> None:
    from parakit.draw.rows import Clock
    from parakit.draw.text import text_grid, text_key

    timeline = _timeline(options)
    schedule = timeline.schedule
    what = "forward only" if schedule.forward_only else schedule.name
    devices = count(schedule.devices, "stage" if schedule.one_stage_each else "device")
    print(f"{what}, {devices}, {count(schedule.microbatches, 'microbatch')}")
    print(text_grid(timeline))
    print(text_key(timeline))
    print(
        f"{Clock.of(timeline).length(timeline.span)}; idle share {percent(timeline.idle_share)} of all stage time, "
        f"idle over ideal {percent(timeline.idle_over_ideal)} of the busy time"
    )
    if not schedule.forward_only:
        held = timeline.in_flight_share.tolist()
        most = (
            ", ".join(map(number, held)) if len(held) <= 16 else f"{number(max(held))} to {number(min(held))}"
        )
        print(f"most microbatches held: {most}")
    if options.output:
        picture = pk.draw.grid(timeline, critical=options.critical)
        print(f"wrote {picture.save(options.output, options.theme)}")


def _check(options: argparse.Namespace) -> int:
    order = _order(options.file, options.stages, options.microbatches)
    problems = order.problems(options.communication)
    sizes = (
        f"{count(order.devices, 'device')}, {count(order.stages, 'stage')}, "
        f"{count(order.microbatches, 'microbatch')}, {count(order.actions, 'action')}"
    )
    if problems:
        print(f"{sizes}: {count(len(problems), 'fault')}")
        print(*(f"- {one}" for one in problems), sep="\n")
    else:
        print(f"{sizes}: it can run")
    if options.output:
        print(f"wrote {pk.draw.grid(order, communication=options.communication).save(options.output)}")
    return _FAULTY if problems else 0


def _trace(options: argparse.Namespace) -> None:
    path: Path = options.output
    name = path.name.lower()
    if not name.endswith((".json", ".json.gz", ".csv")):
        raise ValueError(f"{path.name!r} does not end in .json, .json.gz or .csv")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {path.parent} to write {path.name} into: make it first")
    timeline = _timeline(options)
    text = timeline.to_csv() if name.endswith(".csv") else json.dumps(timeline.to_trace())
    data = text.encode()
    write_whole(path, gzip.compress(data, mtime=0) if name.endswith(".gz") else data)
    print(f"wrote {path}")


def _model(options: argparse.Namespace) -> pk.Model:
    if options.model in pk.Model.presets():
        return pk.Model.preset(options.model)
    return pk.Model.from_config(Path(options.model))


def _plan(options: argparse.Namespace) -> pk.Plan:
    return pk.Plan(
        dp=options.dp,
        tp=options.tp,
        pp=options.pp,
        ep=options.ep,
        zero=options.zero,
        batch=options.batch,
        microbatch=options.microbatch,
        sequence=options.sequence,
        schedule=options.schedule,
        chunks=options.chunks,
        stage_layers=_layers(options.stage_layers),
        sequence_parallel=options.sequence_parallel,
        recompute=options.recompute,
        attention=options.attention,
        precision=options.precision,
        trainable=options.trainable,
    )


def _print_model(model: pk.Model) -> None:
    experts = f", {model.active_parameters:,} of them met by a token" if model.experts else ""
    print(f"{model.name}: {model.parameters:,} parameters{experts}")
    for note in model.notes:
        print(f"note: {note}")


def _memory(options: argparse.Namespace) -> None:
    model = _model(options)
    report = pk.memory(model, _plan(options), options.gathered)
    unit = Unit(options.unit)
    capacity = None
    if options.capacity is not None:
        capacity = Capacity(memory=options.capacity * unit.size, reserve=options.reserve * unit.size)
    _print_model(model)
    print(f"{plan_words(report)}; on one device of each stage")
    print(_table(report, unit))
    print(report.limit().sentence(unit) if capacity is None else report.verdict(capacity, unit))
    if options.tensors:
        print(_tensors(report))
    if options.advice:
        print(*(f"- {one.sentence(unit)}" for one in report.advice()), sep="\n")
    if options.output:
        print(f"wrote {pk.draw.memory_bars(report, capacity, unit=unit).save(options.output)}")


def _traffic(options: argparse.Namespace) -> None:
    model, plan = _model(options), _plan(options)
    sent = pk.traffic(model, plan)
    _print_model(model)
    print(sent.table() if sent else "one device alone sends nothing")
    print(f"a device sends up to {bytes_text(sent.total())} in a step")
    if options.output:
        print(f"wrote {pk.draw.traffic(sent).save(options.output)}")


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
    head = ["stage" if report.plan.one_stage_each else "device", *report.categories, "together"]
    rows = [
        [
            report.row_name(rank).split()[-1],
            *(with_unit(size, unit) for size in sizes),
            with_unit(sum(sizes), unit),
        ]
        for rank, sizes in enumerate(report.bytes.tolist())
    ]
    return aligned([head, *rows])


def _tensors(report: MemoryReport) -> str:
    head = ["tensor", "where", "one microbatch", "divided by", "kept", "why"]
    rows = [
        [one.name, one.place, bytes_text(one.bytes), one.split, "yes" if one.kept else "no", one.why]
        for one in report.activations
    ]
    return aligned([head, *rows], left={0, 1, 3, 4, 5})
