# Submit a job, move it to other nodes after two epochs, as before a repair, and print what it prints:
#
#     bash move.sh JOB PROGRAM [ARGUMENT ...]
set -euo pipefail

in_queue() {
    [[ $(squeue --noheader --jobs "$job" "$@") ]]
}

job=$(sbatch --parsable "$@")
tail -F "train-$job.out" 2> /dev/null &
trap 'kill $!' EXIT
while in_queue && ! grep -qs "Epoch 2/" "train-$job.out"; do sleep 0.5; done
scontrol update NodeName=node1 State=drain Reason=repair
scontrol requeue "$job"
until in_queue --states PENDING; do sleep 0.5; done
scontrol update JobId="$job" StartTime=now+2  # without the two minutes that Slurm lets it wait
while in_queue; do sleep 1; done
