"""Name the environment variables that the host sets for the worker."""

# Number of a process among those of its training; unset or 0 is the first.
RANK = "ZOO_RANK"
# Read end of a pipe that closes when the host is gone.
WATCH_HOST = "ZOO_WATCH_HOST"
# Which Keras `zoo.models.compat` imports: `keras` or `tf.keras`.
KERAS = "ZOO_KERAS"
