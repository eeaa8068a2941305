#!/usr/bin/env bash
# Start a parameter server on node1 and a worker on node2 and on node3: bash launch.sh
set -euo pipefail

port=5000
cd_here="cd $PWD &&"

ssh node1 "$cd_here python server.py --listen node1:$port --workers 2" &
server=$!
ssh node2 "$cd_here python worker.py --server node1:$port" &
ssh node3 "$cd_here python worker.py --server node1:$port" &
wait "$server"
wait
