"""Public training scripts, as they are, log to a real server; prints rows sent and rows stored.

    python benchmarks/public_scripts.py [--only run_clm autoencoder] [--scripts FOLDER] [--folder FOLDER]

Each script is downloaded from the commit named here (or taken from --scripts), compared with its digest, and
run with variables and its own options only, at a tiny size on the CPU. Frameworks are installed into
environments of their own below the user's cache folder (several GiB). Data sets and the tokenizer are
generated, since the models and data that the scripts name would have to be downloaded.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.request import urlopen

import numpy as np

REPOSITORY = Path(__file__).parents[1]
sys.path.insert(0, str(REPOSITORY))

from tests.support.tracker_host import TrackerHost, tracker_host  # noqa: E402

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "holter" / "public-scripts"
PROGRAMS = Path(__file__).parent / "public_script_data"
SECONDS = 900
Values = Mapping[str, list[float]]
"""The values of each metric, in any order."""

_GITHUB = "https://raw.githubusercontent.com"
_NANOGPT = f"{_GITHUB}/karpathy/nanoGPT/3adf61e154c3fe3fca428ad6bc3818b27a3b8291"
_TRANSFORMERS = f"{_GITHUB}/huggingface/transformers/008c0ba8e2a1226a6ef5a61c4915a0a8a340c157"
_LIGHTNING = f"{_GITHUB}/Lightning-AI/pytorch-lightning/7f0c3436cd3f6ad3753125672024fc415cbcb414"
_BASICS = f"{_LIGHTNING}/examples/pytorch/basics"
SOURCES = {
    "train.py": (f"{_NANOGPT}/train.py", "413bd97b40bb400a2a0d01230e2946f056c263ebac1b7281c2367d964a123085"),
    "model.py": (f"{_NANOGPT}/model.py", "7c01703240dbec5d554527dc666e35b3df8391d0b117fddc07afcf325a21d11c"),
    "configurator.py": (
        f"{_NANOGPT}/configurator.py",
        "5cc23aca26b4ab3c0d9e5f82740f4781f9444f42718c15abcee70d93c5aabe8f",
    ),
    "train_shakespeare_char.py": (
        f"{_NANOGPT}/config/train_shakespeare_char.py",
        "9b41cdfb2c917259d796a8184d835221a349c23cd18a0a63b46da431d95d9c05",
    ),
    "run_clm.py": (
        f"{_TRANSFORMERS}/examples/pytorch/language-modeling/run_clm.py",
        "733a7ce9ab80e870ba4eb197ad02504b2dbc208250a165a1d28fe2d4594e9392",
    ),
    "transformer.py": (
        f"{_BASICS}/transformer.py",
        "417e7ceb2e0611d7656ea6ea72927c18a04dcf4fda824e3baca2645a9e464367",
    ),
    "autoencoder.py": (
        f"{_BASICS}/autoencoder.py",
        "fbd691666054c1ac7472df714d5e8b4cdfb912d5973d010cd6a6172cf6bf3255",
    ),
}
_TORCH, _WANDB = "torch==2.13.0", "wandb==0.31.0"
PACKAGES = {
    "transformers": (
        _TORCH, _WANDB, "transformers==4.56.2", "datasets==4.0.0", "accelerate==1.10.1", "evaluate==0.4.5",
        "scikit-learn",
    ),
    "lightning": (
        _TORCH, _WANDB, "lightning==2.6.6", "torchvision==0.28.0", "jsonargparse[signatures]", "tensorboard",
        "requests",
    ),
    "torchtitan": (_TORCH, _WANDB, "torchtitan==0.2.2", "triton"),
}  # fmt: skip
"""The packages of each environment; the versions of transformers are those of the script's commit."""


@dataclass(frozen=True, kw_only=True)
class PublicScript:
    """A script with its own options. `files`: where its sources lie in the folder it is run in.

    `sent` reads what the script itself has recorded of what it logged, in that folder.
    """

    environment: str
    files: Mapping[str, str]
    command: Sequence[str]
    variables: Mapping[str, str] = field(default_factory=dict)
    prepare: str = ""
    sent: Callable[[Path, Path], Values]


