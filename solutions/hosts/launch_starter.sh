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
    true  # TODO: Step 18: copy DATA to each host's own disk, and end the script if a host has no copy
}

# Start one rank per slot in the background, and set `job` to the process of mpirun.
start() {
    # TODO: Step 18: start one rank per slot on each host, over the data network, with the variables that ranks need
    mpirun "${program[@]}" < /dev/null &
    job=$!
}

# Return when mpirun has ended. If a host is lost before, set `lost` to its name, and end the ranks on the others.
watch() {
    true  # TODO: Step 18: ask each host whether it answers; if one does not, set `lost`, and end the other ranks
}

# End this script with the status of the training, or with the name of the lost host.
finish() {
    # TODO: Step 18: end with the status of the training, or print the name of the lost host
    wait "$job" || true
}

stage
start
watch
finish
