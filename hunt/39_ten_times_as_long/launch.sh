#!/usr/bin/env bash
# Train on three hosts of the cluster: bash launch.sh
set -euo pipefail

hosts=(node1 node3 node4)
network=10.77.0.0/24

mpirun --host "$(IFS=,; echo "${hosts[*]}")" --map-by ppr:1:node \
    --mca btl self,tcp --mca btl_tcp_if_include "$network" \
    python train.py
