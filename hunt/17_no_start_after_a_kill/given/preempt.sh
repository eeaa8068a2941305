#!/usr/bin/env bash
# Train, end all ranks as soon as the second checkpoint is there, as a host that is preempted does, and train again.
python -c "import course.data, pathlib; course.data.folders(pathlib.Path('/shared/images'), 32, 4)"
train="mpirun --hostfile /cluster/hostfile -wd /scratch python $PWD/imagenet_resnet50.py --data-url /shared/images --model small --image-size 32 --classes 10 --batch-size 16 --val-batch-size 16 --epochs 3 --log-dir /shared/logs"
ssh node1 'until [ -e /shared/logs/checkpoint-2.h5 ]; do sleep 0.005; done; pkill -KILL -f "[i]magenet_resnet50"' &
$train
printf "\n--- Preempted. The checkpoints, and the next start:\n"
ls -l /shared/logs/*.h5
$train
