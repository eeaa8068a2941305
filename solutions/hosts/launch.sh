#!/usr/bin/env bash
# Train on all hosts of a cluster:
#
#     bash launch.sh HOSTFILE PROGRAM [ARGUMENT ...]
#
# HOSTFILE has a line per host, such as `node1 slots=2`: two ranks are started there. The other settings are variables:
#
#     DATA          the folder with the training data, which all hosts see. Each host reads a copy on its own disk.
#     DATA_NETWORK  the network to exchange tensors over, such as 10.77.0.0/24
#     RUN, SEED     for the program
#
# The exit status is 0 if all ranks ended with 0. When a host no longer answers, its name is printed and the others stop.
set -euo pipefail

fail() {
    echo "launch.sh: $*" >&2
    exit 1
}

(($# >= 2)) || fail "give it a hostfile and a program: bash launch.sh HOSTFILE PROGRAM [ARGUMENT ...]"
[[ -r $1 ]] || fail "the hostfile $1 cannot be read"
for name in DATA DATA_NETWORK RUN SEED; do
    [[ -v $name ]] || fail "set the variable $name; the first lines of this file say what it is for"
done

program=("${@:2}")
work=$(mktemp -d)
job=
clean_up() {
    [[ ! $job ]] || kill "$job" 2> /dev/null || true
    rm -rf "$work"
}
trap clean_up EXIT  # also when a signal ends this script: a scheduler that ends a job sends one

# mpirun does not read every comment in a hostfile, so it gets one without comments.
sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "$1" > "$work/hostfile"
mapfile -t hosts < <(awk '{print $1}' "$work/hostfile")

# Before any rank starts, copy the data to all hosts at once. The quotes of %q protect the paths from the other shell.
copy=/scratch/data
stage=$(printf 'mkdir -p %q && cp -r %q/. %q' "$copy" "$DATA" "$copy")
declare -A copying
for host in "${hosts[@]}"; do
    ssh "$host" "$stage" < /dev/null &
    copying[$host]=$!
done
without=
for host in "${hosts[@]}"; do
    wait "${copying[$host]}" || without=$host
done
[[ ! $without ]] || fail "$without has no copy of $DATA"

# One rank per slot. A rank has the variables of its own host: only those that -x names come from this one.
mpirun --hostfile "$work/hostfile" \
    --mca btl_tcp_if_include "$DATA_NETWORK" \
    -x PATH -x RUN -x SEED -x DATA="$copy" \
    "${program[@]}" < /dev/null &
job=$!

# A rank whose peer has vanished waits for ever, and so does mpirun. So ask each host, again and again, whether it is there.
lost=
while [[ ! $lost ]] && kill -0 "$job" 2> /dev/null; do
    sleep 1
    for host in "${hosts[@]}"; do
        timeout 5 ssh "$host" true < /dev/null || lost=$host
    done
done
if [[ $lost ]]; then
    # Without mpirun and its connections, the hosts that are still there end their ranks.
    kill -STOP "$job" 2> /dev/null || true  # or it would report each connection that ends
    pkill -KILL -P "$job" || true
    kill -KILL "$job" 2> /dev/null || true
fi

status=0
wait "$job" 2> /dev/null || status=$?
[[ ! $lost ]] || fail "$lost does not answer, so the training was stopped"
exit "$status"
