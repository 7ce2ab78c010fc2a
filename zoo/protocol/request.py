"""Define the request, the complete input of a worker, which the host writes to ``request.json``.

The job determines which parts a request has, and the classes of ``train``, ``data`` and ``bench``.
"""

from typing import Any, Dict, List, Optional, Type

from zoo.protocol.part import Json, Part, ProtocolError
from zoo.protocol.targets import CLASSES

PROTOCOL = 1
# Runs only the probes of the device and the stack, not a job.
PROBE = "probe"
VERBS = (PROBE, "train", "infer", "evaluate", "bench", "export")


class StackPart(Part):
    """The framework of the stack, and its Keras module: ``keras``, ``tf.keras`` or ``none``."""

    framework: str
    keras: str


class DevicePart(Part):
    """The device to compute on.

    Attributes:
        device_kind: ``cpu`` or ``gpu``; with ``gpu`` the worker does not compute on a CPU.
        id: the framework's name for the device; None lets the worker choose.
    """

    backend: str
    framework: str
    device_kind: str
    id: Optional[str] = None

    @classmethod
    def wrong_values(cls, json: Json) -> List[str]:
        kind = json.get("device_kind", "cpu")
        return [] if kind in ("cpu", "gpu") else ["device_kind should be cpu or gpu, got %r" % (kind,)]


class DistributedPart(Part):
    """How the processes of a training run connect.

    Attributes:
        threads: number of threads of each process.
        host: address of the machine of the first process; None means its host name.
        port: port of the first process; None means any free port.
        join_s: time to wait for all processes to connect.
        nodes: number of machines.
        id: identifies this attempt.
    """

    processes: int
    threads: int
    host: Optional[str]
    port: Optional[int]
    join_s: float
    nodes: int
    id: str


class TargetPart(Part):
    """What the network learns, if not one class; see :mod:`zoo.protocol.targets`.

    Attributes:
        kind: ``labels`` or ``number``.
        weights: weight of each label in the loss of items that have it.
        mean, scale: a number is (output of the network) * scale + mean.
        loss: of a number, ``mse`` or ``mae``.
    """

    kind: str
    loss: Optional[str] = None
    weights: Optional[List[float]] = None
    mean: float = 0.0
    scale: float = 1.0


class ModelPart(Part):
    """The model to build.

    Attributes:
        name: name of the model's builder, or of an architecture in Keras.
        args: arguments of the builder; ``normalise`` is (mean, scale) of each channel, for pixels 0..255.
        file: copy of a user's model file, with checksum ``sha256``.
        saved: path of a saved Keras model.
        notes: warnings to show before the results.
        target: what it learns; None for one class.
    """

    name: str
    args: Json
    file: Optional[str] = None
    sha256: Optional[str] = None
    saved: Optional[str] = None
    notes: Optional[List[str]] = None
    target: Optional[TargetPart] = None

    @property
    def learns(self) -> str:
        return self.target.kind if self.target else CLASSES


class DataPart(Part):
    """The input files of a job."""


class ItemData(DataPart):
    """Items to run a model on, as paths of .npy files.

    Attributes:
        x: images, uint8 (n, height, width, channels).
        pictures: images of any size, uint8 (height, width, 3), one per file.
        tokens: all texts concatenated.
        offsets: (texts + 1,), start of each text.
        labels: (n,), or (n, outputs) for several labels and numbers, if known.
    """

    x: Optional[str] = None
    pictures: Optional[List[str]] = None
    tokens: Optional[str] = None
    offsets: Optional[str] = None
    labels: Optional[str] = None


class AugmentPart(Part):
    """Augmentation of training images; see :class:`zoo.config.schemas.image_classification.Augment`."""

    flip: bool
    crop: float
    color: float
    randaugment: int
    magnitude: float
    mixup: float


class TrainingData(DataPart):
    """Items to train on; for ``placement`` see :class:`zoo.config.schemas.common.TrainingData`."""

    placement: str = "auto"


