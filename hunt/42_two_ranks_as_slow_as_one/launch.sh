#!/usr/bin/env bash
# Train with two ranks on one host: bash launch.sh HOST
set -euo pipefail

options=(
    --host "$1:2"
    --map-by slot
    --bind-to none
)

mpirun -np 2 "${options[@]}" \
    python train.py
