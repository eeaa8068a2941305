#!/usr/bin/env bash
# Train with one rank on each of two hosts: bash launch.sh
set -euo pipefail

# Horovod looks every 5 ms for gradients that are ready.
export HOROVOD_CYCLE_TIME=5
export HOROVOD_FUSION_THRESHOLD=$((64 * 1024 * 1024))
export HOROVOD_TIMELINE=timeline.json HOROVOD_CACHE_CAPACITY=0

mpirun -np 2 --hostfile /cluster/hostfile --mca btl_tcp_if_include 10.77.0.0/24 \
    -x PATH -x HOROVOD_CYCLE_TIME -x HOROVOD_FUSION_THRESHOLD -x HOROVOD_TIMELINE -x HOROVOD_CACHE_CAPACITY \
    python train.py