class ImageData(TrainingData):
    """Images to train on, as paths of .npy files.

    Attributes:
        split: path of an .npz with the row numbers of ``train`` and ``validation`` (training arrays) and ``test``.
        balance: weight the images so that all classes contribute equally to the loss.
    """

    x_train: str
    y_train: str
    x_test: str
    y_test: str
    split: str
    classes: int
    balance: bool
    augment: AugmentPart


class TextData(DataPart):
    """Texts to train on.

    ``split`` is an .npz with the indices of ``train``, ``validation`` and ``test``. ``linear`` is an .npz with a
    linear classifier that the host has fitted, or empty.
    """

    tokens: str
    offsets: str
    labels: str
    split: str
    linear: str = ""


class TokenData(TrainingData):
    """One long text to train on; ``parts`` maps ``train`` and ``validation`` to their begin and end."""

    tokens: str
    parts: Dict[str, List[int]]


class TrainPart(Part):
    """Settings common to all training runs; see ``zoo.config.schemas``."""

    seed: int
    batch_size: int
    optimizer: str
    learning_rate: float
    schedule: str
    warmup: float
    checkpoint_minutes: float
    # Learning rate at the end of a cosine schedule, relative to ``learning_rate``.
    final_lr_ratio: float = 0.01


class ImageTrainPart(TrainPart):
    """How to train an image classifier; see :class:`zoo.config.schemas.common.Trainer`."""

    epochs: int
    label_smoothing: float
    loss: str = "mse"
    best_by: str
    patience: Optional[int]
    beta_2: float
    ema: float
    precision: str
    calibrate: Optional[bool] = None
    jit: bool
    export: List[str]
    keep_checkpoints: int
    disk_reserve_gb: float
    max_minutes: Optional[float]
    max_memory_gb: Optional[float]
    on_nan: str
    on_oom: str
    on_hangup: str
    hang_minutes: float
    restarts: int


class TextTrainPart(ImageTrainPart):
    """How to train on texts; see :class:`zoo.config.schemas.text.TextTrainer`."""

    steps: int
    clip: Optional[float]
    weight_decay: float
    word_dropout: float


class CalibrationPart(Part):
    """Batch sizes and precisions to time instead of training, the configured ones first; ``seconds`` is the limit."""

    batch_sizes: List[int]
    precisions: List[str]
    seconds: float


class FineTunePart(Part):
    """How to fine-tune trained weights; see :class:`zoo.config.schemas.image_classification.FineTune`."""

    head_epochs: int
    head_learning_rate: float
    probe: int
    unfreeze_from: Optional[str]
    unfreeze_share: Optional[float]
    freeze_normalization: bool


class FreezePart(Part):
    """Layers to freeze during training; see :class:`zoo.config.schemas.image_classification.Freeze`."""

    before: Optional[str]
    after: float


class FeatureNetworkPart(Part):
    """A frozen feature network, one of ``zoo.models.features.NETWORKS``.

    Attributes:
        weights: path of an .npz; None for random weights.
        precision: float32, bfloat16 or auto.
    """

    network: str
    weights: Optional[str]
    seed: int
    precision: str


class LayersPart(Part):
    """Layers of a feature network whose outputs are compared."""

    style: List[str]
    content: List[str]


class LossWeightsPart(Part):
    style: float
    content: float
    total_variation: float


class StyleTrainPart(TrainPart):
    """How to train a style network; see :class:`zoo.config.schemas.style_network.StyleTrainer`.

    Attributes:
        painting: path of an array, uint8 (rows, columns, 3).
        inbox: folder where the host writes batches of photos.
    """

    steps: int
    report: int
    size: int
    strength: LossWeightsPart
    features: FeatureNetworkPart
    layers: LayersPart
    painting: str
    inbox: str


class StyleSize(Part):
    """One size at which an image is optimized: paths of arrays, and the number of optimizer steps."""

    content: str
    styles: List[str]
    masks: List[Optional[str]]
    start: Optional[str]
    steps: int


class StylePart(Part):
    """How to optimize an image at one size after another.

    Attributes:
        shares: weight of each style.
        start: ``content``, ``noise`` or ``picture``.
        every: steps between two saved images.
    """

    features: FeatureNetworkPart
    layers: LayersPart
    strength: LossWeightsPart
    shares: List[float]
    sizes: List[StyleSize]
    start: str
    optimizer: str
    rate: float
    every: int
    seed: int
    checkpoint_minutes: float


