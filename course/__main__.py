"""The course's command line: python -m course run | lab | watch | hunt | cluster | hosts | ..."""

import logging
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
from jupyter_core.paths import jupyter_config_path

from course import cluster, data, exercise, hosts, launch, progress, scaling, steps, tf_config
from course.hosts import layout

EXCHANGE = Path("/usr/local/share/nbgrader/exchange")  # nbgrader's default for Exchange.root


@click.group()
def main() -> None:
    """Run the course, open it, or fetch its data."""


def _chosen(context: click.Context, parameter: click.Parameter, value: str) -> list[steps.Step]:
    try:
        return steps.parse(value)
    except (KeyError, ValueError) as error:
        raise click.BadParameter(error.args[0]) from None


@main.command()
@click.option(
    "--steps", "chosen", default="0-7", callback=_chosen, help="1,2,5, 8-12, 6b, capstone_1 or all; default: 0-7."
)
@click.option("--np", default=2, type=click.IntRange(1), show_default=True, help="Ranks to train on.")
@click.option("--profile", type=click.Choice(list(launch.PROFILES)), default="cpu", show_default=True)
@click.option("--data-dir", type=click.Path(exists=True, file_okay=False, resolve_path=True), help="Other data.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), default=Path("out"), show_default=True)
def run(chosen: list[steps.Step], np: int, profile: str, data_dir: str | None, out: Path) -> None:
    """Execute the lessons headless; notebooks, HTML and summary.json go to --out."""
    from course import run as runner  # papermill takes a second to import

    _prepare(np)
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)  # it would report each task that an interrupt leaves
    try:
        summary = runner.run(chosen, out, np, profile, data_dir)
    except KeyboardInterrupt:
        sys.exit(f"Interrupted. The finished notebooks are in {out}.")
    failed = [notebook["name"] for notebook in summary["notebooks"] if notebook["status"] != "passed"]
    click.echo(
        f"{len(chosen) - len(failed)} of {len(chosen)} notebooks passed in {summary['seconds']:.0f} s: see {out}"
    )
    sys.exit(1 if failed else 0)


@main.command(context_settings={"ignore_unknown_options": True})
@click.option("--instructor", is_flag=True, help="Show nbgrader's pages for instructors and all folders, too.")
@click.argument("arguments", nargs=-1)
def lab(instructor: bool, arguments: tuple[str, ...]) -> None:
    """Put the starters in place and open JupyterLab on the lessons, with these ARGUMENTS.

    Started by JupyterHub, it is the user's server there.
    """
    for step in steps.STEPS:
        if step.script == Path(step.script).name:
            exercise.start(step.number, step.notebook.parent)
    progress.fill()
    (steps.ROOT / "assignments").mkdir(exist_ok=True)  # where nbgrader puts fetched assignments
    _prepare(np=2)
    if not instructor:
        _hide("for_learners")
        if not _has_exchange():
            _hide("without_class")
    os.chdir(steps.ROOT)  # not the lessons' folder: nbgrader's pages need the class's other folders
    opened = "--LabApp.default_url=/lab/tree/notebooks/index.ipynb"
    # Else, a user's .bashrc or /etc/profile would put another Python before the course's.
    shell = ["bash", "--rcfile", str(steps.ROOT / "scripts" / "terminal.bashrc")]
    terminals = f"--ServerApp.terminado_settings={ {'shell_command': shell} }"
    saving = "--FileContentsManager.post_save_hook=course.internal.saving.let_git_note"
    server = ["jupyterhub.singleuser"] if "JUPYTERHUB_API_TOKEN" in os.environ else ["jupyter", "lab"]
    options = opened, terminals, saving, *_as_root(arguments)
    os.execvp(sys.executable, [sys.executable, "-m", *server, *options])


def _hide(pages: str) -> None:
    """Leave pages of nbgrader's and the course's own folders out of JupyterLab, as a folder of settings says."""
    folder = steps.ROOT / "course" / "internal" / pages
    others = os.environ.get("JUPYTER_CONFIG_PATH")  # an empty part would be this folder
    os.environ["JUPYTER_CONFIG_PATH"] = f"{folder}{os.pathsep}{others}" if others else str(folder)


