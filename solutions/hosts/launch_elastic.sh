#!/usr/bin/env bash
# Train with elastic Horovod on those hosts of a cluster that answer, and say which ones are lost and which ones join:
#
#     bash launch_elastic.sh HOSTFILE -np 1 --max-np 4 python fashion_mnist_elastic.py
#
# HOSTFILE has a line per host, such as `node1 slots=2`. All that follows it are arguments of horovodrun: the training
# starts when there are hosts for -np ranks, and runs with --min-np to --max-np of them.
#
# The exit status is horovodrun's. When it is not 0, the last line names the hosts that do not answer.
set -euo pipefail

fail() {
    echo "launch_elastic.sh: $*" >&2
    exit 1
}

(($# >= 2)) || fail "give it a hostfile and the arguments of horovodrun: bash launch_elastic.sh HOSTFILE ARGUMENT ..."
[[ -r $1 ]] || fail "the hostfile $1 cannot be read"

# A rank gives up on another one after this time, and on a rank that joins, too: it must be longer than a start takes.
export HOROVOD_GLOO_TIMEOUT_SECONDS=${HOROVOD_GLOO_TIMEOUT_SECONDS:-20}
# horovodrun waits until the ssh to each host has ended. So ssh must end when its host is silent, here for 6 s. OpenSSH
# does not read this variable: put `ServerAliveInterval 2` into ~/.ssh/config.
export SSH_OPTIONS="-o ServerAliveInterval=2 ${SSH_OPTIONS:-}"
export HOSTFILE=$1

work=$(mktemp -d)
job=
clean_up() {
    [[ ! $job ]] || kill "$job" 2> /dev/null || true
    rm -rf "$work"
}
trap clean_up EXIT  # also when a signal ends this script

# horovodrun runs its discovery script every second, and does nothing else until that has ended. So the hosts are asked
# here, and it reads only the answer. Once ranks run, a host that is lost stays in its list: horovodrun sees the ranks
# fail, and does not use their host again. If it is taken off just when another one joins, all may wait indefinitely.
look() {
    bash "$(dirname "${BASH_SOURCE[0]}")/discover.sh" | sort > "$work/answer"
    comm -23 "$work/answered" "$work/answer" | sed 's/^\(.*\):.*/launch_elastic.sh: \1 does not answer/'
    comm -13 "$work/answered" "$work/answer" | sed 's/^\(.*\):.*/launch_elastic.sh: \1 answers now/'
    mv "$work/answer" "$work/answered"
    if pgrep -f HOROVOD_RANK= > /dev/null; then  # there is a rank, or an ssh that starts one
        sort -u "$work/hosts" "$work/answered" > "$work/list"
    else
        cp "$work/answered" "$work/list"
    fi
    mv "$work/list" "$work/hosts"  # at once, so that horovodrun never reads half a list
}

touch "$work/hosts"
sed 's/ *slots=/:/' "$1" | sort > "$work/all"
cp "$work/all" "$work/answered"  # so that those which do not answer now are named
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