class RestylePart(Part):
    """How to restyle photos.

    Attributes:
        exchange: folder where the host writes photos, and the worker the results.
        tile: edge of a tile in pixels.
        strength: 0 keeps the photo's style, 1 applies the full style.
        colors: ``style`` or ``content``.
        paintings: paths of arrays uint8 (256, 256, 3), for the network that accepts any painting.
        shares: weight of each painting; they sum to 1.
    """

    exchange: str
    tile: int
    precision: str
    items: int
    strength: float
    colors: str
    paintings: List[str]
    shares: List[float]


class InferPart(Part):
    batch_size: int


class GeneratePart(Part):
    """How to continue a text; ``tokens`` are the tokens of the ``prompt``."""

    tokens: List[int]
    prompt: str
    length: int
    temperature: float
    top_k: Optional[int]
    top_p: Optional[float]
    seed: int


class StreamPart(Part):
    """Files of images and probabilities, which host and worker map into memory.

    Attributes:
        pixels: path, uint8 of ``shape`` (slots, batch, height, width, channels).
        probabilities: path, float32 (slots, batch, classes); None for features.
        items: number of images; None if unknown.
        precision: precision to compute in, or ``auto``.
    """

    pixels: str
    probabilities: Optional[str]
    shape: List[int]
    classes: int
    items: Optional[int]
    precision: str


class ServePart(Part):
    """How to answer requests; the kind ``writer`` uses no other field.

    Attributes:
        inputs: path of the slots that the host fills, an array of ``shape`` whose first axis is the slot.
        outputs: path of the slots that the worker fills.
        classes: number of classes of a classifier.
    """

    kind: str
    inputs: str
    outputs: str
    shape: List[int]
    classes: int
    precision: str


class FeaturesPart(Part):
    """The layer whose output is written to a file; None selects the input of the last layer with weights."""

    layer: Optional[str]
    path: str


class ExportPart(Part):
    """The model to export, and the outputs to compare it with.

    Attributes:
        kind: ``images``, ``texts``, ``pictures`` or ``next_token``.
        about: origin of the weights.
        quantize: quantizations of the weights, which may include ``none``.
        batch: number of items that the files take: ``any`` or ``one``.
        tolerance: largest allowed ``difference`` and ``changed`` of each quantization.
        reading: how a file or text is converted to an input, see :class:`zoo.data.images.reading.Reading` and
            :class:`zoo.data.text.cutting.Cutting`.
        code: Python source of this conversion, which needs only Pillow and NumPy.
        needed: files that this code reads.
        example_files: image files, or texts.
        examples: the same examples, as read by the zoo.
        folder: folder in which each format gets its own folder.
        calibration: items that calibrate int8.
        answers, example_answers: .npz files with the training stack's outputs for ``data`` and ``examples``.
        answers_ms: time per item on the training stack.
        target: ``labels`` or ``number``; None for classes.
        thresholds: of each label, from which probability on it is given.
    """

    kind: str
    name: str
    classes: Optional[List[str]]
    about: str
    quantize: List[str]
    batch: str
    tolerance: Dict[str, Json]
    reading: Json
    code: str
    example_files: List[str]
    examples: ItemData
    needed: Optional[List[str]] = None
    folder: str = ""
    formats: Optional[List[str]] = None
    calibration: Optional[ItemData] = None
    answers: Optional[str] = None
    example_answers: Optional[str] = None
    answers_ms: Optional[float] = None
    target: Optional[str] = None
    thresholds: Optional[List[float]] = None


class NetworkPart(Part):
    """A network to time; ``golden`` contains its expected outputs."""

    name: str
    model: ModelPart
    golden: Optional[Json]


class BenchPart(Part):
    """What to time; see :mod:`zoo.config.schemas.benchmarks`."""


class OperationsBench(BenchPart):
    operations: List[str]
    sizes: Dict[str, List[int]]
    count: int
    max_s: float