def _has_exchange() -> bool:
    """Whether a class may hand out assignments on this machine: nbgrader's pages show errors where none does."""
    folders = [Path(str(folder)) for folder in (*jupyter_config_path(), steps.ROOT)]
    settings = (path.read_text(errors="replace") for folder in folders for path in folder.glob("nbgrader_config.*"))
    return EXCHANGE.is_dir() or any(re.search(r"Exchange\W+root", text) for text in settings)


def _prepare(np: int) -> None:
    """Set the environment variables for kernels: those of np ranks, and this Python's kernel before all others."""
    own, others = f"{sys.prefix}/share/jupyter", os.environ.get("JUPYTER_PATH")
    os.environ.update(launch.environment(np), JUPYTER_PATH=f"{own}{os.pathsep}{others}" if others else own)


def _as_root(arguments: tuple[str, ...]) -> tuple[str, ...]:
    """Return JupyterLab's arguments, with the permission to run as root in a container, where root is what users are.

    Raises:
        click.ClickException: the user is root elsewhere, and has not said that this is meant.
    """
    if os.getuid() or "--allow-root" in arguments:
        return arguments
    if any(Path(mark).exists() for mark in ("/.dockerenv", "/run/.containerenv")):
        return ("--allow-root", *arguments)
    raise click.ClickException(
        "You are root, and JupyterLab runs whatever a notebook contains as its user. Start it as another user, or, if "
        "this is what you want, with scripts/lab --allow-root."
    )


class _Commands(click.ParamType):
    """A command-line argument of the form KIND=COMMAND or KIND:COUNT=COMMAND."""

    name = "KIND[:COUNT]=COMMAND"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, int, str]:
        """Return the kind, the count and the command."""
        task, _, command = value.partition("=")
        kind, _, count = task.partition(":")
        if kind not in tf_config.KINDS or not (count or "1").isdigit() or not command.strip():
            self.fail(f"'{value}' is not like worker:2=\"script.py --its --flags\", of {', '.join(tf_config.KINDS)}")
        return kind, int(count or 1), command


@main.command("cluster")
@click.argument("commands", type=_Commands(), nargs=-1, required=True)
def run_cluster(commands: tuple[tuple[str, int, str], ...]) -> None:
    """Run programs as the tasks of a TF_CONFIG cluster on this machine, until all have ended.

    Parameter servers and their workers never end by themselves, and are ended then. For instance:
    ps=worker_and_ps.py worker:2=worker_and_ps.py chief="coordinator.py --epochs 3"
    """
    try:
        cluster.run_commands(list(commands))
    except launch.RunError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit("Interrupted. All processes have ended.")


@main.command("hosts", context_settings={"allow_interspersed_args": False})
@click.option("--hosts", "count", default=2, type=click.IntRange(1, layout.MOST), show_default=True, help="And a head.")
@click.option("--slots", default=2, type=click.IntRange(1), show_default=True, help="Ranks per host, for the hostfile.")
@click.option("--rate", default="1gbit", show_default=True, help="Of the data network: 10gbit, 100mbit, ...")
@click.argument("command", nargs=-1, required=True)
def run_on_hosts(count: int, slots: int, rate: str, command: tuple[str, ...]) -> None:
    """Make hosts on this machine, run COMMAND on their head, and end them with it.

    bash is a command, too: ssh node1, cat /etc/hosts and mpirun --hostfile /cluster/hostfile are for you to type there.
    """
    try:
        with hosts.up(count, slots=slots, rate=rate) as cluster:
            signal.signal(signal.SIGINT, lambda *_: None)  # it reaches the command, which decides
            status = subprocess.call(cluster.command(command), env=cluster.variables)
    except hosts.HostsError as error:
        sys.exit(str(error))
    sys.exit(status if status >= 0 else 128 - status)


