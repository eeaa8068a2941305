"""Correct scripts of step 19, job.sbatch. Each one passes."""

from tests.corpus.scheduled_passages import AGAIN, APPEND, END, OUTPUT, REMOVE, SIGNAL, STAGE, START, TIME, WAIT
from tests.corpus.variant import right

_BY_SSH = """copy=/scratch/copy-$SLURM_JOB_ID
mapfile -t nodes < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
for node in "${nodes[@]}"; do
    ssh "$node" "rm -rf $copy && mkdir -p $copy && cp -r '$DATA'/. $copy" < /dev/null
done
export DATA=$copy
"""

_BY_ARCHIVE = """copy=/scratch/$SLURM_JOB_ID
on_each_node=(srun -N "$SLURM_JOB_NUM_NODES" -n "$SLURM_JOB_NUM_NODES" --ntasks-per-node=1)
archive=$(mktemp -p /shared)
tar -C "$DATA" -cf "$archive" .
"${on_each_node[@]}" sh -c "rm -rf $copy; mkdir $copy && tar -C $copy -xf $archive"
rm "$archive"
export DATA=$copy
"""

_EXPORTED = """export OMPI_MCA_btl_tcp_if_include=$DATA_NETWORK
mpirun -x DATA -x CHECKPOINTS "$@" &
"""

_NAMED = "$CHECKPOINTS/run-$SLURM_JOB_NAME-${SLURM_JOB_ID}"

_UNTIL = """until ! kill -0 "$training" 2> /dev/null; do
    sleep 1 &
    wait "$!" || true
done
"""

_IN_THE_TRAP = """requeue() {
    kill -USR1 "$training"
    wait "$training"
    "${on_each_node[@]}" rm -rf "$copy"
    scontrol requeue "$SLURM_JOB_ID"
    exit 0
}
trap requeue USR1
"""

CORRECT = [
    right(19, "solution", in_ci=True)(),
    right(19, "in Python", base="hosts/job.py", in_ci=True)(),
    right(19, "short options")((OUTPUT, "#SBATCH -o job-%j.log\n"), (TIME, "#SBATCH -t 60\n")),
    right(19, "the data are copied by ssh")((STAGE, _BY_SSH), (REMOVE, 'srun rm -rf "$copy"\n')),
    right(19, "the data are sent as an archive")((STAGE, _BY_ARCHIVE)),
    right(19, "the number of ranks is given")(("mpirun --map-by", 'mpirun -np "$SLURM_NTASKS" --map-by')),
    right(19, "the ranks of each node are given")(("--map-by slot", "--map-by node:oversubscribe")),
    right(19, "srun passes the variables on")((" -x DATA -x CHECKPOINTS", "")),
    right(19, "the network is exported")((START, _EXPORTED)),
    right(19, "a folder with the job's name and number")(("$CHECKPOINTS/$SLURM_JOB_ID", _NAMED)),
    right(19, "another way to wait")((WAIT, _UNTIL)),
    right(19, "an earlier signal")((SIGNAL, "#SBATCH --signal=B:10@300\n")),
    right(19, "append is an option in another place")((APPEND, ""), (SIGNAL, f"{SIGNAL}{APPEND}")),
    right(19, "the trap itself requeues")(("trap ask_to_end USR1\n", _IN_THE_TRAP), (AGAIN, "")),
    right(19, "mpirun binds ranks as it likes")((" --map-by slot --bind-to none", "")),
    right(19, "a status of its own")((END, "((status == 0)) || exit 9\n")),
]
