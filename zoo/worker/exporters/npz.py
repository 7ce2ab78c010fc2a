"""Save only the weights, as plain arrays that every stack reads."""

from zoo.worker import weights

KIND = "weights"
NAME = "weights.npz"
NEEDS = ()
export = weights.save
