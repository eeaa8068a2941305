"""Serve in a cluster, as a worker, which computes, or as a parameter server, which keeps variables.

    python worker_and_ps.py
    python -m course cluster ps=worker_and_ps.py worker:2=worker_and_ps.py chief="coordinator.py --classes 10"

TF_CONFIG says which of them this process is, and where all tasks are. The process does what the coordinator asks for,
until a signal ends it. The second line starts a whole cluster, and ends the servers.
"""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")  # TensorFlow's start-up notes, not its warnings; set before import

# A call to a process that has ended fails at once, so that the coordinator can react. By default, the call waits.
os.environ["GRPC_FAIL_FAST"] = "use_caller"

import tensorflow as tf
from course import tf_config

tf_config.check()  # if TF_CONFIG is wrong, this ends the process; TensorFlow would wait indefinitely

resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
if resolver.task_type not in ("worker", "ps"):
    raise SystemExit(f"This serves as a worker or a ps. TF_CONFIG says that it is: {resolver.task_type}.")

# A server takes its devices from here; what tf.config makes visible is for the process's own computations only.
config = tf.compat.v1.ConfigProto()
gpus = tf.config.list_physical_devices("GPU")
if resolver.task_type == "worker" and gpus:
    # One GPU per worker. A worker with several would be several replicas, which divide each batch and wait for each
    # other. Keras 2.11 to 2.15 fails with them (keras#18624), and TensorFlow refuses workers with unequal numbers.
    config.gpu_options.visible_device_list = str(resolver.task_id % len(gpus))
    config.gpu_options.allow_growth = True
else:
    config.device_count["GPU"] = 0  # variables stay in main memory: workers fetch them over the network

server = tf.distribute.Server(
    resolver.cluster_spec(),
    job_name=resolver.task_type,
    task_index=resolver.task_id,
    protocol=resolver.rpc_layer,
    config=config,
)
print(f"{resolver.task_type} {resolver.task_id} serves at {resolver.master()}", flush=True)
server.join()
