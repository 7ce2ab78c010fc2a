"""Train image classifiers and predict with them."""
