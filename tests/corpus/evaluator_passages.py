"""Passages of the solution of step 16 that rows replace."""

from tests.corpus.variant import passage

SOLUTION = "parameter_server/evaluator.py"
CHECK = "tf_config.check()\n"
ROLE = passage(SOLUTION, 'if task_type != "evaluator":', "raise SystemExit")
NO_GPU = 'tf.config.set_visible_devices([], "GPU")'
ONCE = "parameter_server/evaluate_once.py"
FLAG = passage(SOLUTION, 'parser.add_argument("--max-evaluations"')
END = "    max_evaluations=args.max_evaluations or args.epochs,\n"
LOGS = 'callbacks = [TensorBoard(f"{args.log_dir}/evaluator", write_graph=False)]\n'
FOLDER = '    f"{args.log_dir}/checkpoints",\n'
IMAGES = passage(SOLUTION, "images = mobilenet.images(")
SIDECAR = (
    "tf.keras.utils.SidecarEvaluator(\n    model,\n    images,\n"
    + FOLDER
    + END
    + "    callbacks=callbacks,\n).start()\n"
)
