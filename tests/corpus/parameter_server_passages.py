"""Passages of the solution of step 15 that rows replace."""

ONE_GPU = "parameter_server/one_gpu.py"
WHO = 'if resolver.task_type != "chief":\n'
NO_GPU = 'tf.config.set_visible_devices([], "GPU")\n'
PARTITIONER = (
    "    variable_partitioner=tf.distribute.experimental.partitioners.MinSizePartitioner(\n"
    '        min_shard_bytes=256 << 10, max_shards=resolver.cluster_spec().num_tasks("ps")\n'
    "    ),\n"
)
BATCH = "    batch_size = context.get_per_replica_batch_size(args.batch_size)\n"
STEPS = 'steps_per_epoch = mobilenet.count(f"{args.data_dir}/train") // args.batch_size\n'
SCOPE = "with strategy.scope():\n    model = make_model()\n"
BACKUP = '    BackupAndRestore(f"{args.log_dir}/backup"),\n'
CREATOR = "    tf.keras.utils.experimental.DatasetCreator(train_data),\n"
SAVE = 'model.save(f"{args.log_dir}/model.keras")\n'
FIT_STEPS = "    steps_per_epoch=steps_per_epoch,\n"
