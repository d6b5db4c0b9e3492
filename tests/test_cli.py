"""The command line: what it prints, writes and refuses."""

import json

import pytest

from parakit.cli import main


def run(capsys, *arguments):
    status = main(list(arguments))
    out, err = capsys.readouterr()
    return status, out, err


def test_grid_prints_the_grid_and_writes_the_picture(capsys, tmp_path):
    target = tmp_path / "grid.svg"
    status, out, _ = run(
        capsys,
        "grid",
        "--stages",
        "4",
        "--microbatches",
        "8",
        "--schedule",
        "gpipe",
        "--forward-only",
        "-o",
        str(target),
    )
    assert status == 0
    assert out == (
        "forward only, 4 stages, 8 microbatches\n"
        "stage A | A1 A2 A3 A4 A5 A6 A7 A8 ·· ·· ··\n"
        "stage B | ·· B1 B2 B3 B4 B5 B6 B7 B8 ·· ··\n"
        "stage C | ·· ·· C1 C2 C3 C4 C5 C6 C7 C8 ··\n"
        "stage D | ·· ·· ·· D1 D2 D3 D4 D5 D6 D7 D8\n"
        "A1 forward, -- going on, ·· idle\n"
        "11 slots; idle share 27% of all stage time, idle over ideal 38% of the busy time\n"
        f"wrote {target}\n"
    )
    assert target.read_text().startswith("<svg")


@pytest.mark.parametrize("suffix", ["png", "pdf"])
def test_grid_writes_the_other_forms(capsys, tmp_path, suffix):
    target = tmp_path / f"grid.{suffix}"
    assert run(capsys, "grid", "--stages", "2", "--microbatches", "2", "-o", str(target))[0] == 0
    assert target.stat().st_size > 1000


def test_memory_prints_the_table(capsys, tmp_path):
    config = {
        "model_type": "llama",
        "hidden_size": 4096,
        "intermediate_size": 14336,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "vocab_size": 128256,
        "_name_or_path": "Llama-3-8B",
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    arguments = [
        "memory",
        str(tmp_path / "config.json"),
        "--zero",
        "1",
        "--dp",
        "8",
        "--pp",
        "2",
        "--capacity",
        "80",
    ]
    status, out, _ = run(capsys, *arguments)
    assert status == 0
    assert out == (
        "Llama-3-8B: 8,030,261,248 parameters\n"
        "Llama-3-8B, mixed-16, dp=8 tp=1 pp=2, ZeRO 1; 2 microbatches of 1 × 2,048 tokens; on one device of each stage\n"
        "stage  parameters  gradients  optimizer  activations  together\n"
        "    A      8.0 GB     8.0 GB     6.0 GB       9.1 GB   31.2 GB\n"
        "    B      8.0 GB     8.0 GB     6.0 GB       5.7 GB   27.7 GB\n"
        "Stage A is the fullest: 31.2 GB of 80 GB (none in reserve)\n"
    )
    target = tmp_path / "bars.png"
    status, out, _ = run(
        capsys, "memory", "llama-2-13b", "--pp", "3", "--stage-layers", "14,13,13", "-o", str(target)
    )
    assert status == 0
    assert target.exists()


def test_memory_names_tensors_and_gives_advice(capsys):
    status, out, _ = run(
        capsys, "memory", "gpt2", "--tensors", "--advice", "--capacity", "1", "--unit", "GiB"
    )
    assert status == 0
    assert "1.8 GiB more than the 1 GiB (none in reserve) of its device" in out
    assert "logits" in out
    assert "- Keep Adam's moments in 8 bits (adam-8bit): saves 0.70 GiB" in out
    assert " GB" not in out


def test_traffic_prints_the_table_and_draws(capsys, tmp_path):
    target = tmp_path / "sent.svg"
    status, out, _ = run(capsys, "traffic", "gpt2", "--dp", "2", "-o", str(target))
    assert status == 0
    assert out == (
        "gpt2: 124,439,808 parameters\n"
        "pipeline rank  strategy  what       collective  devices    each  times  a step  when      can overlap\n"
        "A              data      gradients  all-reduce        2  249 MB      1  249 MB  backward  yes\n"
        "a device sends up to 249 MB in a step\n"
        f"wrote {target}\n"
    )
    assert target.read_text().startswith("<svg")


REFUSED = [
    (
        ["grid", "--stages", "0", "--microbatches", "8"],
        "parakit: a pipeline of 0 stages cannot be made: the number must be a whole number from 1 to 65,536\n",
    ),
    (
        ["grid", "--stages", "4", "--microbatches", "1000000000"],
        "parakit: 1,000,000,000 microbatches on 4 stages are 8,000,000,000 actions, and parakit lays out at most "
        "4,000,000, what memory and a few seconds allow: at 4 stages choose at most 500,000 microbatches\n",
    ),
    (
        ["memory", "llama-3-8b", "--stage-layers", "a,b"],
        "parakit: --stage-layers 'a,b' is not a list of whole numbers, such as 14,13,13\n",
    ),
    (
        ["memory", "llama-3-8b", "--zero", "7"],
        "parakit: zero is 7: it must be a whole number from 0 to 3 (0 shards nothing, 3 everything)\n",
    ),
    (
        ["memory", "nothing.json"],
        "parakit: there is no file nothing.json: a model's config.json from Hugging Face is expected here\n",
    ),
    (
        ["memory", "llama-3-8b", "--capacity", "-1"],
        "parakit: capacity is -1000000000.0: it must be a positive number of bytes, such as 80e9\n",
    ),
    (
        ["grid", "--stages", "2", "--microbatches", "2", "-o", "grid.jpg"],
        "parakit: 'grid.jpg' does not end in .svg, .png or .pdf\n",
    ),
]


@pytest.mark.parametrize(("arguments", "said"), REFUSED, ids=[" ".join(one) for one, _ in REFUSED])
def test_bad_input_gets_one_sentence_and_status_2(capsys, arguments, said):
    status, _, err = run(capsys, *arguments)
    assert status == 2
    assert err == said


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["lab", "--help"], ["grid", "--help"], ["memory", "--help"], ["traffic", "--help"]],
)
def test_help_is_everywhere(capsys, arguments):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 0
    assert "usage: parakit" in capsys.readouterr().out


