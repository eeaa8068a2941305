"""Correct scripts of step 19, job.sbatch. Each one passes."""

from tests.corpus.scheduled_passages import (
    AGAIN,
    APPEND,
    END,
    OUTPUT,
    REMOVE,
    SIGNAL,
    STAGE,
    START,
    TIME,
    WAIT,
)
from tests.corpus.variant import Variant

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
    Variant("solution", 19, (), in_ci=True),
    Variant("short options", 19, ((OUTPUT, "#SBATCH -o job-%j.log\n"), (TIME, "#SBATCH -t 60\n"))),
    Variant("the data are copied by ssh", 19, ((STAGE, _BY_SSH), (REMOVE, 'srun rm -rf "$copy"\n'))),
    Variant("the data are sent as an archive", 19, ((STAGE, _BY_ARCHIVE),)),
    Variant("the number of ranks is given", 19, (("mpirun --mca", 'mpirun -np "$SLURM_NTASKS" --mca'),)),
    Variant("the ranks of each node are given", 19, (("mpirun --mca", "mpirun --map-by node:oversubscribe --mca"),)),
    Variant("srun passes the variables on", 19, ((" -x DATA -x CHECKPOINTS", ""),)),
    Variant("the network is exported", 19, ((START, _EXPORTED),)),
    Variant("a folder with the job's name and number", 19, (("$CHECKPOINTS/$SLURM_JOB_ID", _NAMED),)),
    Variant("another way to wait", 19, ((WAIT, _UNTIL),)),
    Variant("an earlier signal", 19, ((SIGNAL, "#SBATCH --signal=B:10@300\n"),)),
    Variant("append is an option in another place", 19, ((APPEND, ""), (SIGNAL, f"{SIGNAL}{APPEND}"))),
    Variant("the trap itself requeues", 19, (("trap ask_to_end USR1\n", _IN_THE_TRAP), (AGAIN, ""))),
    Variant("a status of its own", 19, ((END, "((status == 0)) || exit 9\n"),)),
]
