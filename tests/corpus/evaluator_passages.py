"""Passages of the solution of step 16 that rows replace."""

NO_GPU = 'tf.config.set_visible_devices([], "GPU")\n'
ONCE = "parameter_server/evaluate_once.py"
END = "    max_evaluations=args.max_evaluations or args.epochs,\n"
LOGS = 'callbacks = [TensorBoard(f"{args.log_dir}/evaluator", write_graph=False)]\n'
FOLDER = '    f"{args.log_dir}/checkpoints",\n'