def install(name: str) -> Path:
    """The Python of an environment with the packages of a framework, and with Holter's client."""
    folder = CACHE / name
    python = folder / "bin" / "python"
    pip = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    if not (folder / "installed").exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run([*pip, *PACKAGES[name]], check=True, timeout=3600)
        (folder / "installed").touch()
    subprocess.run([*pip, "--no-deps", "--force-reinstall", str(REPOSITORY)], check=True, timeout=600)
    return python


def fetch(name: str, scripts: Path | None) -> bytes:
    """The source of a script, exactly as it was published."""
    address, digest = SOURCES[name]
    if scripts is not None:
        content = (scripts / name).read_bytes()
    else:
        with urlopen(address, timeout=60) as answer:
            content = answer.read()
    if hashlib.sha256(content).hexdigest() != digest:
        raise SystemExit(f"{scripts / name if scripts else address}: not the published source")
    return content


def read_wandb_files(folder: Path, python: Path) -> Values:
    """What the wandb client has written into its own files."""
    files = [str(path) for path in folder.glob("**/run-*.wandb")]
    program = [str(python), str(PROGRAMS / "read_wandb_file.py"), *files]
    output = subprocess.run(program, check=True, capture_output=True, text=True).stdout
    return dict(json.loads(output))


def read_event_files(folder: Path, python: Path) -> Values:
    """What Lightning's default logger has written."""
    program = [str(python), str(PROGRAMS / "read_event_files.py"), str(folder)]
    output = subprocess.run(program, check=True, capture_output=True, text=True).stdout
    values: dict[str, list[float]] = json.loads(output)
    return {name: each for name, each in values.items() if name not in {"epoch", "hp_metric"}}


def read_trainer_state(folder: Path, python: Path) -> Values:
    """What the Trainer of transformers has written into trainer_state.json."""
    values: dict[str, list[float]] = {}
    for entry in json.loads((folder / "out" / "trainer_state.json").read_text())["log_history"]:
        for name, value in entry.items():
            if name in {"loss", "grad_norm", "learning_rate"}:
                values.setdefault(f"train/{name}", []).append(float(value))
    return values


_CLM = (
    "run_clm.py", "--model_type", "gpt2", "--tokenizer_name", "tokenizer", "--train_file", "text.txt",
    "--validation_file", "text.txt", "--config_overrides", "n_embd=32,n_layer=2,n_head=2,n_positions=64",
    "--block_size", "32", "--max_steps", "40", "--logging_steps", "2", "--eval_strategy", "steps",
    "--eval_steps", "20", "--max_eval_samples", "16", "--per_device_train_batch_size", "4", "--do_train",
    "--do_eval", "--output_dir", "out", "--use_cpu",
)  # fmt: skip
SCRIPTS = {
    "nanoGPT": PublicScript(
        environment="transformers",
        files={"train.py": "train.py", "model.py": "model.py", "configurator.py": "configurator.py",
               "train_shakespeare_char.py": "config/train_shakespeare_char.py"},
        prepare="shakespeare.py",
        command=(
            "train.py", "config/train_shakespeare_char.py", "--device=cpu", "--compile=False",
            "--eval_iters=2", "--block_size=32", "--batch_size=4", "--n_layer=2", "--n_head=2", "--n_embd=32",
            "--max_iters=100", "--eval_interval=10", "--wandb_log=True",
        ),
        sent=read_wandb_files,
    ),
    "run_clm": PublicScript(
        environment="transformers",
        files={"run_clm.py": "run_clm.py"},
        prepare="language_model.py",
        command=(*_CLM, "--report_to", "wandb"),
        sent=read_wandb_files,
    ),
    "run_clm, plug-in": PublicScript(
        environment="transformers",
        files={"run_clm.py": "run_clm.py"},
        prepare="language_model.py",
        command=(
            "-m", "holter.integrations.transformers", *_CLM, "--report_to", "holter",
            "--run_name", "run_clm16",
        ),
        sent=read_trainer_state,
    ),
    "autoencoder": PublicScript(
        environment="lightning",
        files={"autoencoder.py": "pytorch/basics/autoencoder.py"},
        prepare="digits.py",
        command=(
            "pytorch/basics/autoencoder.py", "--trainer.accelerator=cpu", "--trainer.max_epochs=2",
            "--trainer.limit_train_batches=200", "--trainer.limit_val_batches=10",
            "--trainer.limit_test_batches=10", "--trainer.limit_predict_batches=2",
            "--trainer.log_every_n_steps=5", "--trainer.logger=WandbLogger",
        ),
        variables={"PL_USE_MOCKED_MNIST": "1"},
        sent=read_wandb_files,
    ),
    "torchtitan, CPU as accelerator": PublicScript(
        environment="torchtitan",
        files={},
        prepare="c4.py",
        command=(
            "-m", "torchtitan.train", "--model.name", "llama3", "--model.flavor", "debugmodel",
            "--model.hf_assets_path", "./tests/assets/tokenizer", "--training.dataset", "c4_test",
            "--training.steps", "20", "--training.seq_len", "128", "--training.local_batch_size", "2",
            "--metrics.log_freq", "1", "--metrics.enable_wandb",
        ),
        variables={
            "PYTHONPATH": str(PROGRAMS / "cpu_as_accelerator"), "WANDB_PROJECT": "torchtitan",
            "LOCAL_RANK": "0", "RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "LOG_RANK": "0",
            "MASTER_PORT": "29511",
        },
        sent=read_wandb_files,
    ),
    "transformer, plug-in": PublicScript(
        environment="lightning",
        files={"transformer.py": "transformer.py"},
        prepare="wikitext.py",
        command=("transformer.py",),
        variables={"HOLTER_LIGHTNING": "1"},
        sent=read_event_files,
    ),
}  # fmt: skip


