"""Repairs of the cases of a cluster of one's own, and tries that are none."""

from tests.corpus.repair import Repair, fails, repairs

_EXCLUDE = "--mca btl_tcp_if_exclude lo,docker0 \\\n"
_INCLUDE = '--mca btl_tcp_if_include "$DATA_NETWORK" \\\n'

_NAMES = '--host "$(IFS=,; echo "${hosts[*]}")"'
_LISTED = """    local list
    list=$(sed -e 's/ *slots=/:/' "$work/hostfile" | paste -sd ,)
"""
_PLACED = f"    mpirun {_NAMES}"

_EXPORTED = "    export RUN SEED\n"
_PASSED = '-x PATH -x DATA="$copy"'
_LOOP = 'for name in LD_LIBRARY_PATH "${!HOROVOD_@}" "${!NCCL_@}"'

_COPY = """    for host in "${hosts[@]}"; do
        ssh "$host" "$command" < /dev/null 2> "$work/copy-$host.log" &
    done
    wait || fail "the data could not be copied"
"""
_IN_TURN = """    for host in "${hosts[@]}"; do
        ssh "$host" "$command" < /dev/null || fail "$host: the data could not be copied"
    done
"""
_EACH = '    for copying in $(jobs -p); do wait "$copying" || fail "the data could not be copied"; done\n'
_WAIT = '    wait || fail "the data could not be copied"\n'

_STATUS = """    local status
    wait "$job" 2> /dev/null || true  # otherwise `set -e` would end the script here
    status=$?
"""
_AFTER = '    exit "$status"\n'

_ASK = '            timeout 5 ssh "$host-management" true < /dev/null || lost=$host\n'

_ONCE = 'timeout 4 ssh "$host" true < /dev/null'

_DATED = "$CHECKPOINTS/$(date +%Y-%m-%d-%H%M%S)-$SLURM_JOB_ID"

_TRAP = "trap 'asked_to_end=yes' USR1\n"
_FORWARD = '[[ ! $training ]] || kill -USR1 "$training"'

_SRUN = '    srun --ntasks="$SLURM_NTASKS" "$@" &\n'

_REMOVE = '    rm -rf "$copy"\n'
_STAGE = '    "${on_each_node[@]}" bash -c'

_RANGE = "enumerate(range(0, len(images), args.batch_size * hvd.size()), start=1)"
_WHILE = """        step = 0
        while state.seen < len(images):
            step, start = step + 1, state.seen
"""

_RING = "    # Reduce-scatter:"
_FIRST = "        comm.Send(sent, after)\n        comm.Recv(own, before)\n"
_SECOND = "        comm.Send(sent, after)\n        comm.Recv(received, before)\n"


def _exchanges(text: str) -> tuple[tuple[str, str], tuple[str, str]]:
    """Return edits of case 38 that exchange the chunks in another way in both halves."""
    return (_FIRST, text.format(room="own")), (_SECOND, text.format(room="received"))


