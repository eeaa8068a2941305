"""Mutants that do what their step asks for, each with the reason why. The judge has to pass them.

By step and reason: the lines that change, and what they become, or in parentheses what happens to them.
"""

Change = tuple[str, str]

REASONS: dict[int, dict[str, tuple[Change, ...]]] = {
    1: {
        "Horovod initialises itself once, however often it is asked to": (("hvd.init()", "(twice)"),),
        "The second call sets what is set already": (
            ('tf.config.set_visible_devices(gpu, "GPU")', "(twice)"),
            ("tf.config.experimental.set_memory_growth(gpu, True)", "(twice)"),
        ),
        "Both APIs have what step 1 uses": (
            ("import horovod.tensorflow.keras as hvd", "import horovod.tensorflow as hvd"),
        ),
        "One rank's message is enough, whatever ends the others": (
            ("if hvd.local_size() > len(gpus):", "(under `if hvd.rank() == 0:`)"),
            ("if hvd.local_size() > len(gpus):", "(under `if hvd.local_rank() == 0:`)"),
            (
                'raise SystemExit(f"{hvd.local_size()} ranks on a host with {len(gpus)} GPUs: start one rank per GPU")',
                "(under `if hvd.rank() == 0:`)",
            ),
            (
                'raise SystemExit(f"{hvd.local_size()} ranks on a host with {len(gpus)} GPUs: start one rank per GPU")',
                "(under `if hvd.local_rank() == 0:`)",
            ),
            ("if hvd.local_size() > len(gpus):", "(below `gpu = gpus[hvd.local_rank()]`)"),
            ("if hvd.local_size() > len(gpus):", '(below `tf.config.set_visible_devices(gpu, "GPU")`)'),
            (
                "if hvd.local_size() > len(gpus):",
                "(below `tf.config.experimental.set_memory_growth(gpu, True)`)",
            ),
        ),
        "Still before the model is built": (("hvd.init()", "(below `args = parser.parse_args()`)"),),
        "Still before the arguments are parsed": (
            ("hvd.init()", "(below `parser = argparse.ArgumentParser(`)"),
            (
                "hvd.init()",
                '(below `parser.add_argument("--log-dir", default="./logs", help="where TensorBoard logs go")`)',
            ),
            (
                "hvd.init()",
                '(below `parser.add_argument("--batch-size", type=int, default=32, help="training batch size of each process")`)',
            ),
        ),
        "GPUs can be listed anywhere before one is chosen": (
            (
                'gpus = tf.config.list_physical_devices("GPU")',
                '(above `parser.add_argument("--seed", type=int, help="make the run repeatable (a number of its own for every process)")`)',
            ),
            ('gpus = tf.config.list_physical_devices("GPU")', "(above `args = parser.parse_args()`)"),
            ('gpus = tf.config.list_physical_devices("GPU")', "(above `if args.seed is not None:`)"),
            ('gpus = tf.config.list_physical_devices("GPU")', "(above `hvd.init()`)"),
        ),
        "A GPU is chosen in time as long as it is before the model is built": (
            ("if gpus:", "(below `verbose = 1`)"),
            (
                "if gpus:",
                "(below `(x_train, y_train), (x_test, y_test) = data.load(args.data_dir, args.train_samples, args.test_samples)`)",
            ),
            ("if gpus:", '(below `x_train = x_train[..., None].astype("float32")`)'),
        ),
        "A GPU's memory growth can be set before it is the only visible one": (
            (
                'tf.config.set_visible_devices(gpu, "GPU")',
                "(below `tf.config.experimental.set_memory_growth(gpu, True)`)",
            ),
        ),
    },
    2: {
        "Ranks are never negative": (
            ("verbose = 1 if hvd.rank() == 0 else 0", "verbose = 1 if hvd.rank() <= 0 else 0"),
        ),
        "Rank 0 still reports, a line for each epoch": (
            ("verbose = 1 if hvd.rank() == 0 else 0", "verbose = 2 if hvd.rank() == 0 else 0"),
        ),
        "The name is not used in between": (
            ("verbose = 1 if hvd.rank() == 0 else 0", "(above `if args.seed is not None:`)"),
            ("verbose = 1 if hvd.rank() == 0 else 0", '(above `gpus = tf.config.list_physical_devices("GPU")`)'),
            ("verbose = 1 if hvd.rank() == 0 else 0", "(above `if gpus:`)"),
            (
                "verbose = 1 if hvd.rank() == 0 else 0",
                "(below `(x_train, y_train), (x_test, y_test) = data.load(args.data_dir, args.train_samples, args.test_samples)`)",
            ),
            ("verbose = 1 if hvd.rank() == 0 else 0", '(below `x_train = x_train[..., None].astype("float32")`)'),
            ("verbose = 1 if hvd.rank() == 0 else 0", '(below `x_test = x_test[..., None].astype("float32")`)'),
            ("verbose = 1 if hvd.rank() == 0 else 0", "(above `args = parser.parse_args()`)"),
        ),
    },
    3: {
        "Means over several batches are only taken where backward_passes_per_step asks for them": (
            (
                "opt = hvd.DistributedOptimizer(opt)",
                "opt = hvd.DistributedOptimizer(opt, average_aggregated_gradients=True)",
            ),
        ),
    },
    4: {
        "The second broadcast sends what all ranks have already": (
            ("callbacks.append(hvd.callbacks.BroadcastGlobalVariablesCallback(0))", "(twice)"),
        ),
        "Nothing else happens after the first batch that depends on the broadcast's place in the list": (
            (
                "callbacks.append(hvd.callbacks.BroadcastGlobalVariablesCallback(0))",
                "(below `callbacks.append(tf.keras.callbacks.LearningRateScheduler(lr_schedule))`)",
            ),
            (
                "callbacks.append(hvd.callbacks.BroadcastGlobalVariablesCallback(0))",
                "(below `callbacks.append(StopAtAccuracy(args.target_accuracy, args.patience))`)",
            ),
            ("callbacks.append(hvd.callbacks.BroadcastGlobalVariablesCallback(0))", "(below `if verbose:`)"),
        ),
        "Still before fit takes the list": (
            ("callbacks.append(hvd.callbacks.BroadcastGlobalVariablesCallback(0))", "(below `model = create_model()`)"),
            (
                "callbacks.append(hvd.callbacks.BroadcastGlobalVariablesCallback(0))",
                '(below `model.compile(loss="sparse_categorical_crossentropy", optimizer=opt, metrics=["accuracy"])`)',
            ),
        ),
    },
    5: {
        "Keras takes steps until the number is reached: it rounds up, on all ranks alike": (
            ("steps_per_epoch=len(train_iter) // hvd.size(),", "steps_per_epoch=len(train_iter) / hvd.size(),"),
            ("validation_steps=3 * len(test_iter) // hvd.size(),", "validation_steps=3 * len(test_iter) / hvd.size(),"),
        ),
    },
    6: {
        "The mean of equal numbers is the same number": (
            ("callbacks.append(hvd.callbacks.MetricAverageCallback())", "(twice)"),
        ),
        "Broadcast and schedule read no metric, so the averaging still comes before all that do": (
            (
                "callbacks.append(hvd.callbacks.MetricAverageCallback())",
                "(above `callbacks.append(hvd.callbacks.BroadcastGlobalVariablesCallback(0))`)",
            ),
            (
                "callbacks.append(hvd.callbacks.MetricAverageCallback())",
                "(below `callbacks.append(tf.keras.callbacks.LearningRateScheduler(lr_schedule))`)",
            ),
        ),
    },
    8: {
        "Ranks are never negative": (("if hvd.local_rank() == 0:", "if hvd.local_rank() <= 0:"),),
        "Horovod gives the tensor a name": (
            (
                'failures = int(hvd.allreduce(tf.constant(failures), op=hvd.Sum, name="data are here"))',
                "failures = int(hvd.allreduce(tf.constant(failures), op=hvd.Sum))",
            ),
        ),
        "Horovod makes a tensor of the number": (
            (
                'failures = int(hvd.allreduce(tf.constant(failures), op=hvd.Sum, name="data are here"))',
                'failures = int(hvd.allreduce(failures, op=hvd.Sum, name="data are here"))',
            ),
        ),
        "The bar is for a person, and shown by each copying rank": (
            ("store.download(args.data_url, data_dir, progress=verbose)", "store.download(args.data_url, data_dir)"),
        ),
        "The copy is replaced by the same one": (
            ("store.upload(args.log_dir, args.train_url)", "(twice)"),
            ("store.download(args.data_url, data_dir, progress=verbose)", "(twice)"),
        ),
        "The name is not used in between": (
            ("data_dir = Path(args.cache_dir)", '(above `gpus = tf.config.list_physical_devices("GPU")`)'),
            ("data_dir = Path(args.cache_dir)", "(above `if gpus:`)"),
            ("data_dir = Path(args.cache_dir)", "(above `verbose = 1 if hvd.rank() == 0 else 0`)"),
            ("data_dir = Path(args.cache_dir)", "(below `failures = 0`)"),
            ("failures = 0", "(above `hvd.init()`)"),
            ("failures = 0", "(above `args = parser.parse_args()`)"),
            ("failures = 0", "(above `if gpus:`)"),
            ("failures = 0", "(above `verbose = 1 if hvd.rank() == 0 else 0`)"),
        ),
        "Still before the data are read": (
            ("if failures:", "(below `train_gen = ImageDataGenerator(`)"),
            (
                "if failures:",
                "(below `val_gen = ImageDataGenerator(preprocessing_function=resnet50.preprocess_input)`)",
            ),
            ("if failures:", "(below `shape = (args.image_size, args.image_size)`)"),
        ),
        "The same condition holds there already": (
            ("if hvd.local_rank() == 0:", "(under `if hvd.local_rank() == 0:`)"),
            ("store.download(args.data_url, data_dir, progress=verbose)", "(under `if hvd.local_rank() == 0:`)"),
            ("failures = 1", "(under `if hvd.local_rank() == 0:`)"),
            ("store.upload(args.log_dir, args.train_url)", "(under `if hvd.rank() == 0:`)"),
            ("store.upload(args.log_dir, args.train_url)", "(under `if hvd.local_rank() == 0:`)"),
        ),
        "Any number above 0 ends all ranks, and the line need not say on how many hosts the copy failed": (
            ("failures = 1", "failures = 2"),
        ),
        "The process ends with an error all the same, and the traceback shows the line": (
            (
                'raise SystemExit(f"Rank {hvd.rank()} ends: the data did not get to {failures} of the hosts.")',
                'raise f"Rank {hvd.rank()} ends: the data did not get to {failures} of the hosts."',
            ),
        ),
    },
    9: {
        "Rounding up twice is rounding up once": (
            (
                "return math.ceil(math.ceil(images.samples / hvd.size()) / images.batch_size)",
                "return math.ceil(images.samples / hvd.size() / images.batch_size)",
            ),
        ),
        "n is the number of all images until training begins": (
            (
                "return math.ceil(math.ceil(images.samples / hvd.size()) / images.batch_size)",
                "return math.ceil(math.ceil(images.n / hvd.size()) / images.batch_size)",
            ),
        ),
        "Any generator with the epoch as its seed is as good": (
            (
                "order = np.random.default_rng(epoch).permutation(images.samples)",
                "order = np.random.RandomState(epoch).permutation(images.samples)",
            ),
        ),
        "Any order is as good, as long as it is always the same": (
            (
                "validation_data=share_of(val_iter, itertools.repeat(0)),",
                "validation_data=share_of(val_iter, itertools.repeat(1)),",
            ),
        ),
        "Keras takes steps until the number is reached: it rounds up, on all ranks alike": (
            (
                "return math.ceil(math.ceil(images.samples / hvd.size()) / images.batch_size)",
                "return math.ceil(images.samples / hvd.size()) / images.batch_size",
            ),
        ),
    },
    10: {
        "What other ranks find is thrown away: all get what rank 0 found": (
            (
                "initial_epoch = broadcast_object(newest_checkpoint() if hvd.rank() == 0 else None, root_rank=0)",
                "initial_epoch = broadcast_object(newest_checkpoint() if hvd.local_rank() == 0 else None, root_rank=0)",
            ),
            (
                "initial_epoch = broadcast_object(newest_checkpoint() if hvd.rank() == 0 else None, root_rank=0)",
                "initial_epoch = broadcast_object(newest_checkpoint() if hvd.cross_rank() == 0 else None, root_rank=0)",
            ),
            (
                "initial_epoch = broadcast_object(newest_checkpoint() if hvd.rank() == 0 else None, root_rank=0)",
                "initial_epoch = broadcast_object(newest_checkpoint() if 0 == 0 else None, root_rank=0)",
            ),
            (
                "initial_epoch = broadcast_object(newest_checkpoint() if hvd.rank() == 0 else None, root_rank=0)",
                "initial_epoch = broadcast_object(newest_checkpoint() if hvd.rank() >= 0 else None, root_rank=0)",
            ),
            (
                "initial_epoch = broadcast_object(newest_checkpoint() if hvd.rank() == 0 else None, root_rank=0)",
                "initial_epoch = broadcast_object(newest_checkpoint(), root_rank=0)",
            ),
            (
                "initial_epoch = broadcast_object(newest_checkpoint() if hvd.rank() == 0 else None, root_rank=0)",
                "initial_epoch = broadcast_object(newest_checkpoint() if hvd.rank() == 0 else 0, root_rank=0)",
            ),
        ),
        "Ranks are never negative": (
            (
                "initial_epoch = broadcast_object(newest_checkpoint() if hvd.rank() == 0 else None, root_rank=0)",
                "initial_epoch = broadcast_object(newest_checkpoint() if hvd.rank() <= 0 else None, root_rank=0)",
            ),
            (
                "checkpoint = checkpoint_path(initial_epoch).read_bytes() if hvd.rank() == 0 else None",
                "checkpoint = checkpoint_path(initial_epoch).read_bytes() if hvd.rank() <= 0 else None",
            ),
        ),
        "What other ranks hold is thrown away": (
            (
                "checkpoint = checkpoint_path(initial_epoch).read_bytes() if hvd.rank() == 0 else None",
                "checkpoint = checkpoint_path(initial_epoch).read_bytes() if hvd.rank() == 0 else 0",
            ),
        ),
        "Only ranks of rank 0's own host read the file too, and what they read is thrown away": (
            (
                "checkpoint = checkpoint_path(initial_epoch).read_bytes() if hvd.rank() == 0 else None",
                "checkpoint = checkpoint_path(initial_epoch).read_bytes() if hvd.cross_rank() == 0 else None",
            ),
        ),
        "The default is the same": (
            (
                "initial_epoch = broadcast_object(newest_checkpoint() if hvd.rank() == 0 else None, root_rank=0)",
                "initial_epoch = broadcast_object(newest_checkpoint() if hvd.rank() == 0 else None)",
            ),
            ("file.write(broadcast_object(checkpoint, root_rank=0))", "file.write(broadcast_object(checkpoint))"),
        ),
        "Keras always gives the argument": (
            ("def on_epoch_end(self, epoch, logs=None):", "def on_epoch_end(self, epoch, logs=0):"),
        ),
        "Any other name is as good": (
            ('partial = path.with_suffix(".partial")', 'partial = path.with_suffix(".h5.partial")'),
        ),
        "Keras looks into the file for its format, not at its name": (
            (
                'with tempfile.NamedTemporaryFile(suffix=".h5") as file:',
                'with tempfile.NamedTemporaryFile(suffix="") as file:',
            ),
            ('with tempfile.NamedTemporaryFile(suffix=".h5") as file:', "with tempfile.NamedTemporaryFile() as file:"),
            (
                'with tempfile.NamedTemporaryFile(suffix=".h5") as file:',
                'with tempfile.NamedTemporaryFile(suffix=".keras") as file:',
            ),
        ),
        "The same file is written once more": (
            ("callbacks.append(SaveCheckpoint())", "(twice)"),
            ('self.model.save(partial, save_format="h5")', "(twice)"),
        ),
        "HDF5 says where it ends, and what comes behind it is not read": (
            ("file.write(broadcast_object(checkpoint, root_rank=0))", "(twice)"),
        ),
        "Python writes what is longer than its buffer without being asked, and every checkpoint is": (
            ("file.flush()", "(deleted)"),
            ("file.flush()", "file"),
            ("file.flush()", "file.flush"),
            ("file.flush()", "(under `if hvd.rank() == 0:`)"),
            ("file.flush()", "(under `if hvd.local_rank() == 0:`)"),
            ("file.flush()", "(below `model = hvd.load_model(file.name)`)"),
            ("file.write(broadcast_object(checkpoint, root_rank=0))", "(below `file.flush()`)"),
        ),
        "Nothing is left to be written": (("file.flush()", "(twice)"),),
        "The same condition holds there already": (
            ("callbacks.append(SaveCheckpoint())", "(under `if hvd.rank() == 0:`)"),
            ("callbacks.append(SaveCheckpoint())", "(under `if hvd.local_rank() == 0:`)"),
        ),
        "The order of these two does not matter": (
            (
                "callbacks.append(SaveCheckpoint())",
                "(above `callbacks.append(tf.keras.callbacks.TensorBoard(args.log_dir))`)",
            ),
        ),
        "The name is not used in between": (
            (
                "initial_epoch = broadcast_object(newest_checkpoint() if hvd.rank() == 0 else None, root_rank=0)",
                "(above `class SaveCheckpoint(tf.keras.callbacks.Callback):`)",
            ),
            (
                "initial_epoch = broadcast_object(newest_checkpoint() if hvd.rank() == 0 else None, root_rank=0)",
                "(below `full_lr = args.base_lr`)",
            ),
            (
                "initial_epoch = broadcast_object(newest_checkpoint() if hvd.rank() == 0 else None, root_rank=0)",
                "(below `def lr_schedule(epoch):`)",
            ),
        ),
        "Rank 0 alone has this callback": (
            ("path = checkpoint_path(epoch + 1)", "(under `if hvd.rank() == 0:`)"),
            ("path = checkpoint_path(epoch + 1)", "(under `if hvd.local_rank() == 0:`)"),
            ('partial = path.with_suffix(".partial")', "(under `if hvd.rank() == 0:`)"),
            ('partial = path.with_suffix(".partial")', "(under `if hvd.local_rank() == 0:`)"),
            ('self.model.save(partial, save_format="h5")', "(under `if hvd.rank() == 0:`)"),
            ('self.model.save(partial, save_format="h5")', "(under `if hvd.local_rank() == 0:`)"),
            ("partial.replace(path)", "(under `if hvd.rank() == 0:`)"),
            ("partial.replace(path)", "(under `if hvd.local_rank() == 0:`)"),
        ),
    },
    11: {
        "The name is not used in between": (
            ("full_lr = args.base_lr * hvd.size()", "(above `def newest_checkpoint():`)"),
            ("full_lr = args.base_lr * hvd.size()", "(above `class SaveCheckpoint(tf.keras.callbacks.Callback):`)"),
            (
                "full_lr = args.base_lr * hvd.size()",
                "(above `initial_epoch = broadcast_object(newest_checkpoint() if hvd.rank() == 0 else None, root_rank=0)`)",
            ),
            ("full_lr = args.base_lr * hvd.size()", "(below `def lr_schedule(epoch):`)"),
        ),
        "The line that Horovod prints when the warm-up has ended is for a person": (
            (
                "hvd.callbacks.LearningRateWarmupCallback(full_lr, args.warmup_epochs, momentum_correction=False, verbose=verbose),",
                "hvd.callbacks.LearningRateWarmupCallback(full_lr, args.warmup_epochs, momentum_correction=False),",
            ),
        ),
        "The schedule sets the rate when an epoch begins, the warm-up in each batch, and what reads metrics comes behind all": (
            (
                "hvd.callbacks.BroadcastGlobalVariablesCallback(0), hvd.callbacks.MetricAverageCallback(), tf.keras.callbacks.LearningRateScheduler(lr_schedule), hvd.callbacks.LearningRateWarmupCallback(full_lr, args.warmup_epochs, momentum_correction=False, verbose=verbose),",
                "hvd.callbacks.LearningRateWarmupCallback(full_lr, args.warmup_epochs, momentum_correction=False, verbose=verbose), hvd.callbacks.MetricAverageCallback(), tf.keras.callbacks.LearningRateScheduler(lr_schedule), hvd.callbacks.BroadcastGlobalVariablesCallback(0),",
            ),
            (
                "hvd.callbacks.MetricAverageCallback(), tf.keras.callbacks.LearningRateScheduler(lr_schedule), hvd.callbacks.LearningRateWarmupCallback(full_lr, args.warmup_epochs, momentum_correction=False, verbose=verbose),",
                "hvd.callbacks.LearningRateWarmupCallback(full_lr, args.warmup_epochs, momentum_correction=False, verbose=verbose), tf.keras.callbacks.LearningRateScheduler(lr_schedule), hvd.callbacks.MetricAverageCallback(),",
            ),
            (
                "tf.keras.callbacks.LearningRateScheduler(lr_schedule), hvd.callbacks.LearningRateWarmupCallback(full_lr, args.warmup_epochs, momentum_correction=False, verbose=verbose),",
                "hvd.callbacks.LearningRateWarmupCallback(full_lr, args.warmup_epochs, momentum_correction=False, verbose=verbose), tf.keras.callbacks.LearningRateScheduler(lr_schedule),",
            ),
        ),
    },
    13: {
        "Indices are never negative": (("chief = index == 0", "chief = index <= 0"),),
        "The chief still reports, a line for each epoch": (
            ("verbose=1 if chief else 0,", "verbose=2 if chief else 0,"),
        ),
        "TensorFlow finds no files, and shares out images": (
            (
                "options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA",
                "options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.AUTO",
            ),
            ("return dataset.with_options(options)", "return dataset"),
            (
                "options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA",
                "(deleted)",
            ),
            (
                "options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA",
                "(under `if chief:`)",
            ),
            (
                "options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA",
                "(under `if not chief:`)",
            ),
            (
                "options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA",
                "(below `return dataset.with_options(options)`)",
            ),
        ),
        "Still before anything else of TensorFlow's": (
            (
                "_, index = tf_config.check()",
                '(above `parser.add_argument("--train-samples", type=int, help="use the first so many images, those held out included")`)',
            ),
            (
                "_, index = tf_config.check()",
                '(above `parser.add_argument("--seed", type=int, help="make the run repeatable (the same number for all workers)")`)',
            ),
            ("_, index = tf_config.check()", "(above `args = parser.parse_args()`)"),
        ),
        "The name is not used in between": (
            ("chief = index == 0", "(below `strategy = tf.distribute.MultiWorkerMirroredStrategy(`)"),
            ("chief = index == 0", "(below `if args.seed is not None:`)"),
            ("chief = index == 0", "(below `log_dir = args.log_dir`)"),
            (
                "batch_size = args.batch_size * strategy.num_replicas_in_sync",
                "(above `(images, labels), _ = data.load(args.data_dir, args.train_samples)`)",
            ),
            (
                "batch_size = args.batch_size * strategy.num_replicas_in_sync",
                "(above `images = images.reshape(-1, 784).astype(np.float32) / 255`)",
            ),
            ("batch_size = args.batch_size * strategy.num_replicas_in_sync", "(above `held_out = len(images) // 6`)"),
            (
                "batch_size = args.batch_size * strategy.num_replicas_in_sync",
                "(below `def dataset_of(images, labels):`)",
            ),
            ("options = tf.data.Options()", "(above `dataset = tf.data.Dataset.from_tensor_slices((images, labels))`)"),
            (
                "options = tf.data.Options()",
                "(above `dataset = dataset.shuffle(len(images), seed=0).repeat().batch(batch_size)`)",
            ),
            ("with strategy.scope():", "(below `callbacks = [`)"),
        ),
        "No tensor has been made yet": (
            ("strategy = tf.distribute.MultiWorkerMirroredStrategy(", "(below `if args.seed is not None:`)"),
            ("strategy = tf.distribute.MultiWorkerMirroredStrategy(", "(below `log_dir = args.log_dir`)"),
            (
                "strategy = tf.distribute.MultiWorkerMirroredStrategy(",
                "(below `(images, labels), _ = data.load(args.data_dir, args.train_samples)`)",
            ),
        ),
    },
    14: {
        "The name is not used in between": (
            ("thrown_away = tempfile.TemporaryDirectory()", "(above `chief = index == 0`)"),
            (
                "thrown_away = tempfile.TemporaryDirectory()",
                "(above `strategy = tf.distribute.MultiWorkerMirroredStrategy(`)",
            ),
            ("thrown_away = tempfile.TemporaryDirectory()", "(above `if args.seed is not None:`)"),
            ("thrown_away = tempfile.TemporaryDirectory()", "(above `args = parser.parse_args()`)"),
            (
                "log_dir = args.log_dir if chief else thrown_away.name",
                "(below `(images, labels), _ = data.load(args.data_dir, args.train_samples)`)",
            ),
            (
                "log_dir = args.log_dir if chief else thrown_away.name",
                "(below `images = images.reshape(-1, 784).astype(np.float32) / 255`)",
            ),
            ("log_dir = args.log_dir if chief else thrown_away.name", "(below `held_out = len(images) // 6`)"),
        ),
        "The chief does not use it": (("thrown_away = tempfile.TemporaryDirectory()", "(under `if not chief:`)"),),
        "Any name is as good: TensorFlow finds the newest checkpoint by its own list": (
            (
                'ModelCheckpoint(f"{log_dir}/checkpoints/after-{{epoch}}", save_weights_only=True, save_freq=args.save_freq),',
                'ModelCheckpoint(f"{log_dir}/checkpoints/checkpoint-{{epoch}}", save_weights_only=True, save_freq=args.save_freq),',
            ),
            (
                'ModelCheckpoint(f"{log_dir}/checkpoints/after-{{epoch}}", save_weights_only=True, save_freq=args.save_freq),',
                'ModelCheckpoint(f"{log_dir}/checkpoints/{{epoch}}", save_weights_only=True, save_freq=args.save_freq),',
            ),
            (
                'ModelCheckpoint(f"{log_dir}/checkpoints/after-{{epoch}}", save_weights_only=True, save_freq=args.save_freq),',
                'ModelCheckpoint(f"{log_dir}/checkpoints/after-{{loss}}", save_weights_only=True, save_freq=args.save_freq),',
            ),
            (
                'ModelCheckpoint(f"{log_dir}/checkpoints/after-{{epoch}}", save_weights_only=True, save_freq=args.save_freq),',
                'ModelCheckpoint(f"{log_dir}/checkpoints/after", save_weights_only=True, save_freq=args.save_freq),',
            ),
        ),
        "Callbacks that save do not depend on each other": (
            (
                'ModelCheckpoint(f"{log_dir}/checkpoints/after-{{epoch}}", save_weights_only=True, save_freq=args.save_freq), TensorBoard(f"{log_dir}/tensorboard"),',
                'TensorBoard(f"{log_dir}/tensorboard"), ModelCheckpoint(f"{log_dir}/checkpoints/after-{{epoch}}", save_weights_only=True, save_freq=args.save_freq),',
            ),
            (
                'ModelCheckpoint(f"{log_dir}/checkpoints/after-{{epoch}}", save_weights_only=True, save_freq=args.save_freq), TensorBoard(f"{log_dir}/tensorboard"), BackupAndRestore(f"{args.log_dir}/backup", save_freq=args.save_freq),',
                'BackupAndRestore(f"{args.log_dir}/backup", save_freq=args.save_freq), TensorBoard(f"{log_dir}/tensorboard"), ModelCheckpoint(f"{log_dir}/checkpoints/after-{{epoch}}", save_weights_only=True, save_freq=args.save_freq),',
            ),
            (
                'TensorBoard(f"{log_dir}/tensorboard"), BackupAndRestore(f"{args.log_dir}/backup", save_freq=args.save_freq),',
                'BackupAndRestore(f"{args.log_dir}/backup", save_freq=args.save_freq), TensorBoard(f"{log_dir}/tensorboard"),',
            ),
        ),
        "The same file is written once more": (
            ('model.save_weights(f"{log_dir}/checkpoints/after-{args.epochs}")', "(twice)"),
        ),
        "Keras keeps the backup in a folder of its own there, and deletes that one alone": (
            (
                'BackupAndRestore(f"{args.log_dir}/backup", save_freq=args.save_freq),',
                'BackupAndRestore(f"{args.log_dir}/tensorboard", save_freq=args.save_freq),',
            ),
            (
                'BackupAndRestore(f"{args.log_dir}/backup", save_freq=args.save_freq),',
                'BackupAndRestore(f"{args.log_dir}/checkpoints", save_freq=args.save_freq),',
            ),
            (
                'BackupAndRestore(f"{args.log_dir}/backup", save_freq=args.save_freq),',
                'BackupAndRestore(f"{args.log_dir}", save_freq=args.save_freq),',
            ),
        ),
        "The number says which epoch was the last one, and more is not asked for": (
            (
                'model.save_weights(f"{log_dir}/checkpoints/after-{args.epochs}")',
                'model.save_weights(f"{log_dir}/checkpoints/{args.epochs}")',
            ),
        ),
    },
    15: {
        "The default is the same": (
            (
                'min_shard_bytes=256 << 10, max_shards=resolver.cluster_spec().num_tasks("ps")',
                'max_shards=resolver.cluster_spec().num_tasks("ps")',
            ),
        ),
        "The process ends with an error all the same, and the traceback shows the line": (
            (
                'raise SystemExit(f"The coordinator is the chief of a cluster. TF_CONFIG says that this is: {resolver.task_type}.")',
                'raise f"The coordinator is the chief of a cluster. TF_CONFIG says that this is: {resolver.task_type}."',
            ),
        ),
        "The second call sets what is set already": (('tf.config.set_visible_devices([], "GPU")', "(twice)"),),
        "Still before the strategy is made": (
            ("tf_config.check()", '(above `parser = mobilenet.flags("Train MobileNetV2 on folders of images.")`)'),
            (
                "tf_config.check()",
                '(above `parser.add_argument("--lr", type=float, default=0.05, help="learning rate to begin with")`)',
            ),
            ("tf_config.check()", "(above `args = parser.parse_args()`)"),
            ("tf_config.check()", "(below `resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()`)"),
            ("tf_config.check()", '(below `tf.config.set_visible_devices([], "GPU")`)'),
            ("tf_config.check()", '(below `if resolver.task_type != "chief":`)'),
            (
                "resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()",
                '(above `parser.add_argument("--lr", type=float, default=0.05, help="learning rate to begin with")`)',
            ),
            (
                "resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()",
                "(above `args = parser.parse_args()`)",
            ),
            ('if resolver.task_type != "chief":', '(below `tf.config.set_visible_devices([], "GPU")`)'),
            ('tf.config.set_visible_devices([], "GPU")', "(above `tf_config.check()`)"),
            (
                'tf.config.set_visible_devices([], "GPU")',
                "(above `resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()`)",
            ),
            ('tf.config.set_visible_devices([], "GPU")', "(above `args = parser.parse_args()`)"),
        ),
        "The name is not used in between": (
            ("strategy = tf.distribute.ParameterServerStrategy(", "(below `def augment(image, label):`)"),
            ("strategy = tf.distribute.ParameterServerStrategy(", "(below `def train_data(context):`)"),
            (
                "strategy = tf.distribute.ParameterServerStrategy(",
                '(below `steps_per_epoch = mobilenet.count(f"{args.data_dir}/train") // args.batch_size`)',
            ),
            ("with strategy.scope():", "(below `def lr_schedule(epoch):`)"),
            ("with strategy.scope():", "(below `class PrintLearningRate(tf.keras.callbacks.Callback):`)"),
            ("with strategy.scope():", "(below `callbacks = [`)"),
            (
                "batch_size = context.get_per_replica_batch_size(args.batch_size)",
                '(below `images = mobilenet.images(f"{args.data_dir}/train", args.image_size, shuffle=True).repeat()`)',
            ),
        ),
        "These callbacks do not depend on each other": (
            (
                'LearningRateScheduler(lr_schedule), PrintLearningRate(), ModelCheckpoint(f"{args.log_dir}/checkpoints/after-{{epoch}}", save_weights_only=True), TensorBoard(f"{args.log_dir}/tensorboard"), BackupAndRestore(f"{args.log_dir}/backup"),',
                'BackupAndRestore(f"{args.log_dir}/backup"), PrintLearningRate(), ModelCheckpoint(f"{args.log_dir}/checkpoints/after-{{epoch}}", save_weights_only=True), TensorBoard(f"{args.log_dir}/tensorboard"), LearningRateScheduler(lr_schedule),',
            ),
            (
                'PrintLearningRate(), ModelCheckpoint(f"{args.log_dir}/checkpoints/after-{{epoch}}", save_weights_only=True), TensorBoard(f"{args.log_dir}/tensorboard"), BackupAndRestore(f"{args.log_dir}/backup"),',
                'BackupAndRestore(f"{args.log_dir}/backup"), ModelCheckpoint(f"{args.log_dir}/checkpoints/after-{{epoch}}", save_weights_only=True), TensorBoard(f"{args.log_dir}/tensorboard"), PrintLearningRate(),',
            ),
            (
                'ModelCheckpoint(f"{args.log_dir}/checkpoints/after-{{epoch}}", save_weights_only=True), TensorBoard(f"{args.log_dir}/tensorboard"), BackupAndRestore(f"{args.log_dir}/backup"),',
                'BackupAndRestore(f"{args.log_dir}/backup"), TensorBoard(f"{args.log_dir}/tensorboard"), ModelCheckpoint(f"{args.log_dir}/checkpoints/after-{{epoch}}", save_weights_only=True),',
            ),
            (
                'TensorBoard(f"{args.log_dir}/tensorboard"), BackupAndRestore(f"{args.log_dir}/backup"),',
                'BackupAndRestore(f"{args.log_dir}/backup"), TensorBoard(f"{args.log_dir}/tensorboard"),',
            ),
        ),
        "Variables of other sizes are cut alike, and no part gets smaller": (
            (
                'min_shard_bytes=256 << 10, max_shards=resolver.cluster_spec().num_tasks("ps")',
                'min_shard_bytes=257 << 10, max_shards=resolver.cluster_spec().num_tasks("ps")',
            ),
        ),
        "It ends all the same, and the lesson asks for no line": (
            (
                'raise SystemExit(f"The coordinator is the chief of a cluster. TF_CONFIG says that this is: {resolver.task_type}.")',
                "raise SystemExit()",
            ),
        ),
    },
    16: {
        "Each checkpoint is evaluated, by the second evaluator once more": (
            ("tf.keras.utils.SidecarEvaluator(", "(twice)"),
        ),
        "The text is for a person": (
            (
                'parser.add_argument("--max-evaluations", type=int, help="number of the last checkpoint (default: as many as epochs)")',
                'parser.add_argument("--max-evaluations", type=int)',
            ),
        ),
        "The process ends with an error all the same, and the traceback shows the line": (
            (
                'raise SystemExit(f"This is the evaluator\'s program. TF_CONFIG says that this process is: {task_type}.")',
                'raise f"This is the evaluator\'s program. TF_CONFIG says that this process is: {task_type}."',
            ),
        ),
        "An evaluator's place is only looked up, not taken": (("tf_config.check()", "(twice)"),),
        "The second call sets what is set already": (('tf.config.set_visible_devices([], "GPU")', "(twice)"),),
        "Still before anything is evaluated": (
            (
                "tf_config.check()",
                '(above `parser = mobilenet.flags("Evaluate the checkpoints of MobileNetV2\'s training.")`)',
            ),
            (
                "tf_config.check()",
                '(above `parser.add_argument("--max-evaluations", type=int, help="number of the last checkpoint (default: as many as epochs)")`)',
            ),
            ("tf_config.check()", "(above `args = parser.parse_args()`)"),
            (
                "tf_config.check()",
                "(below `task_type = tf.distribute.cluster_resolver.TFConfigClusterResolver().task_type`)",
            ),
            ("tf_config.check()", '(below `if task_type != "evaluator":`)'),
            ("tf_config.check()", '(below `tf.config.set_visible_devices([], "GPU")`)'),
            ("tf_config.check()", "(below `model = mobilenet.network(args.image_size, args.classes, args.alpha)`)"),
            (
                "tf_config.check()",
                '(below `model.compile(optimizer="sgd", loss="sparse_categorical_crossentropy", metrics=["accuracy"])`)',
            ),
            (
                "task_type = tf.distribute.cluster_resolver.TFConfigClusterResolver().task_type",
                '(above `parser.add_argument("--max-evaluations", type=int, help="number of the last checkpoint (default: as many as epochs)")`)',
            ),
            (
                "task_type = tf.distribute.cluster_resolver.TFConfigClusterResolver().task_type",
                "(above `args = parser.parse_args()`)",
            ),
            ('if task_type != "evaluator":', '(below `tf.config.set_visible_devices([], "GPU")`)'),
            (
                'if task_type != "evaluator":',
                '(below `images = mobilenet.images(f"{args.data_dir}/val", args.image_size, shuffle=False).batch(args.batch_size)`)',
            ),
            (
                'if task_type != "evaluator":',
                "(below `model = mobilenet.network(args.image_size, args.classes, args.alpha)`)",
            ),
            (
                'if task_type != "evaluator":',
                '(below `model.compile(optimizer="sgd", loss="sparse_categorical_crossentropy", metrics=["accuracy"])`)',
            ),
            ('tf.config.set_visible_devices([], "GPU")', "(above `tf_config.check()`)"),
            (
                'tf.config.set_visible_devices([], "GPU")',
                "(above `task_type = tf.distribute.cluster_resolver.TFConfigClusterResolver().task_type`)",
            ),
            ('tf.config.set_visible_devices([], "GPU")', "(above `args = parser.parse_args()`)"),
        ),
        "It ends all the same, and the lesson asks for no line": (
            (
                'raise SystemExit(f"This is the evaluator\'s program. TF_CONFIG says that this process is: {task_type}.")',
                "raise SystemExit()",
            ),
        ),
    },
    20: {
        "A number of steps, or of images, is never beyond these limits": (
            (
                "if step % args.commit_steps == 0 or state.seen == len(images):",
                "if step % args.commit_steps <= 0 or state.seen == len(images):",
            ),
            (
                "if step % args.commit_steps == 0 or state.seen == len(images):",
                "if step % args.commit_steps == 0 or state.seen >= len(images):",
            ),
            ("if hvd.rank() == 0:", "if hvd.rank() <= 0:"),
        ),
        "The rate is set at the beginning of train": (
            (
                "optimizer = tf.keras.optimizers.SGD(learning_rate=args.base_lr, momentum=args.momentum)",
                "optimizer = tf.keras.optimizers.SGD(momentum=args.momentum)",
            ),
        ),
        "The second call does what is done already": (
            ("optimizer.learning_rate.assign(rate)", "(twice)"),
            ("state.commit()", "(twice)"),
        ),
        "Nothing depends on the error's text": (
            ("raise HorovodInternalError(error) from error", "raise HorovodInternalError() from error"),
        ),
        "The condition holds already: rank 0 is the first rank of its host": (
            ("if hvd.rank() == 0:", "(under `if hvd.rank() == 0:`)"),
            ("if hvd.rank() == 0:", "(under `if hvd.local_rank() == 0:`)"),
            ("log(state, np.mean(recent))", "(under `if hvd.local_rank() == 0:`)"),
        ),
        "The other ranks of the host fail at the next commit, and receive the state of rank 0, which is no such rank": (
            ("raise HorovodInternalError(error) from error", "(under `if hvd.local_rank() == 0:`)"),
        ),
        "The two do not depend on each other": (
            (
                "optimizer = tf.keras.optimizers.SGD(learning_rate=args.base_lr, momentum=args.momentum)",
                '(above `model = tf.keras.Sequential([tf.keras.layers.Dense(512, activation="relu"), tf.keras.layers.Dense(10)])`)',
            ),
            (
                "optimizer = tf.keras.optimizers.SGD(learning_rate=args.base_lr, momentum=args.momentum)",
                "(above `if args.weights:`)",
            ),
            (
                "optimizer = tf.keras.optimizers.SGD(learning_rate=args.base_lr, momentum=args.momentum)",
                "(above `hvd.init()`)",
            ),
            (
                "optimizer = tf.keras.optimizers.SGD(learning_rate=args.base_lr, momentum=args.momentum)",
                "(above `model.build((None, images.shape[1]))`)",
            ),
            ("optimizer.learning_rate.assign(rate)", "(below `if hvd.rank() == 0:`)"),
        ),
        "After an error, the number of images seen is that of the last commit": (
            ("try:", "(below `state.seen = start + len(chosen)`)"),
        ),
    },
}

EQUIVALENTS: dict[tuple[int, str, str], str] = {
    (step, before, after): reason
    for step, reasons in REASONS.items()
    for reason, changes in reasons.items()
    for before, after in changes
}
