"""`parakit plan`: every plan for a model on a cluster, excluded or ranked."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import parakit as pk
from parakit.choose import plan_words
from parakit.choose.export import to_csv, to_dict
from parakit.plan import Attention, Precision

_MODEL = Callable[[argparse.Namespace], pk.Model]


def add_plan(commands: Any, model: _MODEL) -> None:
    """Adds the command to the parser's."""
    words = "choose a plan: exclude by memory, rank by the time of a step"
    parser = commands.add_parser("plan", help=words, description=words)
    parser.add_argument(
        "model",
        metavar="CONFIG.json",
        help=f"a Hugging Face config.json, or one of {', '.join(pk.Model.presets())}",
    )
    parser.add_argument("--cluster", required=True, help=f"one of {', '.join(pk.Cluster.presets())}")
    parser.add_argument("--devices", type=int, help="of the whole cluster (default: one node's)")
    parser.add_argument("--batch", type=int, required=True, help="examples of one update")
    parser.add_argument("--sequence", type=int, default=2048, help="tokens of an example (default: 2048)")
    for name, least in (("dp", 1), ("tp", 1), ("pp", 1), ("ep", 1), ("zero", 0), ("microbatch", 1)):
        parser.add_argument(
            f"--{name}",
            type=_whole_numbers,
            metavar="N,N,…",
            help=f"allow only these, each at least {least} (default: all that make sense)",
        )
    parser.add_argument(
        "--schedule", type=_words, metavar="NAME,…", help=f"allow only these of {', '.join(pk.schedules())}"
    )
    parser.add_argument(
        "--recompute", type=_words, metavar="NAME,…", help="allow only these of none, selective, full"
    )
    for option, choices, default in (("attention", Attention, "fused"), ("precision", Precision, "mixed-16")):
        parser.add_argument(
            f"--{option}", default=default, help=f"{', '.join(choices)} (default: %(default)s)"
        )
    parser.add_argument(
        "--links",
        type=Path,
        metavar="LOG",
        help="a log of nccl-tests: its fit replaces the link inside a node, or, with more ranks than a node "
        "has devices, the one between nodes",
    )
    parser.add_argument("--top", type=int, default=10, help="how many plans to print (default: %(default)s)")
    parser.add_argument(
        "--format", choices=["table", "json", "csv"], default="table", help="default: %(default)s"
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="picture to write: .svg, .png or .pdf"
    )
    parser.set_defaults(command=lambda options: _run(options, model(options)))


def _run(options: argparse.Namespace, model: pk.Model) -> None:
    if options.top < 1:
        raise ValueError(f"top is {options.top}: it must be a whole number of at least 1")
    cluster = pk.Cluster.preset(options.cluster, devices=options.devices)
    if options.links:
        cluster = _measured(cluster, options.links)
    choice = pk.choose(
        model,
        cluster,
        batch=options.batch,
        sequence=options.sequence,
        dp=options.dp,
        tp=options.tp,
        pp=options.pp,
        ep=options.ep,
        zero=options.zero,
        microbatch=options.microbatch,
        schedule=options.schedule,
        recompute=options.recompute,
        attention=options.attention,
        precision=options.precision,
        progress=_progress if sys.stderr.isatty() else None,
    )
    if options.format == "json":
        print(json.dumps(to_dict(choice, options.top), indent=2))
    elif options.format == "csv":
        print(to_csv(choice, options.top), end="")
    else:
        _print(choice, options.top)
    if options.output:
        written = pk.draw.choice(choice, top=options.top).save(options.output)
        print(f"wrote {written}", file=sys.stderr if options.format != "table" else sys.stdout)


def _measured(cluster: pk.Cluster, log: Path) -> pk.Cluster:
    runs = pk.measure.read(log)
    fitted = runs.fit()
    for warning in (*runs.warnings, *fitted.warnings):
        print(f"{log.name}: {warning}", file=sys.stderr)
    changed = cluster.with_links(runs)
    print(
        f"{log.name}: {changed.measured[0]} nodes, {fitted}".replace("inside nodes", "inside a node"),
        file=sys.stderr,
    )
    return changed


def _print(choice: pk.Choice, top: int) -> None:
    cluster = choice.cluster
    print(
        f"{choice.model.name}: {choice.model.parameters:,} parameters on {cluster.devices:,} devices "
        f"({cluster.name}), batch {choice.limits.batch:,} × {choice.limits.sequence:,} tokens"
    )
    print(choice.sentence())
    if len(choice.ranked):
        print(choice.table(top))
    if len(choice.ranked) > 1:
        print(choice.why(0, 1))
    if len(choice.excluded):
        plan, reason = choice.excluded[0]
        print(f"not: {plan_words(plan)}: {reason}")
    for one in choice.least_changes[1:]:
        print(one.sentence)


def _progress(done: int, of: int) -> None:
    end = "\n" if done == of else ""
    print(f"\r{done:,} of {of:,} plans judged", end=end, file=sys.stderr, flush=True)


def _whole_numbers(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(one) for one in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of whole numbers, such as 1,2,4") from None


def _words(text: str) -> tuple[str, ...]:
    return tuple(one.strip() for one in text.split(","))
