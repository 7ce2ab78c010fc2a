"""Name the environment variables that the host sets for the worker."""

# Rank of a process in a distributed training run; unset or 0 is the first.
RANK = "ZOO_RANK"
# File descriptor of a pipe that closes when the host ends.
WATCH_HOST = "ZOO_WATCH_HOST"
# Which Keras `zoo.models.compat` imports: `keras` or `tf.keras`.
KERAS = "ZOO_KERAS"
