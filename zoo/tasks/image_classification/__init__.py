"""Train classifiers of images and predict with them."""
