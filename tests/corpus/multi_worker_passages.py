"""Passages of the solutions of steps 13 and 14 that rows replace."""

START = "mnist_one_gpu.py"
FINAL = "mnist_multi_worker_solution.py"

IMPORT = "import argparse\n"
WHO = "_, index = tf_config.check()\n"
CHIEF = "chief = index == 0\n"
STRATEGY = (
    "strategy = tf.distribute.MultiWorkerMirroredStrategy(\n"
    "    communication_options=tf.distribute.experimental.CommunicationOptions(\n"
    "        implementation=tf.distribute.experimental.CommunicationImplementation[args.communication]\n"
    "    )\n"
    ")\n"
)
PLAIN = "strategy = tf.distribute.MultiWorkerMirroredStrategy()\n"
BATCH = "batch_size = args.batch_size * strategy.num_replicas_in_sync\n"
PIPELINE = "    dataset = dataset.shuffle(len(images), seed=0).repeat().batch(batch_size)\n"
OPTIONS = "    options = tf.data.Options()\n"
POLICY = "    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA\n"
WITH_OPTIONS = "    return dataset.with_options(options)\n"
DATASETS = (
    "train_data = dataset_of(images[held_out:], labels[held_out:])\n"
    "val_data = dataset_of(images[:held_out], labels[:held_out])\n"
)
STEPS = "steps_per_epoch = (len(images) - held_out) // batch_size\n"
SCOPE = "with strategy.scope():\n    model = make_or_restore_model()\n"
VERBOSE = "    verbose=1 if chief else 0,\n"

RESTORE = "model = make_or_restore_model()\n"
NEWEST = "    if newest:\n"
VALIDATION = "validation_steps = held_out // batch_size\n"

THROWN = "thrown_away = tempfile.TemporaryDirectory()\n"
LOG_DIR = "log_dir = args.log_dir if chief else thrown_away.name\n"
CHECKPOINT = (
    '    ModelCheckpoint(f"{log_dir}/checkpoints/after-{{epoch}}", save_weights_only=True, save_freq=args.save_freq),\n'
)
BOARD = '    TensorBoard(f"{log_dir}/tensorboard"),\n'
BACKUP = '    BackupAndRestore(f"{args.log_dir}/backup", save_freq=args.save_freq),\n'
LAST = 'model.save_weights(f"{log_dir}/checkpoints/after-{args.epochs}")\n'
INITIAL = "    initial_epoch=int(model.optimizer.iterations.numpy()) // steps_per_epoch,\n"
