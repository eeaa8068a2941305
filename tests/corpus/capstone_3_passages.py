"""Passages of the third capstone's solution that rows replace."""

from tests.corpus.variant import passage

SOLUTION = "fashion_either_solution.py"

WORKERS_STRATEGY = passage(SOLUTION, "return tf.distribute.MultiWorkerMirroredStrategy")
ROLE = passage(SOLUTION, 'if task_type != "chief":', "raise SystemExit")
NO_GPU = passage(SOLUTION, 'tf.config.set_visible_devices([], "GPU")')
PARTITIONER = ", variable_partitioner=partitioner"
SHUFFLED = "dataset.shuffle(len(images), seed).repeat().batch(batch_size)"
POLICY = "AutoShardPolicy.DATA"
SAME_ORDER = "batch_size, seed=0)"
FUNCTION = passage(SOLUTION, "def on_a_worker(context):", "return batches(")
CREATOR = "tf.keras.utils.experimental.DatasetCreator(on_a_worker)"
TOGETHER = passage(SOLUTION, "together = strategy.num_replicas_in_sync")
BATCH_SIZE = passage(SOLUTION, "batch_size = args.batch_size * together")
SCOPE = "with strategy.scope():"
MODEL = passage(SOLUTION, "model = new_model(args.hidden, args.rate * together)")
STEPS = "steps_per_epoch=len(training[0]) // batch_size"
EPOCHS = "epochs=args.epochs,"
BACKUP = passage(SOLUTION, 'tf.keras.callbacks.BackupAndRestore(f"{args.log_dir}/backup")')
VALIDATION_STEPS = "validation_steps=len(validation[0]) // batch_size"
VERBOSE = "verbose=2 if chief else 0"
SAVE = '    model.save(f"{log_dir}/model.keras")\n'
CHECK = passage(SOLUTION, "task_type, index = tf_config.check()")
SERVERS = passage(SOLUTION, "servers = len(")
CHIEF = passage(SOLUTION, "is_chief = ")
THROWN_AWAY = passage(SOLUTION, "with tempfile.TemporaryDirectory()")
TRAIN = passage(SOLUTION, "reached = train(")
OWN_FOLDER = "arguments.log_dir if is_chief else thrown_away"