def test_version(capsys):
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out.startswith("parakit 0.")


def test_check_says_every_fault_and_marks_them(capsys, tmp_path):
    order, target = tmp_path / "order.csv", tmp_path / "order.svg"
    order.write_text("0F0,0B0,0F1,0B1\n1F1,1B1,1F0,1B0\n")
    status, out, _ = run(capsys, "check", str(order), "-o", str(target))
    assert status == 1
    assert out == (
        "2 devices, 2 stages, 2 microbatches, 8 actions: 1 fault\n"
        "- device 0, position 1: the devices wait in a circle: A1 backward waits for B1 backward, which comes after "
        "B2 forward on device 1; B2 forward waits for A2 forward, which comes after A1 backward on device 0\n"
        f"wrote {target}\n"
    )
    assert "This order cannot run: 1 fault" in target.read_text()
    order.write_text("0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1")
    assert run(capsys, "check", str(order))[:2] == (
        0,
        "2 devices, 2 stages, 2 microbatches, 8 actions: it can run\n",
    )
    status, out, _ = run(capsys, "check", str(order), "--communication", "blocking")
    assert status == 1
    assert "both send first" in out
    status, out, _ = run(capsys, "check", str(order), "--microbatches", "3")
    assert status == 1
    assert "A3 forward is missing" in out


def test_trace_is_written_and_drawn_again(capsys, tmp_path):
    for name in ("t.json", "t.json.gz", "t.csv"):
        target = tmp_path / name
        arguments = ["--stages", "2", "--microbatches", "3", "--schedule", "zb-h1", "--overhead", "0.5"]
        assert run(capsys, "trace", *arguments, "-o", str(target))[:2] == (0, f"wrote {target}\n")
        if name == "t.csv":
            assert target.read_text().startswith(
                "device,stage,kind,microbatch,start,end,overlapped\n0,0,F,0,0.0,1.5"
            )
            continue
        status, out, _ = run(capsys, "grid", "--from", str(target))
        assert status == 0
        assert out.startswith("zb-h1, 2 stages, 3 microbatches\n")
        assert "\n15 slots; idle share" in out


def test_grid_from_an_order_of_one_s_own(capsys, tmp_path):
    order, target = tmp_path / "mine.txt", tmp_path / "mine.svg"
    order.write_text("0F0,0F1\n1F0,1F1")
    status, out, _ = run(capsys, "grid", "--from", str(order), "-o", str(target), "--critical")
    assert status == 0
    assert out.startswith("forward only, 2 stages, 2 microbatches\nstage A | A1 A2 ··\nstage B | ·· B1 B2\n")
    assert "critical path" in target.read_text()


REFUSED = [
    (["grid"], "parakit: give --stages and --microbatches, or --from FILE\n"),
    (
        ["trace", "--stages", "2", "--microbatches", "2", "-o", "x.txt"],
        "parakit: 'x.txt' does not end in .json, .json.gz or .csv\n",
    ),
    (["grid", "--from", "a.txt", "b.txt"], "parakit: --from has 2 orders: give one, or traces of one run\n"),
]


@pytest.mark.parametrize(("arguments", "text"), REFUSED, ids=[text[9:30] for _, text in REFUSED])
def test_what_cannot_be_drawn_or_written_is_said(capsys, arguments, text):
    assert run(capsys, *arguments) == (2, "", text)