class NetworksBench(BenchPart):
    networks: List[NetworkPart]
    modes: List[str]
    batch_sizes: List[int]
    warm: int
    count: int
    max_s: float


class InterleavedBench(BenchPart):
    """One network, timed alternately on several stacks."""

    network: NetworkPart
    modes: List[str]
    precisions: List[str]
    batch_size: int


class EncoderBench(BenchPart):
    """Implementations of an encoder, timed alternately."""

    implementations: List[str]
    modes: List[str]
    precisions: List[str]
    compiled: bool
    as_published: bool
    length: int
    batch: int
    passes: int
    repeats: int


# Class of a part by job; the default is the class in the annotation.
BY_JOB: Dict[str, Dict[str, Type[Part]]] = {
    "train": {
        "train_image_classifier": ImageTrainPart,
        "train_text_classifier": TextTrainPart,
        "train_language_model": TextTrainPart,
        "train_style_network": StyleTrainPart,
    },
    "data": {
        **dict.fromkeys(("predict", "predict_text", "score_text", "answer", "export"), ItemData),
        "train_image_classifier": ImageData,
        "train_text_classifier": TextData,
        "train_language_model": TokenData,
    },
    "bench": {
        "bench_operations": OperationsBench,
        "bench_networks": NetworksBench,
        "bench_interleaved": InterleavedBench,
        "bench_encoder": EncoderBench,
    },
}


class Request(Part):
    """The complete input of a worker.

    Attributes:
        verb: one of ``VERBS``.
        job: name of a module of ``zoo.worker.jobs``; empty for a probe.
        run_id: id of the run, also in its checkpoints.
        probes: compare operations with NumPy before the job.
        probed: results of an earlier comparison, to use instead of ``probes``.
        resume: continue from the newest checkpoint in the run folder.
        weights: path of ``weights.npz``.
        tensorboard: report the layers of the network, and histograms of the weights with ``tensorboard_histograms``.
        pieces: the text of each token, with one character (Latin-1) for each byte.
        freeze: required to train an image classifier.
    """

    protocol: int = PROTOCOL
    verb: str
    stack: StackPart
    device: DevicePart
    job: str = ""
    run_dir: str = ""
    run_id: str = ""
    probes: bool = False
    probed: Optional[List[Json]] = None
    resume: bool = False
    tensorboard: bool = False
    tensorboard_histograms: bool = False
    distributed: Optional[DistributedPart] = None
    model: Optional[ModelPart] = None
    weights: Optional[str] = None
    pieces: Optional[List[str]] = None
    data: Optional[DataPart] = None
    train: Optional[TrainPart] = None
    calibration: Optional[CalibrationPart] = None
    fine_tune: Optional[FineTunePart] = None
    freeze: Optional[FreezePart] = None
    style: Optional[StylePart] = None
    restyle: Optional[RestylePart] = None
    infer: Optional[InferPart] = None
    generate: Optional[GeneratePart] = None
    stream: Optional[StreamPart] = None
    features: Optional[FeaturesPart] = None
    serve: Optional[ServePart] = None
    bench: Optional[BenchPart] = None
    export: Optional[ExportPart] = None

    @classmethod
    def kind_of(cls, name: str, json: Json) -> Any:
        return BY_JOB.get(name, {}).get(str(json.get("job")), cls.fields()[name])

    @classmethod
    def wrong_values(cls, json: Json) -> List[str]:
        verb, job = json.get("verb", PROBE), json.get("job")
        problems = [] if verb in VERBS else ["verb is %r, valid verbs are %s" % (verb, ", ".join(VERBS))]
        if verb != PROBE:
            problems += ["%s is missing" % name for name in ("job", "run_dir") if not json.get(name)]
        if job and not str(job).isidentifier():
            problems.append("job should be a module name, got %r" % (job,))
        return problems

    @classmethod
    def of(cls, json: Any) -> "Request":
        """Build the request from JSON; if the protocol version differs, report only this."""
        if isinstance(json, dict) and json.get("protocol") != PROTOCOL:
            raise ProtocolError(["this worker uses protocol %d, the request %r" % (PROTOCOL, json.get("protocol"))])
        return super().of(json)
