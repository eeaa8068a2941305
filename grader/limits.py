"""What one process of a submission may use up; the supervisor and the pool limit all of them together."""

ADDRESS_SPACE = 6 * 2**30  # bytes per process
FILE_SIZE = 64 * 2**20  # bytes per file
PROCESSES = 1000  # threads count too: TensorFlow starts some forty a rank, and more in each server of a cluster
