"""Run benchmarks, all or those named, and keep what they measured as results.json and results.png."""

import json
import sys
from functools import partial
from pathlib import Path

import click

from benchmarks import busy, classes, course_run, elastic, fresh, grading, judging, repairs, scaling, setup, verdicts
from benchmarks.mutants import measure as mutants
from course.figures.style import GREY, plots, rank_colour
from tests.corpus import PARTS

RESULTS = Path(__file__).with_name("results.json")
VERDICTS = {f"verdicts-{part}": part for part in PARTS}
BENCHMARKS = {
    "setup": setup.measure,
    "course": course_run.measure,
    "scaling": scaling.measure,
    "judging": judging.measure,
    "grading": grading.measure,
    **{name: partial(verdicts.measure, part) for name, part in VERDICTS.items()},
    "repairs": repairs.measure,
    "mutants": mutants.measure,
    "classes": classes.measure,
    "busy": busy.measure,
    "elastic": elastic.measure,
    "fresh": fresh.measure,
}


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(list(BENCHMARKS)))
@click.option(
    "--times", type=click.IntRange(1), default=3, show_default=True, help="How often verdicts-* judge a script."
)
@click.option("--count", type=click.IntRange(1), default=300, show_default=True, help="How many scripts busy judges.")
@click.option(
    "--steps",
    "numbers",
    default="all",
    show_default=True,
    help="The steps whose mutants to judge, such as 1-6. Results are stored for all steps only.",
)
def main(names: tuple[str, ...], times: int, count: int, numbers: str) -> None:
    """Run the NAMES given, or all."""
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    if numbers != "all":
        if names != ("mutants",):
            raise click.UsageError("--steps is for mutants alone.")
        result = mutants.measure(numbers)
        click.echo(json.dumps(result, indent=2))
        sys.exit(not mutants.faultless(result))
    for name in names or BENCHMARKS:
        options = {"times": times} if name in VERDICTS else {"count": count} if name == "busy" else {}
        results[name] = json.loads(json.dumps(BENCHMARKS[name](**options)))  # as a later run will read it
        click.echo(f"{name}: {json.dumps(results[name])}")
        RESULTS.write_text(json.dumps(results, indent=2) + "\n")
    if results.keys() >= {"setup", "course", "scaling"}:
        draw(results)
    if "mutants" in (names or BENCHMARKS) and not mutants.faultless(results["mutants"]):
        sys.exit(1)


def draw(results: dict) -> None:
    """Draw all results as one figure."""
    figure, (times, rates, step) = plots(3)
    notebooks = results["course"]["notebooks"]
    times.bar(["set-up", *notebooks], [results["setup"]["seconds"], *notebooks.values()], color=GREY)
    times.tick_params(axis="x", rotation=60)
    times.set(title="Set-up and each lesson", ylabel="seconds")
    names = {"1": "1 rank,\n1 core", scaling.ALL_CORES: "1 rank,\nall cores", "2": "2 ranks,\n2 cores"}
    measured = results["scaling"]["images_per_second"]
    shown = [name for name in names if name in measured]  # results of earlier versions lack one rank on all cores
    for column, name in enumerate(shown):
        rates.plot([column] * len(measured[name]), measured[name], "o", color=rank_colour(column))
    rates.set(title=f"Two ranks: efficiency {results['scaling']['efficiency']:.0%}", ylabel="images/sec")
    rates.set_xticks(range(len(shown)), [names[name] for name in shown])
    rates.set_xlim(-0.5, len(shown) - 0.5)
    rates.set_ylim(0)
    parts = results["scaling"]["step_milliseconds"]
    step.bar(parts.keys(), parts.values(), color=[rank_colour(0), rank_colour(1), rank_colour(2)])
    step.set(title="One step of two ranks", ylabel="milliseconds")
    figure.savefig(RESULTS.with_suffix(".png"), dpi=110)


if __name__ == "__main__":
    main()
