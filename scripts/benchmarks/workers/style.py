"""Worker of scripts/benchmarks/style_transfer.py in a stack's interpreter.

Reads lines of JSON from standard input and answers each with one. ``example`` takes steps as the style-transfer
example of Keras does: SGD from 100 on, content, style and image through the network in every step. ``ours`` reaches a
loss as the zoo does. ``judge`` returns the loss of an image, in float32.
"""

import json
import os
import runpy
import sys
import time

import numpy as np

CONTENT, STYLE, ROUGH = 2.5e-8, 1e-6, 1e-6
MARGIN = 0.996


def _now():
    return time.time(), time.process_time()


def _since(began):
    return {"seconds": time.time() - began[0], "cpu": time.process_time() - began[1]}


def _never(_step, _x, _terms):
    return False


def counted(function):
    """Return the function, and a list that grows with every call of it."""
    calls = []

    def call(x):
        calls.append(None)
        return function(x)

    return call, calls


def main(checkout, arrays, weights):
    runpy.run_path(os.path.join(checkout, "zoo", "worker", "bootstrap.py"))
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    job = Job(np.load(arrays), weights)
    for line in sys.stdin:
        order = json.loads(line)
        answers.write(json.dumps(getattr(job, order.pop("do"))(**order)) + "\n")
        answers.flush()


class Job:
    """The images, the layers, and the state of the example."""

    def __init__(self, arrays, weights):
        self.content, self.style = (arrays[name].astype(np.float32) for name in ("content", "style"))
        self.weights = weights
        self.layers = ["block1_conv1", "block2_conv1", "block3_conv1"]
        self.deepest = "block3_conv4"
        self._run, self._step = None, 0

    def features(self, shape, precision="float32"):
        from zoo.worker.style.feature_model import frozen

        settings = {"network": "vgg19", "weights": self.weights, "seed": 0, "precision": precision}
        return frozen(settings, [*self.layers, self.deepest], shape)

    def example(self, steps):
        """Take more of the example's steps.

        Returns:
            Losses before each step; wall time and processor time of all of them in seconds.
        """
        if self._run is None:
            self._run = self._example()
        began, losses = _now(), []
        for _ in range(steps):
            losses.append(self._run(100.0 * 0.96 ** (self._step / 100.0)))
            self._step += 1
        return dict(_since(began), losses=losses)

    def _example(self):
        import tensorflow as tf

        network = self.features(self.content.shape)
        picture = tf.Variable(self.content[None])
        base, art = tf.constant(self.content[None]), tf.constant(self.style[None])
        size = float(self.content.shape[0] * self.content.shape[1])

        def gram(x):
            x = tf.transpose(x, (2, 0, 1))
            flat = tf.reshape(x, (tf.shape(x)[0], -1))
            return tf.matmul(flat, tf.transpose(flat))

        @tf.function
        def losses():
            with tf.GradientTape() as tape:
                maps = network(tf.concat([base, art, picture], axis=0))
                loss = CONTENT * tf.reduce_sum(tf.square(maps[-1][2] - maps[-1][0]))
                for each in maps[:-1]:
                    apart = tf.reduce_sum(tf.square(gram(each[1]) - gram(each[2])))
                    loss += STYLE / len(self.layers) * apart / (36.0 * size**2)
                down = tf.square(picture[:, :-1, :-1] - picture[:, 1:, :-1])
                right = tf.square(picture[:, :-1, :-1] - picture[:, :-1, 1:])
                loss += ROUGH * tf.reduce_sum(tf.pow(down + right, 1.25))
            return loss, tape.gradient(loss, picture)

        def step(rate):
            loss, slope = losses()
            picture.assign_sub(rate * slope)
            return float(loss)

        return step

    def ours(self, target, precision, save, most=400):
        """Go down to a loss, coarse sizes first.

        Returns:
            Seconds from nothing (the libraries are loaded) to the first picture that is as good, and how many looks
            at the losses each size took.
        """
        from zoo.worker.resample import resize
        from zoo.worker.training import optimizers

        began, picture, before, counts = _now(), None, None, []
        rows, columns = self.content.shape[:2]
        # What bfloat16 rounds must not be what makes it seem as good.
        aim = target * MARGIN if precision == "bfloat16" else target
        for halved in (4, 2, 1):
            shape = [max(32, edge // halved // 16 * 16) if halved > 1 else edge for edge in (rows, columns)]
            content, style = resize(self.content, *shape), resize(self.style, *shape)
            picture = content if picture is None else np.clip(content + resize(picture - before, *shape), 0, 255)
            before = content
            function, looks = counted(self._problem(content, style, precision))
            enough = _never if halved > 1 else lambda step, x, terms: sum(terms) <= aim
            picture = optimizers.lbfgs(function, picture, 60 if halved > 1 else most, 4.0, enough)
            counts.append(len(looks))
        np.save(save, picture)
        return dict(_since(began), looks=counts)

    def descend(self, steps, state, seconds):
        """The example's steps with one picture in place of three; the same numbers, sooner.

        Losses before each step, and after the last, are kept in the file ``state``, with the picture.
        """
        function, ends = self._problem(self.content, self.style, "float32"), time.time() + seconds
        picture, losses = self.content.copy(), []
        if os.path.exists(state):
            with np.load(state) as stored:
                picture, losses = stored["picture"], list(stored["losses"])
        while len(losses) <= steps and time.time() < ends:
            terms, slope = function(picture)
            losses.append(sum(terms))
            if len(losses) <= steps:
                picture = picture - np.float32(100.0 * 0.96 ** ((len(losses) - 1) / 100.0)) * slope
        np.savez(state, picture=picture, losses=losses)
        return {"done": len(losses) - 1, "loss": losses[-1]}

    def judge(self, path):
        """The example's loss of a picture."""
        terms, _ = self._problem(self.content, self.style, "float32")(np.load(path))
        return {"loss": sum(terms)}

    def _problem(self, content, style, precision):
        """The example's loss over one picture, targets computed once.

        Content and roughness are sums over all places: at a smaller size they are brought up to the full one.
        """
        from zoo.models import compat
        from zoo.models.layers import style_losses as losses

        network = self.features(content.shape, precision)
        of_content, of_style = compat.outputs(network, content[None]), compat.outputs(network, style[None])
        start = compat.keras.layers.Input(shape=(1,))
        image = compat.TrainableConstant((1, *content.shape), trainable=True, name="picture")
        maps = network(image(start))
        size = float(content.shape[0] * content.shape[1])
        area = self.content.shape[0] * self.content.shape[1] / size
        terms, shares = [], []
        for number, each in enumerate(maps[:-1]):
            flat = of_style[number].reshape(-1, of_style[number].shape[-1]).astype(np.float32)
            aim = (flat.T.dot(flat) / len(flat))[None].astype(np.float32)
            kept = losses.constant(compat, aim, start, f"aim{number}")
            terms.append(losses.squared_distance(compat, losses.gram_matrix(compat, each), kept))
            shares.append(STYLE / len(self.layers) * len(flat) ** 2 / (36.0 * size**2))
        kept = losses.constant(compat, of_content[-1].astype(np.float32), start, "aim_content")
        terms += [losses.squared_distance(compat, maps[-1], kept), losses.total_variation(compat, image(start))]
        shares += [CONTENT * area, ROUGH * area]
        model = compat.keras.models.Model(start, [losses.weighted_sum(compat, terms, shares)])
        return compat.value_and_grad(model, image)


if __name__ == "__main__":
    main(*sys.argv[1:])