def run_script(name: str, host: TrackerHost, folder: Path, scripts: Path | None) -> str:
    """Run a script; a row of the table."""
    script, run = SCRIPTS[name], name.partition(",")[0] + str(len(name))
    python = install(script.environment)
    for source, place in script.files.items():
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_bytes(fetch(source, scripts))
    variables = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("WANDB", "HOLTER", "PYTHON"))
    }
    variables |= {
        "CUDA_VISIBLE_DEVICES": "", "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "2",
        "WANDB_BASE_URL": host.server_address, "WANDB_API_KEY": 40 * "0", "WANDB_RUN_ID": run,
        "HOLTER_SERVER": host.server_address, "HOLTER_RUN": run, "HOLTER_SPOOL_DIR": str(folder / "spool"),
        **script.variables,
    }  # fmt: skip
    if script.prepare:
        subprocess.run([python, PROGRAMS / script.prepare], cwd=folder, env=variables, check=True)
    began = time.monotonic()
    with open(folder / "output.txt", "wb") as output:
        code = subprocess.run(
            [python, *script.command],
            cwd=folder,
            env=variables,
            stdout=output,
            stderr=output,
            timeout=SECONDS,
        ).returncode
    seconds = time.monotonic() - began
    sent = script.sent(folder, python) if code == 0 else {}
    stored = {
        metric: [
            value for key, each in host.points(run).items() if key.metric == metric for value in each.value
        ]
        for metric in sent
    }
    exact = bool(sent) and all(
        np.allclose(sorted(sent[metric]), sorted(stored[metric]), rtol=1e-6, equal_nan=True)
        for metric in sent
        if len(sent[metric]) == len(stored[metric])
    )
    exact = exact and all(len(sent[metric]) == len(stored[metric]) for metric in sent)
    state = host.detail(run)["state"] if any(stored.values()) else ""
    cells = (
        name, code, len(sent), sum(map(len, sent.values())), sum(map(len, stored.values())),
        "yes" if exact else "NO", state, f"{seconds:.0f}",
    )  # fmt: skip
    return "| " + " | ".join(map(str, cells)) + " |"


def main() -> int:
    """Exit code 1 where a script failed or a row is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", nargs="*", default=tuple(SCRIPTS), choices=tuple(SCRIPTS))
    parser.add_argument("--scripts", type=Path, help="folder with the scripts (default: download them)")
    parser.add_argument("--folder", type=Path, help="new folder for everything (default: a temporary one)")
    arguments = parser.parse_args()
    rows = []
    print("| script | exit code | metrics | points sent | points stored | exact | state | seconds |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary:
        folder = arguments.folder or Path(temporary)
        with tracker_host(folder / "server") as host:
            for name in arguments.only:
                own = folder / name.replace(", ", "-")
                own.mkdir()
                rows.append(run_script(name, host, own, arguments.scripts))
                print(rows[-1], flush=True)
    return 0 if all("| yes |" in row for row in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