class _Rate(click.ParamType):
    """A rate such as 25gbit, in bits per second."""

    name = "RATE"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the bits per second."""
        try:
            return layout.bits_per_second(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


@main.command()
@click.option("--step", "chosen", type=steps.number, help="The step, such as 3, 6b or capstone_1.")
@click.option("--hunt", "hunted", type=int, help="Or the number of a hunt, whose files are checked.")
@click.argument("file", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path))
def watch(chosen: int | None, hunted: int | None, file: Path | None) -> None:
    """Check your file of a step whenever it is saved. FILE is another one than in the step's folder."""
    if (chosen is None) == (hunted is None):
        raise click.UsageError("Give --step or --hunt.")
    if hunted is not None:
        os.execv(sys.executable, [sys.executable, "-m", "grader", "hunt", "watch", str(hunted)])
    step = steps.get(chosen or 0)
    if not step.has_exercise:
        raise click.UsageError(f"{step.label.capitalize()} has no exercise.")
    own = file or steps.NOTEBOOKS / step.name / step.script
    if file is None:
        exercise.start(step.number, own.parent)  # the starter, if there is no file yet
    os.execv(sys.executable, [sys.executable, "-m", "grader", "watch", "--step", str(step.number), str(own)])


@main.command(context_settings={"ignore_unknown_options": True, "help_option_names": []})
@click.argument("arguments", nargs=-1)
def hunt(arguments: tuple[str, ...]) -> None:
    """Diagnose broken jobs, and mend them: hunt list, start, run, check, hint and reset."""
    os.execv(sys.executable, [sys.executable, "-m", "grader", "hunt", *arguments])


@main.command("predict")
@click.option(
    "--model", type=click.Choice(list(scaling.MODELS)), required=True, help="Trained on ImageNet, in 32 bits."
)
@click.option("--gpus", type=click.IntRange(1), required=True, help="Of all hosts together.")
@click.option("--network", type=_Rate(), required=True, help="Of each host's cable: 25gbit, 100gbit, ...")
@click.option("--gpus-per-host", type=click.IntRange(1), default=8, show_default=True)
@click.option("--batch", type=click.IntRange(1), default=64, show_default=True, help="Images per GPU and step.")
@click.option("--images-per-second", type=click.FloatRange(0, min_open=True), help="Of one GPU; default: of a P100.")
@click.option("--transport", type=click.Choice(["rdma", "tcp"]), default="rdma", show_default=True)
@click.option("--algorithm", type=click.Choice(list(scaling.ALGORITHMS)), default="ring", show_default=True)
@click.option("--overlap", type=click.FloatRange(0, 1), help="Default: as fitted to published figures.")
def predict_training(model: str, gpus: int, network: int, **options: Any) -> None:
    """Predict the speed of a training on many GPUs; python -m course.scaling.published shows how far to trust it."""
    from course.scaling.prediction import Prediction  # SciPy takes a moment to import

    try:
        click.echo(Prediction(model, gpus, network, **options).report())
    except ValueError as error:
        raise click.UsageError(str(error)) from None


@main.command("new-step")
@click.argument("number", type=click.IntRange(min=1))
@click.option("--part", required=True, help="A module of grader/checks, or the name of a new one.")
@click.option("--after", type=steps.number, required=True, help="The part's last step, which the new one starts from.")
@click.option("--title", default="TODO", show_default=True, help="The step's title.")
def make_step(number: int, part: str, after: int, title: str) -> None:
    """Make the stubs of step NUMBER, which fail the tests until they are written; see CONTRIBUTING.md."""
    from course import new_step  # for contributors alone

    for path in new_step.make(number, part, after, title):
        click.echo(f"Made or added to {path.relative_to(steps.ROOT)}")
    click.echo("CONTRIBUTING.md says what to write in each of these.")


@main.group("data")
def data_commands() -> None:
    """Fetch or cut the Fashion-MNIST data set."""


@data_commands.command()
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False))
def fetch(directory: Path) -> None:
    """Put the full data set into DIRECTORY, verified."""
    data.fetch(directory, click.echo)


@data_commands.command()
@click.argument("source", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False))
def cut(source: Path, directory: Path) -> None:
    """Write the course's own balanced subset of the full set in SOURCE to DIRECTORY."""
    data.cut(source, directory, train_per_class=600, test_per_class=100)


if __name__ == "__main__":
    main()
