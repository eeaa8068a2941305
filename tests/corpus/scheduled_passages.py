"""Passages of step 19's job.sbatch that rows of the corpus replace."""

from tests.corpus.variant import passage

_JOB = "hosts/job.sbatch"

OUTPUT = passage(_JOB, "#SBATCH --output")
APPEND = passage(_JOB, "#SBATCH --open-mode")
TIME = passage(_JOB, "#SBATCH --time")
SIGNAL = passage(_JOB, "#SBATCH --signal")
REQUEUE = passage(_JOB, "#SBATCH --requeue")
TRAP = passage(_JOB, "ask_to_end() {", "trap ask_to_end")
STAGE = passage(_JOB, "bash -c 'rm", "export DATA")
COPY = passage(_JOB, "bash -c 'rm")
FOLDER = passage(_JOB, "export CHECKPOINTS")
START = passage(_JOB, "mpirun --map-by")
STATUS = passage(_JOB, "local status", "|| status=$?")
WAIT = passage(_JOB, "while kill -0", "done")
REMOVE = passage(_JOB, '"${on_each_node[@]}" rm')
AGAIN = passage(_JOB, "if [[ $asked_to_end", "fi")
END = passage(_JOB, 'exit "$status"')
