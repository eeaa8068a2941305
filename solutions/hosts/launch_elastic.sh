#!/usr/bin/env bash
# Train with elastic Horovod on the hosts of a cluster that answer, and print which hosts are lost and which ones join:
#
#     bash launch_elastic.sh HOSTFILE -np 1 --max-np 4 python fashion_mnist_elastic.py
#
# HOSTFILE has a line per host, such as `node1 slots=2`. The other arguments are for horovodrun: the training starts
# when there are slots for -np ranks, and runs with --min-np to --max-np ranks.
#
# The exit status is that of horovodrun. If it is not 0, the last line names the hosts that do not answer.
set -euo pipefail

fail() {
    echo "launch_elastic.sh: $*" >&2
    exit 1
}

(($# >= 2)) || fail "give it a hostfile and the arguments of horovodrun: bash launch_elastic.sh HOSTFILE ARGUMENT ..."
[[ -r $1 ]] || fail "the hostfile $1 cannot be read"

# After this time, a rank gives up on a silent peer. A rank that joins has as long to start, so do not set it lower.
export HOROVOD_GLOO_TIMEOUT_SECONDS=${HOROVOD_GLOO_TIMEOUT_SECONDS:-20}
# horovodrun waits for the ssh to each host, so ssh must end when its host is silent, here after 6 s. The course's ssh
# reads this variable. OpenSSH does not: put `ServerAliveInterval 2` into ~/.ssh/config.
export SSH_OPTIONS="-o ServerAliveInterval=2 ${SSH_OPTIONS:-}"
export HOSTFILE=$1

work=$(mktemp -d)
job=
clean_up() {
    [[ ! $job ]] || kill "$job" 2> /dev/null || true
    rm -rf "$work"
}
trap clean_up EXIT  # also when a signal ends this script

# Ask all hosts, print which ones are lost or answer again, and write the list that horovodrun reads every second.
# horovodrun waits for its discovery script, which therefore only prints the list. While ranks run, a lost host stays in
# the list: horovodrun sees its ranks fail, and stops using it. If the host left the list just when another one joins,
# all ranks might wait indefinitely.
look() {
    bash "$(dirname "${BASH_SOURCE[0]}")/discover.sh" | sort > "$work/answer"
    comm -23 "$work/answered" "$work/answer" | sed 's/^\(.*\):.*/launch_elastic.sh: \1 does not answer/'
    comm -13 "$work/answered" "$work/answer" | sed 's/^\(.*\):.*/launch_elastic.sh: \1 answers now/'
    mv "$work/answer" "$work/answered"
    if pgrep -f HOROVOD_RANK= > /dev/null; then  # a rank runs, or an ssh is starting one
        sort -u "$work/hosts" "$work/answered" > "$work/list"
    else
        cp "$work/answered" "$work/list"
    fi
    mv "$work/list" "$work/hosts"  # replaces the list in one operation: horovodrun never reads half of it
}

touch "$work/hosts"
sed 's/ *slots=/:/' "$1" | sort > "$work/all"
cp "$work/all" "$work/answered"  # as if all had answered before: look() prints which ones do not answer now
look
[[ -s $work/hosts ]] || fail "no host of $1 answers"
horovodrun --gloo --host-discovery-script "cat $work/hosts" "${@:2}" < /dev/null &
job=$!
while kill -0 "$job" 2> /dev/null; do
    sleep 1
    look
done

status=0
wait "$job" || status=$?
job=
if ((status != 0)); then
    look
    silent=$(comm -23 "$work/all" "$work/answered" | sed 's/:.*//' | paste -sd ' ')
    fail "the training ended with status $status; hosts that do not answer: ${silent:-none}"
fi
