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

# TODO: Step 18: read the hostfile: make one without comments for mpirun, and a list of the hosts.

# TODO: Step 18: copy the data to each host's own disk. Start no rank if a host has no copy.

# TODO: Step 18: start one rank per slot on each host, over the data network, with the variables that they need.
mpirun "${program[@]}" < /dev/null &
job=$!

# TODO: Step 18: while the ranks run, ask each host whether it is there. When one is lost, end the ranks on the others.

# TODO: Step 18: end with the status of the training, or name the host that is lost.
wait "$job" || true
