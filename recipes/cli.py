"""The `engrain` command: a table of verbs, each one recipe function; errors are one message, exit codes 0, 1, 2."""

from __future__ import annotations

import sys
import traceback
import warnings
from typing import Annotated

import typer

from engrain.recipes import console
from engrain.runtime.errors import EngrainError

JsonFlag = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of tables.")]
Overrides = Annotated[list[str] | None, typer.Argument(metavar="[KEY.PATH=VALUE]...", help="Overrides of the recipe.")]
Limit = Annotated[int | None, typer.Option(min=1, help="A trial with this many candidates of each corpus.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Check the inputs and project the cost; ask nobody.")]
# What typer makes of Ctrl-C, without a word.
INTERRUPTED = 130
RecipeName = Annotated[str, typer.Argument(metavar="RECIPE", help="A YAML file, or a shipped recipe's name.")]

app = typer.Typer(
    name="engrain",
    help="Train and distil the memory of LLM agents, and run it without a generative call per turn.",
    epilog="Errors are one message; add --debug anywhere for the traceback. Exit codes: 0 done, 1 failed, 2 bad input.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
train = typer.Typer(help="Train the salience gate or LoRA-tune the dimensional extractor.", no_args_is_help=True)
evaluate = typer.Typer(help="Evaluate an exported gate or extractor on a labelled set.", no_args_is_help=True)
build = typer.Typer(help="Build training sets.", no_args_is_help=True)
app.add_typer(build, name="build")
app.add_typer(train, name="train")
app.add_typer(evaluate, name="eval")
bench = typer.Typer(help="Run systems on a benchmark and compare runs.", no_args_is_help=True)
app.add_typer(bench, name="bench")
inspect = typer.Typer(help="Look at data before it is used.", no_args_is_help=True)
app.add_typer(inspect, name="inspect")


@app.command()
def quickstart(
    overrides: Overrides = None,
    recipe: Annotated[str, typer.Option(help="The quickstart recipe.")] = "quickstart/small",
    json: JsonFlag = False,
) -> None:
    """The whole path on the shipped corpus: gate, extractor, bundles, a memory, questions, an HTML report."""
    from engrain.recipes import quickstart as verb

    verb.command(recipe, overrides or (), json)


@app.command()
def label(
    recipe: RecipeName,
    overrides: Overrides = None,
    limit: Limit = None,
    dry_run: DryRun = False,
    json: JsonFlag = False,
) -> None:
    """Label user turns by teachers and their consensus (SLICE-Mem A.1). Resumable: no answer is bought twice."""
    from engrain.recipes import label as verb

    verb.command(recipe, overrides or (), limit, dry_run, json)


@app.command()
def synthesize(
    recipe: RecipeName,
    overrides: Overrides = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Examples of each style, for a trial.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Project the cost of the first calls, send none.")] = False,
    json: JsonFlag = False,
) -> None:
    """A teacher invents dialogues and writes the records of windows (DimMem 3.5); what is refused is kept with why."""
    from engrain.recipes import synthesize as verb

    verb.command(recipe, overrides or (), limit, dry_run, json)


@build.command("extractor")
def build_extractor(recipe: RecipeName, overrides: Overrides = None, json: JsonFlag = False) -> None:
    """Build an extraction corpus: a teacher's examples, records by rules, the shipped corpus."""
    from engrain.recipes import build_extractor as verb

    verb.command(recipe, overrides or (), json)


@build.command("gate")
def build_gate(
    recipe: RecipeName,
    overrides: Overrides = None,
    limit: Limit = None,
    dry_run: DryRun = False,
    json: JsonFlag = False,
) -> None:
    """Build a gate corpus from labelled corpora and Memora's released labels (SLICE-Mem A.1), with a quality report."""
    from engrain.recipes import build_gate as verb

    verb.command(recipe, overrides or (), limit, dry_run, json)


@app.command()
def agree(
    paths: Annotated[list[str], typer.Argument(metavar="PATH...", help="Run folders, gate corpora or JSONL of votes.")],
    resamples: Annotated[int, typer.Option(min=100, help="Bootstrap resamples behind each interval.")] = 10_000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the resampling.")] = 42,
    html: Annotated[str | None, typer.Option(help="Also write the page with plots here.")] = None,
    json: JsonFlag = False,
) -> None:
    """How far raters agree (Fleiss, Krippendorff, Cohen), by corpus and type, over every turn that was rated."""
    from engrain.recipes import agree as verb

    verb.command(paths, resamples, seed, html, json)


@app.command()
def annotate(
    recipe: RecipeName,
    overrides: Overrides = None,
    annotator: Annotated[str | None, typer.Option(help="Your name; decisions go to a file of that name.")] = None,
    report: Annotated[bool, typer.Option("--report", help="Agreement of people and teachers so far.")] = False,
    json: JsonFlag = False,
) -> None:
    """Judge turns in the terminal, as an audit of labels and gates (SLICE-Mem C.2). Resumable."""
    from engrain.recipes import annotate as verb

    verb.command(recipe, overrides or (), annotator, report, json)


@train.command("gate")
def train_gate(
    recipe: RecipeName,
    overrides: Overrides = None,
    resume: Annotated[bool, typer.Option(help="Continue each seed from its last checkpoint.")] = False,
    json: JsonFlag = False,
) -> None:
    """Train the salience gate (SLICE-Mem 3.1, A.2): a binary admission classifier over context and target turn."""
    from engrain.recipes import train_gate as verb

    verb.command(recipe, overrides or (), resume, json)


@train.command("gate-windows")
def train_gate_windows(
    recipe: RecipeName,
    overrides: Overrides = None,
    resume: Annotated[bool, typer.Option(help="Keep finished runs, continue the others.")] = False,
    workers: Annotated[int, typer.Option(min=1, help="Runs at the same time; each takes a device of its own.")] = 1,
    json: JsonFlag = False,
) -> None:
    """Choose the context window (SLICE-Mem C.1): k in {1, 3, 5} by seeds, mean validation loss, paired bootstrap."""
    from engrain.recipes import gate_windows as verb

    verb.command(recipe, overrides or (), resume, workers, json)


@train.command("extractor")
def train_extractor(
    recipe: RecipeName,
    overrides: Overrides = None,
    resume: Annotated[bool, typer.Option(help="Continue from the last checkpoint.")] = False,
    json: JsonFlag = False,
) -> None:
    """LoRA-tune the dimensional extractor (DimMem 3.5) with a completion-only loss."""
    from engrain.recipes import train_extractor as verb

    verb.command(recipe, overrides or (), resume, json)


@train.command("refine")
def train_refine(recipe: RecipeName, overrides: Overrides = None, json: JsonFlag = False) -> None:
    """Second stage of a finished extractor run: GRPO with verifiable rewards, or DPO; beyond DimMem."""
    from engrain.recipes import refine_extractor as verb

    verb.command(recipe, overrides or (), json)


@evaluate.command("gate")
def eval_gate(
    bundle: Annotated[str, typer.Argument(help="A gate bundle.")],
    recipe: RecipeName,
    overrides: Overrides = None,
    html: Annotated[str | None, typer.Option(help="Also write a page with slices, curves and errors here.")] = None,
    int8: Annotated[bool, typer.Option("--int8", help="Score with the quantised weights.")] = False,
    json: JsonFlag = False,
) -> None:
    """Score a gate bundle on a recipe's evaluation rows: measures by slice, calibration, PR curve, worst errors."""
    from engrain.recipes import eval_gate as verb

    verb.command(bundle, recipe, overrides or (), json, html, "int8" if int8 else "fp32")


@evaluate.command("extractor")
def eval_extractor(
    bundle: Annotated[str, typer.Argument(help="An extractor bundle.")],
    recipe: RecipeName,
    overrides: Overrides = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Windows at most.")] = None,
    json: JsonFlag = False,
) -> None:
    """Run an extractor bundle on held-out windows: valid JSON rate, record precision, recall and F1 against gold."""
    from engrain.recipes import eval_extractor as verb

    verb.command(bundle, recipe, overrides or (), limit, json)


@evaluate.command("dependency")
def eval_dependency(
    source: Annotated[str, typer.Argument(help="Memora's folder.")],
    split: Annotated[str, typer.Option(help="The split whose turns are extracted.")] = "weekly",
    admitted: Annotated[str | None, typer.Option(help="File with the ids of the turns that a gate admits.")] = None,
    parser: Annotated[str, typer.Option(help="spacy or hanlp.")] = "spacy",
    limit: Annotated[int | None, typer.Option(min=1, help="Turns at most.")] = None,
    json: JsonFlag = False,
) -> None:
    """Diagnose the dependency extractor (SLICE-Mem C.4): empty, fragment and fallback rates, retention, length."""
    from engrain.recipes import eval_dependency as verb

    verb.command(source, split, admitted, parser, limit=limit, json=json)


@inspect.command("masks")
def inspect_masks(
    recipe: RecipeName,
    overrides: Overrides = None,
    examples: Annotated[int, typer.Option(min=1, help="Training examples to show.")] = 3,
    json: JsonFlag = False,
) -> None:
    """Print an extractor recipe's training examples token by token, coloured by whether the loss counts them."""
    from engrain.recipes import inspect_masks as verb

    verb.command(recipe, overrides or (), examples, json)


@inspect.command("corpus")
def inspect_corpus(
    name: Annotated[str, typer.Argument(help="A corpus, such as msc, esconv, led, memora, locomo, chat, jsonl.")],
    root: Annotated[str | None, typer.Option(help="Its folder or file; left out, it is read from a hub.")] = None,
    split: Annotated[list[str] | None, typer.Option(help="Only these splits.")] = None,
    allow_missing: Annotated[list[str] | None, typer.Option(help="Splits that may be absent.")] = None,
    zone: Annotated[str | None, typer.Option(help="Zone of times without an offset; UTC when left out.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Sessions at most.")] = None,
    examples: Annotated[int, typer.Option(min=0, help="Sessions shown.")] = 2,
    tokenizer: Annotated[str | None, typer.Option(help="Model whose tokens count: a folder, package or name.")] = None,
    json: JsonFlag = False,
) -> None:
    """Sessions, turns, roles, languages, lengths in tokens against the gate's limit, times, licence, examples."""
    from engrain.recipes import inspect_corpus as verb

    verb.command(
        name,
        root,
        splits=split,
        allow_missing=allow_missing or (),
        zone=zone,
        limit=limit,
        examples=examples,
        tokenizer=tokenizer,
        as_json=json,
    )


@app.command()
def extract(
    text: Annotated[str, typer.Argument(help="One user turn.")],
    explain: Annotated[bool, typer.Option(help="Show clauses, scored candidates, filters, spans and units.")] = False,
    html: Annotated[str | None, typer.Option(help="Also write the explanation, with the graph drawn, here.")] = None,
    time: Annotated[str | None, typer.Option(help="When it was said; now when left out.")] = None,
    parser: Annotated[str, typer.Option(help="spacy or hanlp.")] = "spacy",
    json: JsonFlag = False,
) -> None:
    """Turn one user turn into a memory entry by rules over semantic dependencies (SLICE-Mem 3.2, A.3)."""
    from engrain.recipes import extract as verb

    verb.command(text, explain, html, time, parser, json=json)


@app.command()
def cost(
    ledger: Annotated[str, typer.Argument(help="A ledger file of paid calls.")],
    name: Annotated[str | None, typer.Option("--run", help="Only this run.")] = None,
    json: JsonFlag = False,
) -> None:
    """Print what model calls cost, by stage, teacher and run."""
    from engrain.recipes import cost as verb

    verb.command(ledger, name, json)


@app.command()
def export(
    kind: Annotated[str, typer.Argument(metavar="KIND", help="gate, extractor or embedder.")],
    source: Annotated[str, typer.Argument(help="A run's folder; for an embedder, a model name or folder.")],
    out: Annotated[str, typer.Argument(help="Folder of the new bundle; a file for gguf.")],
    to: Annotated[str, typer.Option(help="Of an extractor: bundle, adapter, merged or gguf.")] = "bundle",
    overwrite: Annotated[bool, typer.Option(help="Replace a bundle that is already there.")] = False,
    json: JsonFlag = False,
) -> None:
    """Turn a trained checkpoint into a bundle: safetensors, ONNX, tokenizer, manifest with hashes, model card."""
    from engrain.recipes import export as verb

    verb.command(kind, source, out, overwrite, json, to)


@bench.command("run")
def bench_run(recipe: RecipeName, overrides: Overrides = None, json: JsonFlag = False) -> None:
    """Build, search, answer and judge by one recipe (LoCoMo, LongMemEval, Memora); resumable, every stage accounted."""
    from engrain.recipes import bench as verb

    verb.command(recipe, overrides or (), json)


@bench.command("compare")
def bench_compare(
    left: Annotated[str, typer.Argument(metavar="A", help="Folder of a run.")],
    right: Annotated[str, typer.Argument(metavar="B", help="Folder of another; the same compares its systems.")],
    json: JsonFlag = False,
) -> None:
    """Paired bootstrap between two runs over the questions that both have."""
    from engrain.recipes import bench_compare as verb

    verb.command(left, right, json)


@app.command()
def plan(recipe: RecipeName, overrides: Overrides = None, json: JsonFlag = False) -> None:
    """Print a recipe resolved: steps, parameters, training memory, what will be written. Offline, trains nothing."""
    from engrain.recipes import plan as verb

    verb.command(recipe, overrides or (), json)


@app.command()
def doctor(
    store: Annotated[str | None, typer.Option(help="Also check this memory file.")] = None, json: JsonFlag = False
) -> None:
    """Check this installation: versions, extras, weights, devices, disk; with --store, a memory file's consistency."""
    from engrain.recipes import doctor as verb

    raise typer.Exit(verb.command(store, json))


def main() -> None:
    """Entry point of the `engrain` script."""
    debug = "--debug" in sys.argv
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    if not debug:
        # Deprecations inside these libraries are for their authors, not for the person at the terminal.
        warnings.filterwarnings("ignore", module=r"(transformers|peft|pytorch_lightning|torch)\b.*")
    sys.exit(run(arguments, debug=debug))


def run(arguments: list[str], *, debug: bool = False) -> int:
    """Run one command line and return its exit code."""
    try:
        app(args=arguments, prog_name="engrain")
    except SystemExit as stop:
        # How typer ends, also after it has shown a usage error of its own.
        if stop.code == INTERRUPTED:
            return _interrupted()
        return stop.code if isinstance(stop.code, int) else 0
    except KeyboardInterrupt:
        return _interrupted()
    except EngrainError as error:
        return _report(error, str(error), error.exit_code, debug)
    except (OSError, MemoryError) as error:
        return _report(error, f"{type(error).__name__}: {error}", 1, debug)
    except Exception as error:
        message = f"unexpected {type(error).__name__}: {error}\nthis is a fault of Engrain; --debug shows where"
        return _report(error, message, 1, debug)
    return 0


def _interrupted() -> int:
    console.say("interrupted; what was finished before is kept, and the same command goes on from there")
    return 1


def _report(error: BaseException, message: str, code: int, debug: bool) -> int:
    if debug:
        traceback.print_exception(error)
    console.say("error: " + message)
    return code


from engrain.recipes import (  # noqa: E402  (their import adds their verbs to `memory`)
    consolidation_commands,  # noqa: F401
    store_commands,  # noqa: F401
)
from engrain.recipes.memory_commands import memory  # noqa: E402  (the verbs of a sub-command live in their own file)

app.add_typer(memory, name="memory")