REPAIRS: list[Repair] = [
    # 27: the management network is not excluded
    repairs(27, "by an environment variable")(
        (_EXCLUDE, "\\\n"),
        ("    mpirun --hostfile", "    export OMPI_MCA_btl_tcp_if_include=$DATA_NETWORK\n    mpirun --hostfile"),
    ),
    repairs(27, "with the transport")((_EXCLUDE, f"--mca btl self,tcp {_INCLUDE}")),
    fails(27, "the interface of these hosts")((_EXCLUDE, "--mca btl_tcp_if_include eth0 \\\n")),
    fails(27, "no option at all")((_EXCLUDE, "\\\n")),
    # 28: names without slots
    repairs(28, "the hosts with their slots")((_PLACED, f'{_LISTED}    mpirun --host "$list"')),
    repairs(28, "the hostfile by an environment variable")(
        (_PLACED, "    export PRTE_MCA_prte_default_hostfile=$work/hostfile\n    mpirun")
    ),
    fails(28, "two ranks on each host")(
        (_NAMES, f"{_NAMES} --map-by ppr:2:node:oversubscribe"), (" --map-by slot", "")
    ),
    fails(28, "all on one host")((_NAMES, '-np 4 --host "${hosts[0]}:4"')),
    # 29: variables that stay on the head
    repairs(29, "with their values")((_PASSED, f'-x RUN="$RUN" -x SEED="$SEED" {_PASSED}')),
    repairs(29, "in the list of those to pass on")((_LOOP, _LOOP.replace("for name in", "for name in RUN SEED"))),
    fails(29, "one of the two")((_PASSED, f"-x RUN {_PASSED}")),
    fails(29, "exported with the copy's path")((_EXPORTED, '    export RUN SEED DATA="$copy"\n'), (_PASSED, "-x PATH")),
    # 30: a wait that always succeeds
    repairs(30, "one host after the other")((_COPY, _IN_TURN)),
    repairs(30, "each process is waited for")((_WAIT, _EACH)),
    fails(30, "the next command looks at $?")((_WAIT, '    wait\n    (($? == 0)) || fail "no copy"\n')),
    fails(30, "the failure ends in the background")(
        ('2> "$work/copy-$host.log" &', '|| fail "$host: the data could not be copied" &')
    ),
    # 31: the status of `true`
    repairs(31, "the status behind ||")(
        ("|| true  # otherwise `set -e` would end the script here", "|| status=$?"),
        ("    status=$?\n", ""),
        ("    local status\n", "    local status=0\n"),
    ),
    repairs(31, "without set -e")(
        (_STATUS, '    local status\n    set +e\n    wait "$job" 2> /dev/null\n    status=$?\n')
    ),
    fails(31, "the status of a pipeline")(("    status=$?\n", "    status=${PIPESTATUS[0]}\n")),
    fails(31, "reported in words")((_AFTER, '    ((status == 0)) || fail "the training has failed"\n')),
    # 32: the wrong network is asked
    repairs(32, "asked twice")((_ASK, f"            {_ONCE} || {_ONCE} || lost=$host\n")),
    repairs(32, "asked on both networks")((_ASK, _ASK + _ASK.replace("-management", ""))),
    fails(32, "with more patience")((_ASK, _ASK.replace("timeout 5", "timeout 10"))),
    fails(32, "mpirun finds out")(
        (_ASK, "            true\n"), ("    mpirun ", "    mpirun --prtemca oob_tcp_keepalive_time 5 ")
    ),
    # 33: a folder for each run
    repairs(33, "with the job's name")((_DATED, "$CHECKPOINTS/$SLURM_JOB_NAME-$SLURM_JOB_ID")),
    repairs(33, "the folder that is there")(
        (
            f"export CHECKPOINTS={_DATED}\n",
            "local found\n"
            '    found=$(find "$CHECKPOINTS" -maxdepth 1 -name "*-$SLURM_JOB_ID" 2> /dev/null | head -n 1) || true\n'
            f"    export CHECKPOINTS=${{found:-{_DATED}}}\n",
        )
    ),
    fails(33, "the day is enough")((_DATED, "$CHECKPOINTS/$(date +%Y-%m-%d)-$SLURM_JOB_NAME")),
    fails(33, "the number of the run")((_DATED, "$CHECKPOINTS/$SLURM_JOB_ID-${SLURM_RESTART_COUNT:-0}")),
    # 34: the signal stays in the script
    repairs(34, "forwarded in the trap")((_TRAP, f"trap 'asked_to_end=yes; {_FORWARD}' USR1\n")),
    repairs(34, "forwarded by the loop")(
        (
            '        wait "$training" || true\n',
            '        wait "$training" || [[ ! $asked_to_end ]] || kill -USR1 "$training" 2> /dev/null || true\n',
        )
    ),
    fails(34, "the steps get the signal")(("--signal=B:USR1@120", "--signal=USR1@120")),
    fails(34, "an earlier signal")(("--signal=B:USR1@120", "--signal=B:USR1@300")),
    # 35: a launcher that does not say who is there
    repairs(35, "the network is exported")((_SRUN, '    mpirun --bind-to none "$@" &\n')),
    repairs(35, "the number of ranks is given")(
        (_SRUN, '    mpirun -np "$SLURM_NTASKS" --map-by slot --bind-to none -x DATA -x CHECKPOINTS "$@" &\n')
    ),
    fails(35, "all ranks on the first node")((_SRUN, '    mpirun --host "$(hostname):$SLURM_NTASKS" "$@" &\n')),
    fails(35, "one process")((_SRUN, '    "$@" &\n')),
    # 36: copies on all nodes but the first
    repairs(36, "srun by itself")((_REMOVE, '    srun --ntasks-per-node=1 --ntasks="$SLURM_NNODES" rm -rf "$copy"\n')),
    repairs(36, "once per task")((_REMOVE, '    srun rm -rf "$copy"\n')),
    fails(36, "before the next copy")(
        (_STAGE, f'    "${{on_each_node[@]}}" sh -c "rm -rf /scratch/[0-9]*"\n{_STAGE}'), (_REMOVE, "    true\n")
    ),
    fails(36, "in a trap")((_REMOVE, ""), ('stage\nstart "$@"\n', 'trap \'rm -rf "$copy"\' EXIT\nstage\nstart "$@"\n')),
    # 37: an epoch begins with its first image again
    repairs(37, "the rest of the order")(
        ("permutation(len(images))\n", "permutation(len(images))[state.seen :]\n"),
        (_RANGE, "enumerate(range(0, len(order), args.batch_size * hvd.size()), start=1)"),
        ("        for step, start in", "        before = state.seen\n        for step, start in"),
        ("state.seen = start + len(chosen)", "state.seen = before + start + len(chosen)"),
    ),
    repairs(37, "as long as images are left")((f"        for step, start in {_RANGE}:\n", _WHILE)),
    fails(37, "the share of one rank is passed over")(
        (_RANGE, _RANGE.replace("range(0", "range(state.seen // hvd.size()"))
    ),
    fails(37, "the images of one rank are counted")(
        (_RANGE, _RANGE.replace("range(0", "range(state.seen")),
        ("state.seen = start + len(chosen)", "state.seen += len(mine)"),
    ),
    # 38: all ranks send first
    repairs(38, "sent without waiting")(
        *_exchanges(
            "        request = comm.Isend(sent, after)\n        comm.Recv({room}, before)\n        request.Wait()\n"
        )
    ),
    repairs(38, "received without waiting")(
        *_exchanges(
            "        request = comm.Irecv({room}, before)\n        comm.Send(sent, after)\n        request.Wait()\n"
        )
    ),
    fails(38, "all ranks receive first")(
        *_exchanges("        comm.Recv({room}, before)\n        comm.Send(sent, after)\n")
    ),
    fails(38, "no ring")(
        (_RING, f"    from mpi4py import MPI\n\n    comm.Allreduce(MPI.IN_PLACE, out)\n    return out\n{_RING}")
    ),
]
