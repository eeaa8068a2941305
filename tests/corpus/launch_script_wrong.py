"""Wrong scripts of step 18, launch.sh, each with the check that is the first to fail."""

from course.steps import get
from tests.corpus.launch_script_passages import (
    END_RANKS,
    HOSTFILE,
    LOST,
    NETWORK,
    STAGE,
    START,
    VARIABLES,
    WATCH,
    WITHOUT,
)
from tests.corpus.variant import Variant, wrong

_PROGRAM = '    "${program[@]}" < /dev/null &\n'
_ALL, _FIRST = 'for host in "${hosts[@]}"; do\n        ', 'for host in "${hosts[0]}"; do\n        '

_JOBS = """for host in "${hosts[@]}"; do
    slots=$(awk -v host="$host" '$1 == host { sub("slots=", "", $2); print $2 }' "$work/hostfile")
    mpirun -np "$slots" --host "$host:$slots" --mca btl_tcp_if_include "$DATA_NETWORK" \\
        -x PATH -x RUN -x SEED -x DATA="$copy" "${program[@]}" < /dev/null &
    job=$!
done
"""

_KEEPALIVE = f"""    --prtemca oob_tcp_keepalive_time 5 --prtemca oob_tcp_keepalive_intvl 2 \\
    --prtemca oob_tcp_keepalive_probes 3 \\
{NETWORK}"""

_ONE_ARGUMENT = '    "${program[@]:0:3}" "${program[*]:3}" < /dev/null &\n'

_COMMENTS = """cp "$1" "$work/hostfile"
mapfile -t hosts < <(awk '{print $1}' "$work/hostfile")
"""


def _wrong(name: str, check: str, *edits: tuple[str, str], in_ci: bool = False) -> Variant:
    """Return a row whose first failing check is this one of step 18; without one, the script does not run."""
    return wrong(18, name, fails=18 if check else 0, check=check, in_ci=in_ci)(*edits)


WRONG = [
    wrong(18, "starter", check="ranks", base=get(18).starter_name)(),
    _wrong("one rank per host", "ranks", ("--map-by slot", "--map-by ppr:1:node")),
    _wrong("all ranks on the first host", "ranks", ('--hostfile "$work/hostfile"', '-np 4 --host "${hosts[0]}:4"')),
    _wrong("two ranks, as in the lesson", "ranks", ("mpirun --hostfile", "mpirun -np 2 --hostfile")),
    _wrong("a job of its own on each host", "ranks", (START, _JOBS)),
    _wrong("arguments are split at spaces", "arguments", (_PROGRAM, "    ${program[@]} < /dev/null &\n")),
    _wrong("arguments become one", "arguments", (_PROGRAM, _ONE_ARGUMENT)),
    _wrong("no variable is passed on", "variables", (VARIABLES, '    -x PATH -x DATA="$copy" \\\n')),
    _wrong("SEED is forgotten", "variables", ("-x SEED ", "")),
    _wrong("a seed of its own", "variables", ("-x SEED ", "-x SEED=1 ")),
    _wrong("no network is named", "network", (NETWORK, "")),
    _wrong("the interface of the lesson", "network", ('"$DATA_NETWORK"', "eth0")),
    _wrong("the wrong network", "network", ('"$DATA_NETWORK"', "eth1"), in_ci=True),
    _wrong("an interface that leads nowhere", "", ('"$DATA_NETWORK"', "lo")),
    _wrong("the data stay where they are", "staged", (STAGE, "copy=$DATA\n")),
    _wrong(
        "the data are copied to the first host only",
        "staged",
        (f"{_ALL}ssh", f"{_FIRST}ssh"),
        (f"{_ALL}wait", f"{_FIRST}wait"),
    ),
    _wrong("DATA names the shared folder", "staged", ('-x DATA="$copy"', "-x DATA")),
    _wrong(
        "a link in place of a copy",
        "staged",
        ('mkdir -p %q && cp -r %q/. %q\' "$copy" "$DATA"', 'ln -sfn %q %q\' "$DATA"'),
    ),
    _wrong("a part of the data is copied", "staged", ("cp -r %q/. %q", "cp -r %q/images %q")),
    _wrong("a host without a copy is no reason to stop", "none_without", (WITHOUT, "")),
    _wrong(
        "a host without a copy ends the script with status 0",
        "none_without",
        (WITHOUT, '[[ ! $without ]] || { echo "no copy"; exit 0; }\n'),
    ),
    _wrong("the status is thrown away", "status", ('exit "$status"', "exit 0")),
    _wrong("the status is that of echo", "status", ('exit "$status"', 'echo "the job has ended"')),
    _wrong("no one watches", "lost", (WATCH, "true\n")),
    _wrong("mpirun finds the lost host, and ends with 0", "lost", (NETWORK, _KEEPALIVE), (WATCH, "true\n")),
    _wrong("the management network is asked", "lost", ('ssh "$host" true', 'ssh "$host-management" true')),
    _wrong("the lost host is not named", "lost", (LOST, '[[ ! $lost ]] || fail "a host does not answer"\n')),
    _wrong("all hosts are named", "lost", (LOST, '[[ ! $lost ]] || fail "one of ${hosts[*]} is lost"\n')),
    _wrong("the first host is named", "lost", (LOST, '[[ ! $lost ]] || fail "${hosts[0]} is lost"\n')),
    _wrong("status 0 for a lost host", "lost", (LOST, '[[ ! $lost ]] || { echo "$lost is gone"; exit 0; }\n')),
    _wrong(
        "mpirun continues when a host is lost",
        "lost",
        (END_RANKS, "    trap - EXIT\n    disown\n"),
        (LOST, '[[ ! $lost ]] || fail "$lost is lost"\n'),
        ('wait "$job" 2> /dev/null || status=$?', '[[ $lost ]] || wait "$job" || status=$?'),
    ),
    _wrong("a quote is missing", "", ('"$1" > "$work/hostfile"', '"$1 > "$work/hostfile"')),
    _wrong("the program is not started", "", (START, "true &\njob=$!\n")),
    _wrong("mpirun is misspelt", "", ("mpirun --hostfile", "mpirum --hostfile")),
    _wrong("comments are left in the hostfile", "", (HOSTFILE, _COMMENTS)),
]
