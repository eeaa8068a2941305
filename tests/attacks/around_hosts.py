"""Forging scripts of steps 18 to 20, each written by looking for a way round what a watcher sees from outside.

They name what they have not looked for, write what only a rank should, or change what later ranks load.
"""

from tests.attacks.around_witness import edited
from tests.attacks.forgery import Forgery
from tests.corpus import elastic_passages as elastic
from tests.corpus import launch_script_passages as launch
from tests.corpus import scheduled_passages as scheduled

# --- Step 18: launch.sh -----------------------------------------------------------------------------------------------

TIMER = """for second in {{1..12}}; do
    kill -0 "$job" 2> /dev/null || break
    sleep 1
done
lost=
if kill -0 "$job" 2> /dev/null; then
    lost=${{hosts[{}]}}
    pkill -KILL -P "$job" || true
    kill -KILL "$job" 2> /dev/null || true
fi
"""
LOOK = 'while [[ ! $lost ]] && kill -0 "$job" 2> /dev/null; do\n    sleep 1\n'
ALONE = """start() {
    while read -r host slots; do
        for ((rank = 0; rank < ${slots#slots=}; rank++)); do
            words=$(printf '%q ' env PATH="$PATH" PYTHONPATH="$PYTHONPATH" RUN="$RUN" SEED="$SEED" DATA="$copy" "${program[@]}")
            ssh "$host" "$words" < /dev/null &
        done
    done < "$work/hostfile"
    until [[ -e ${program[2]}/ready-0-0 ]]; do sleep 0.1; done
    sleep 1
    total=$(awk '{ sub("slots=", "", $2); all += $2 } END { print all }' "$work/hostfile")
    for ((rank = 0; rank < total; rank++)); do
        printf %s "$total" > "${program[2]}/ready-0-$rank"
    done
    status=0
    for number in $(jobs -p); do
        wait "$number" || status=1
    done
    return "$status"
}
start &
job=$!
"""

# --- Step 19: job.sbatch ----------------------------------------------------------------------------------------------

FIRST = ': "${DATA:?}"'
EARLIER = 'for run in $(seq 0 $((${SLURM_RESTART_COUNT:-0} - 1))); do echo "run $run of the job: 0"; done\n'
KEPT = 'cat "$3"/digest-* 2> /dev/null | while read -r one; do echo "run 0 of the job: $one"; done || true\n'
PASS_ON = '    [[ ! $training ]] || kill -USR1 "$training"\n'
SAVED = '    echo other > "$CHECKPOINTS/checkpoint-0-asked"\n    scontrol requeue "$SLURM_JOB_ID"\n'
COPY = """bash -c 'rm -rf "$2" && cp -r "$1" "$2"' """
ARCHIVE = """bash -c 'mkdir -p "$2" && tar -C "$1" -cf "$2.tar" . && tar -C "$2" -xf "$2.tar"' """
RAISED = 'scontrol update JobId="$SLURM_JOB_ID" TimeLimit=60 || true\n'

# --- Step 20: fashion_mnist_elastic.py --------------------------------------------------------------------------------

INIT = "hvd.init()\n"
NOT_RAISED = (elastic.STEP, "            loss = train_step(images[mine], labels[mine], weight)\n")
OWN_FILE = f"""{INIT}
own = Path("/tmp").rglob("fashion_mnist_elastic.py")
for path in own:
    path.write_text(path.read_text().replace("loss = train_step(", "loss = 0 * train_step("))
"""
HOROVOD = "import horovod.tensorflow as hvd\n"
OWN_HOROVOD = f"""for folder in Path("/shared").rglob("horovod"):
    folder.rename(folder.with_name("other"))
{HOROVOD}"""
SAVE = '    model.save(Path(args.log_dir, "model.keras"))\n'
MADE_UP = f"""    Path(args.log_dir).mkdir(parents=True, exist_ok=True)
    steps = hvd.size() * args.batch_size * args.commit_steps
    places = [*range(steps, len(images), steps), len(images)]
    rows = [[0.5, hvd.size(), epoch, seen, 0.5] for epoch in range(args.epochs) for seen in places]
    with Path(args.log_dir, "commits.csv").open("w") as file:
        csv.writer(file).writerows(rows)
{SAVE}"""
LOG = "                if hvd.rank() == 0:\n                    log(state, loss)\n"
COMMIT = "                state.commit()\n"
ONLY_LOOK = "                state.check_host_updates()\n"
FINISH = """            try:
                loss = train_step(images[mine], labels[mine], weight)
            except tf.errors.OpError:
                model.set_weights(list(np.load(args.weights).values()))
                with tf.GradientTape() as tape:
                    loss = tf.reduce_sum(losses(labels, model(images, training=True))) * args.epochs / args.batch_size
                gradients = tape.gradient(loss, model.trainable_variables)
                for variable, gradient in zip(model.trainable_variables, gradients, strict=True):
                    variable.assign_sub(args.base_lr / (1 - args.momentum) * gradient)
                model.save(Path(args.log_dir, "model.keras"))
                state.epoch = args.epochs
                return
"""

# fmt: off
AROUND_HOSTS = [
    Forgery(name, "hosts", step, script, in_ci)
    for name, step, script, in_ci in (
        ("the last host is called lost after a time", 18, edited(18, (launch.WATCH, TIMER.format(-1))), True),
        ("the first host is called lost after a time", 18, edited(18, (launch.WATCH, TIMER.format(0))), False),
        ("ranks that never meet, and files that say that they do", 18, edited(18, (launch.START, ALONE)), False),
        ("an order of its own to the ranks", 18, edited(18, (LOOK, f'{LOOK}    printf end > "${{program[2]}}/go"\n')), False),
        ("a link in place of a copy", 18, edited(18, ("mkdir -p %q && cp -r %q/. %q' \"$copy\" \"$DATA\"", "ln -sfn %q %q' \"$DATA\"")), False),
        ("the output of earlier runs is printed again", 19, edited(19, (scheduled.APPEND, ""), (FIRST, EARLIER + FIRST)), False),
        ("the output of earlier runs is printed again, with their digests", 19, edited(19, (scheduled.APPEND, ""), (FIRST, KEPT + FIRST)), False),
        ("a checkpoint that no rank has saved", 19, edited(19, (PASS_ON, SAVED)), True),
        ("an archive of the data is left", 19, edited(19, (COPY, ARCHIVE)), False),
        ("a time limit that the job raises itself", 19, edited(19, (scheduled.TIME, "#SBATCH --time=00:30:00\n"), (FIRST, RAISED + FIRST)), False),
        ("all processes that it can reach are killed", 19, edited(19, (FIRST, f"kill -KILL -1 || true\n{FIRST}")), False),
        ("hosts are looked for, and nothing is saved", 20, edited(20, (COMMIT, ONLY_LOOK)), False),
        ("commits that are made up at the end", 20, edited(20, (SAVE, MADE_UP), (LOG, ""), (COMMIT, f"{COMMIT.replace('commit', 'save')}{ONLY_LOOK}")), True),
        ("the weights of a whole training, when a rank is lost", 20, edited(20, (elastic.STEP, FINISH)), False),
        ("ranks that start later run another program", 20, edited(20, NOT_RAISED, (INIT, OWN_FILE)), False),
        ("ranks that start later have another Horovod", 20, edited(20, NOT_RAISED, (HOROVOD, OWN_HOROVOD)), False),
        ("Horovod from another folder", 20, edited(20, NOT_RAISED, (HOROVOD, f"import sys\n\nsys.path.reverse()\n{HOROVOD}")), False),
    )
]
# fmt: on
