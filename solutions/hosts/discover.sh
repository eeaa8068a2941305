#!/usr/bin/env bash
# Print the hosts of a hostfile that answer, and their slots, as horovodrun --host-discovery-script wants them: node1:2
#
# HOSTFILE says which file; it has lines such as `node1 slots=2`. horovodrun runs this every second.
answers() {
    timeout 5 ssh "$1" true < /dev/null 2> /dev/null && echo "$1:$2"
}

while read -r host slots; do
    answers "$host" "${slots#slots=}" &  # all at once: a host that is lost answers only after the time-out
done < "${HOSTFILE:-/cluster/hostfile}"
wait
