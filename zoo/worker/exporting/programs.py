"""Parts of ``predict.py``: functions that are copied into it, and its last lines."""

import numpy as np

from zoo.worker.training.text_batches import shortened


def scaled(pixels, how):
    """Return pixels as the network takes them: float32, channels last."""
    values = pixels.astype(np.float32)
    if how.channels == "BGR":
        values = values[..., ::-1]
    if how.channels == "gray" and values.shape[-1] == 3:
        values = values @ np.array([[0.299], [0.587], [0.114]], np.float32)
    return (values - np.array(how.subtract, np.float32)) / np.array(how.divide, np.float32)


def padded(pixels, how):
    """Repeat the last row and column until both sides are multiples of what the network needs; float32."""
    sides = [max(how.least, -(-side // how.multiple) * how.multiple) for side in pixels.shape[:2]]
    missing = [(0, wanted - side) for wanted, side in zip(sides, pixels.shape)]
    return np.pad(pixels, [*missing, (0, 0)], "edge").astype(np.float32)


FUNCTIONS = {"images": [scaled], "pictures": [padded], "texts": [shortened], "next_token": []}
STANDARD = {"images": [], "pictures": ["io", "warnings"], "texts": ["re", "unicodedata"]}
STANDARD["next_token"] = STANDARD["texts"]
OTHER = {"images": ["from PIL import ExifTags, Image"], "pictures": ["from PIL import ExifTags, Image, ImageCms"]}
OTHER.update(texts=[], next_token=[])
_RUN = "run = opened(FOLDER, ABOUT)\n"
_VOCABULARY = """\
with open(os.path.join(FOLDER, "vocabulary.json"), encoding="utf-8") as file:
    VOCABULARY = json.load(file)
"""
_SHOW = """
        best = int(answer.argmax())
        print("%s: %s %.4f" % (item, ABOUT["classes"][best], answer[best]))
"""
MAIN = {
    "images": _RUN
    + """

def predict(path):
    pixels = scaled(read(path, HOW), HOW)
    return run({"image": pixels.reshape(1, *ABOUT["inputs"][0]["shape"][1:])})[0][0]


if __name__ == "__main__":
    for item in sys.argv[1:]:
        answer = predict(item)"""
    + _SHOW,
    "texts": _VOCABULARY
    + _RUN
    + """

def predict(text):
    numbers = np.array(numbers_of(text, VOCABULARY, HOW), np.int32)
    return run({"tokens": shortened(numbers, HOW.length)[None]})[0][0]


if __name__ == "__main__":
    for item in sys.argv[1:]:
        answer = predict(item)"""
    + _SHOW,
    "pictures": _RUN
    + """

def predict(path):
    pixels = read_srgb(path)
    restyled = run({"image": padded(pixels, HOW)[None]})[0][0][: pixels.shape[0], : pixels.shape[1]]
    return np.rint(restyled.clip(0, 255)).astype(np.uint8)


if __name__ == "__main__":
    for item in sys.argv[1:]:
        Image.fromarray(predict(item)).save(os.path.splitext(item)[0] + ".restyled.png")
""",
    "next_token": _VOCABULARY
    + _RUN
    + """
SHAPES = {row["name"]: row["shape"] for row in ABOUT["inputs"]}
CACHES = list(SHAPES)[3:]


class Memory:
    def __init__(self):
        self.place, self.filled = 0, np.zeros((1, HOW.length + 1), np.float32)
        self.filled[:, -1] = 1
        self.caches = {name: np.zeros((1, *SHAPES[name][1:]), np.float32) for name in CACHES}

    def step(self, token):
        inputs = {"tokens": np.array([[token]], np.int32), "places": np.array([[self.place]], np.int32)}
        logits, *newest = run({**inputs, "filled": self.filled, **self.caches})
        for name, array in zip(CACHES, newest):
            self.caches[name][:, self.place] = array[:, 0]
        self.filled[:, self.place] = 1
        self.place += 1
        return logits.ravel()


def read(tokens):
    memory = Memory()
    for token in tokens:
        logits = memory.step(token)
    return memory, logits


def predict(text):
    return read(numbers_of(text, VOCABULARY, HOW)[-HOW.length :])[1]


def continued(text, count, temperature=0.8, seed=0):
    random = np.random.RandomState(seed)
    tokens = numbers_of(text, VOCABULARY, HOW)
    begin = len(tokens)
    memory, logits = read(tokens[-HOW.length :])
    for _ in range(count):
        logits = logits.astype(np.float64)
        logits[:2] = -np.inf  # padding and the unknown token
        chances = np.exp((logits - logits.max()) / max(temperature, 1e-9))  # 0 takes the likeliest
        tokens.append(int(random.choice(len(chances), p=chances / chances.sum())))
        if memory.place < HOW.length:
            logits = memory.step(tokens[-1])
        else:  # the cache is full: read the later half again
            memory, logits = read(tokens[-max(1, HOW.length // 2) :])
    pieces = bytes_of(VOCABULARY["pieces"], HOW)
    return b"".join(pieces[token] for token in tokens[begin:]).decode("utf-8", "replace")


if __name__ == "__main__":
    print(sys.argv[1] + continued(sys.argv[1], int(sys.argv[2])))
""",
}
