# Submit a job, treat it as Slurm does at a time limit, only sooner, and print what it prints:
#
#     bash limit.sh JOB PROGRAM [ARGUMENT ...]
#
# The signal comes in the second epoch, and the limit 20 s later, in place of two minutes.
set -euo pipefail

state() {
    squeue --noheader --states all --jobs "$job" --Format State | tr -d ' '
}

running() {
    [[ $(state) =~ RUNNING|COMPLETING ]]
}

job=$(sbatch --parsable "$@")
tail -F "train-$job.out" 2> /dev/null &
trap 'kill $!' EXIT
until running; do sleep 0.5; done
while running && ! grep -qs "Epoch 1/" "train-$job.out"; do sleep 0.5; done
echo "limit.sh: Slurm sends SIGUSR1 to the script"
scancel --batch --signal=USR1 "$job"
for _ in {1..20}; do
    running || break
    sleep 1
done
if running; then
    echo "limit.sh: the time limit ends the job"
    scancel "$job"
fi
while running; do sleep 1; done
echo "limit.sh: the job is $(state)"
scancel "$job"
