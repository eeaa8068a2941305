#!/usr/bin/env bash
# Train on all hosts of a cluster:
#
#     bash launch.sh HOSTFILE PROGRAM [ARGUMENT ...]
#
# HOSTFILE has a line per host: `node1 slots=2` stands for two ranks on node1. Environment variables say the rest:
#
#     DATA          the folder with the training data, which all hosts see. Each host reads a copy on its own disk.
#     DATA_NETWORK  the network over which the ranks exchange tensors, such as 10.77.0.0/24
#     RUN, SEED     for the program
#
# The exit status is 0 if all ranks end with 0. If a host no longer answers, the script prints its name and ends the
# ranks on the other hosts.
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
copy=/scratch/data  # where each host gets its copy of DATA
work=$(mktemp -d)
job=   # the process of mpirun
lost=  # the name of a host that no longer answers
clean_up() {
    [[ ! $job ]] || kill "$job" 2> /dev/null || true
    rm -rf "$work"
}
trap clean_up EXIT  # also when a scheduler ends this script by a signal

# mpirun does not accept every comment in a hostfile, so $work/hostfile has none. The array `hosts` has the names.
sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "$1" > "$work/hostfile"
mapfile -t hosts < <(awk '{print $1}' "$work/hostfile")

# Copy DATA to the folder $copy of each host. End this script if one of them has no copy.
stage() {
    # All hosts copy at the same time. %q quotes the paths for the shell on the other host.
    local command without=
    command=$(printf 'mkdir -p %q && cp -r %q/. %q' "$copy" "$DATA" "$copy")
    local -A copying
    for host in "${hosts[@]}"; do
        ssh "$host" "$command" < /dev/null &
        copying[$host]=$!
    done
    for host in "${hosts[@]}"; do
        wait "${copying[$host]}" || without=$host
    done
    [[ ! $without ]] || fail "$without has no copy of $DATA"
}

# Start one rank per slot in the background, and set `job` to the process of mpirun.
start() {
    # A rank has its own host's environment: -x passes a variable on. mpirun warns of one that is not set.
    local passed=()
    for name in LD_LIBRARY_PATH "${!HOROVOD_@}" "${!NCCL_@}"; do
        [[ ! -v $name ]] || passed+=(-x "$name")
    done
    # Without --bind-to none, mpirun confines a rank and all of its threads to one core, or to a part of the host.
    mpirun --hostfile "$work/hostfile" --map-by slot --bind-to none \
        --mca btl_tcp_if_include "$DATA_NETWORK" \
        -x PATH -x RUN -x SEED -x DATA="$copy" "${passed[@]}" \
        "${program[@]}" < /dev/null &
    job=$!
}

# Return when mpirun has ended. If a host is lost before, set `lost` to its name, and end the ranks on the others.
watch() {
    # A rank waits for a lost peer, and so does mpirun. So ask each host, once per second, whether it answers.
    while [[ ! $lost ]] && kill -0 "$job" 2> /dev/null; do
        sleep 1
        for host in "${hosts[@]}"; do
            timeout 5 ssh "$host" true < /dev/null || lost=$host
        done
    done
    [[ $lost ]] || return 0
    # Without mpirun and its connections, the daemons on the other hosts end their ranks.
    kill -STOP "$job" 2> /dev/null || true  # otherwise it reports each connection that ends
    pkill -KILL -P "$job" || true
    kill -KILL "$job" 2> /dev/null || true
}

# End this script with the status of the training, or with the name of the lost host.
finish() {
    local status=0
    wait "$job" 2> /dev/null || status=$?
    [[ ! $lost ]] || fail "$lost does not answer, so the training was stopped"
    exit "$status"
}

stage
start
watch
finish
