#!/usr/bin/env bash
# Print each host of a hostfile that answers, with its slots, in the form that horovodrun expects: node1:2
#
# The variable HOSTFILE names the file, with lines such as `node1 slots=2`. horovodrun --host-discovery-script runs this
# script every second.
answers() {
    timeout 5 ssh "$1" true < /dev/null 2> /dev/null && echo "$1:$2"
}

while read -r host slots; do
    answers "$host" "${slots#slots=}" &  # all at the same time, because asking a lost host takes 5 s
done < "${HOSTFILE:-/cluster/hostfile}"
wait
