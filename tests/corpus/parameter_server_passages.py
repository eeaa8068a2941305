"""Passages of the solution of step 15 that rows replace."""

from tests.corpus.variant import passage

SOLUTION = "parameter_server/coordinator.py"
ONE_GPU = "parameter_server/one_gpu.py"
CHECK = "tf_config.check()\n"
WHO = 'if resolver.task_type != "chief":\n'
NOT_CHIEF = passage(SOLUTION, WHO.strip(), "raise SystemExit")
NO_GPU = 'tf.config.set_visible_devices([], "GPU")\n'
PARTITIONER = (
    "    variable_partitioner=tf.distribute.experimental.partitioners.MinSizePartitioner(\n"
    '        min_shard_bytes=256 << 10, max_shards=resolver.cluster_spec().num_tasks("ps")\n'
    "    ),\n"
)
MOST = 'max_shards=resolver.cluster_spec().num_tasks("ps")'
STRATEGY = "strategy = tf.distribute.ParameterServerStrategy(\n    resolver,\n" + PARTITIONER + ")\n"
BATCH = "    batch_size = context.get_per_replica_batch_size(args.batch_size)\n"
IMAGES = '    images = mobilenet.images(f"{args.data_dir}/train", args.image_size, shuffle=True).repeat()\n'
STEPS = 'steps_per_epoch = mobilenet.count(f"{args.data_dir}/train") // args.batch_size\n'
SCOPE = "with strategy.scope():\n    model = make_model()\n"
CHECKPOINTS = '    ModelCheckpoint(f"{args.log_dir}/checkpoints/after-{{epoch}}", save_weights_only=True),\n'
BACKUP = '    BackupAndRestore(f"{args.log_dir}/backup"),\n'
CREATOR = "    tf.keras.utils.experimental.DatasetCreator(train_data),\n"
SAVE = 'model.save(f"{args.log_dir}/model.keras")\n'
FIT_STEPS = "    steps_per_epoch=steps_per_epoch,\n"
SERVE = "tf.distribute.Server(resolver.cluster_spec(), 'chief', 0)"
