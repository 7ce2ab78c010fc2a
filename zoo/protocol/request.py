"""Define the request: everything that the worker is told, written by the host as ``request.json``.

A request has one part for each thing that its job needs. Of what class ``train``, ``data`` and ``bench`` are depends
on the job.
"""

from typing import Any, Dict, List, Optional, Type

from zoo.protocol.part import Json, Part, ProtocolError

PROTOCOL = 1
# The device and the stack are probed, and no job runs.
PROBE = "probe"
VERBS = (PROBE, "train", "infer", "evaluate", "bench", "export")
DEVICE_KINDS = ("cpu", "gpu")


class StackPart(Part):
    """The stack: its framework, and the module of its Keras (``keras``, ``tf.keras``) or ``none``."""

    framework: str
    keras: str


class DevicePart(Part):
    """The device to compute on.

    Attributes:
        backend: name of the zoo's backend.
        framework: of the stack.
        device_kind: ``cpu`` or ``gpu``; the worker refuses to compute on a CPU where this is ``gpu``.
        id: the framework's name of the device; None: the worker picks one.
    """

    backend: str
    framework: str
    device_kind: str
    id: Optional[str] = None

    @classmethod
    def wrong_values(cls, json: Json) -> List[str]:
        """Return what is wrong with values, whatever their types are."""
        kind = json.get("device_kind", "cpu")
        return [] if kind in DEVICE_KINDS else ["device_kind should be cpu or gpu, got %r" % (kind,)]


class DistributedPart(Part):
    """How the processes of a training find each other; see :class:`zoo.execution.process_group.Meeting`.

    Attributes:
        id: of this attempt.
    """

    processes: int
    threads: int
    host: Optional[str]
    port: Optional[int]
    join_s: float
    nodes: int
    id: str


class ModelPart(Part):
    """The model to build.

    Attributes:
        name: of its builder, or of an architecture of Keras.
        args: of the builder; among them may be ``normalise``, (mean, scale) by channel of pixels 0..255.
        file: copy of a model file of the user's own.
        sha256: of that file.
        saved: path of a saved Keras model.
        notes: warnings to show before it answers.
    """

    name: str
    args: Json
    file: Optional[str] = None
    sha256: Optional[str] = None
    saved: Optional[str] = None
    notes: Optional[List[str]] = None


class DataPart(Part):
    """What a job reads; paths."""


class ItemData(DataPart):
    """Items to ask a model about, as paths of .npy files.

    Attributes:
        x: images, uint8 (n, height, width, channels).
        pictures: images of any size, uint8 (height, width, 3), a file each.
        tokens: of all texts one after the other.
        offsets: (texts + 1,), where each text begins.
        labels: (n,), where they are known.
    """

    x: Optional[str] = None
    pictures: Optional[List[str]] = None
    tokens: Optional[str] = None
    offsets: Optional[str] = None
    labels: Optional[str] = None


class AugmentPart(Part):
    """How training images are altered; see :class:`zoo.config.schemas.image_classification.Augment`."""

    flip: bool
    crop: float
    color: float
    randaugment: int
    magnitude: float
    mixup: float


class TrainingData(DataPart):
    """Items to train on; ``placement`` is where they lie, see :class:`zoo.config.schemas.common.TrainingData`."""

    placement: str = "auto"


class ImageData(TrainingData):
    """Images to train on, as paths of .npy files.

    Attributes:
        split: .npz of ``train`` and ``validation``, rows of the training arrays, and ``test``, of the test arrays.
        balance: weight the images so that every class counts the same.
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
    """Texts to train on; ``split`` is an .npz of the numbers of those for training, validation and testing."""

    tokens: str
    offsets: str
    labels: str
    split: str


class TokenData(TrainingData):
    """One long text to train on; ``parts`` has begin and end of ``train`` and ``validation``."""

    tokens: str
    parts: Dict[str, List[int]]


class TrainPart(Part):
    """Settings that all trainings share; ``seed`` is the run's, ``zoo.config.schemas`` explains the rest."""

    seed: int
    batch_size: int
    optimizer: str
    learning_rate: float
    schedule: str
    warmup: float
    checkpoint_minutes: float
    # Share of the learning rate that a cosine schedule ends at.
    final_lr_ratio: float = 0.01


class ImageTrainPart(TrainPart):
    """How to train a classifier of images; see :class:`zoo.config.schemas.common.Trainer`."""

    epochs: int
    label_smoothing: float
    best_by: str
    patience: Optional[int]
    beta_2: float
    ema: float
    precision: str
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


class FineTunePart(Part):
    """How to train from trained weights; see :class:`zoo.config.schemas.image_classification.FineTune`."""

    head_epochs: int
    head_learning_rate: float
    unfreeze_from: Optional[str]
    unfreeze_share: Optional[float]
    freeze_normalization: bool


class FreezePart(Part):
    """Which layers stop to learn; see :class:`zoo.config.schemas.image_classification.Freeze`."""

    before: Optional[str]
    after: float


class FeatureNetworkPart(Part):
    """A frozen feature network.

    Attributes:
        network: one of ``zoo.models.features.NETWORKS``.
        weights: path of an .npz; None draws them.
        seed: of what is drawn.
        precision: float32, bfloat16 or auto.
    """

    network: str
    weights: Optional[str]
    seed: int
    precision: str


class LayersPart(Part):
    """Names of the layers of a feature network that are compared."""

    style: List[str]
    content: List[str]


class LossWeightsPart(Part):
    """Weights of the losses of style transfer."""

    style: float
    content: float
    total_variation: float


class StyleTrainPart(TrainPart):
    """How to train a style network; see :class:`zoo.config.schemas.style_network.StyleTrainer`.

    Attributes:
        painting: path of an array, uint8 (rows, columns, 3).
        inbox: folder where the host puts batches of photos.
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
    """One size of a picture that is optimized: paths of its arrays, and its optimizer steps."""

    content: str
    styles: List[str]
    masks: List[Optional[str]]
    start: Optional[str]
    steps: int


class StylePart(Part):
    """How to optimize a picture, size after size.

    Attributes:
        shares: of each style.
        start: ``content``, ``noise`` or ``picture``.
        every: steps between two pictures that are kept.
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
        exchange: folder where the host puts photos and takes results.
        tile: edge in pixels.
        items: number of photos.
        strength: from 0, the photo, to 1.
        colors: ``style`` or ``content``.
        paintings: paths of arrays uint8 (256, 256, 3), for the network that takes any painting.
        shares: of each painting; they sum to 1.
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
    """How to predict: items at a time."""

    batch_size: int


class GeneratePart(Part):
    """How to continue a text, whose ``tokens`` are those of the ``prompt``."""

    tokens: List[int]
    prompt: str
    length: int
    temperature: float
    top_k: Optional[int]
    top_p: Optional[float]
    seed: int


class StreamPart(Part):
    """Files through which images come and probabilities go, both mapped by host and worker.

    Attributes:
        pixels: path, uint8 of ``shape`` (slots, batch, height, width, channels).
        probabilities: path, float32 (slots, batch, classes); None where features are written.
        items: number of images; None where it is unknown.
        precision: to compute in, or ``auto``.
    """

    pixels: str
    probabilities: Optional[str]
    shape: List[int]
    classes: int
    items: Optional[int]
    precision: str


class ServePart(Part):
    """How to answer; ``writer`` uses the ``kind`` only.

    Attributes:
        inputs: path of the slots that the host fills, of ``shape``, whose first number is that of the slots.
        outputs: path of those that the worker fills.
        classes: of a classifier.
    """

    kind: str
    inputs: str
    outputs: str
    shape: List[int]
    classes: int
    precision: str


class FeaturesPart(Part):
    """Write the output of a layer to a file; None: of the layer before the last."""

    layer: Optional[str]
    path: str


class ExportPart(Part):
    """What to export, and what to compare it with.

    Attributes:
        kind: ``images``, ``texts``, ``pictures`` or ``next_token``.
        about: where the weights are from.
        quantize: ``none`` or how weights are made smaller.
        tolerance: most ``difference`` and ``changed``.
        folder: where a folder for each format is made.
        calibration: items for int8.
        answers: of the stack that trained, an .npz; ``answers_ms`` is what an item took it.
    """

    kind: str
    name: str
    classes: Optional[List[str]]
    about: str
    quantize: str
    tolerance: Dict[str, float]
    folder: str = ""
    formats: Optional[List[str]] = None
    calibration: Optional[ItemData] = None
    answers: Optional[str] = None
    answers_ms: Optional[float] = None


class NetworkPart(Part):
    """A network to time; ``golden`` are known answers of it."""

    name: str
    model: ModelPart
    golden: Optional[Json]


class BenchPart(Part):
    """What to time; see :mod:`zoo.config.schemas.benchmarks`."""


class OperationsBench(BenchPart):
    """Single operations."""

    operations: List[str]
    sizes: Dict[str, List[int]]
    count: int
    max_s: float


class NetworksBench(BenchPart):
    """Networks, one after the other."""

    networks: List[NetworkPart]
    modes: List[str]
    batch_sizes: List[int]
    warm: int
    count: int
    max_s: float


class InterleavedBench(BenchPart):
    """One network, in turns with other stacks."""

    network: NetworkPart
    modes: List[str]
    precisions: List[str]
    batch_size: int


class EncoderBench(BenchPart):
    """Implementations of an encoder, in turns."""

    implementations: List[str]
    modes: List[str]
    precisions: List[str]
    compiled: bool
    as_published: bool
    length: int
    batch: int
    passes: int
    repeats: int


# The class of a part, by job; of a job that is not named here the class of the annotation.
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
    """Everything that the worker is told.

    Attributes:
        verb: one of ``VERBS``.
        job: name of a module of ``zoo.worker.jobs``; empty for a probe.
        run_dir: the run folder.
        run_id: of the run; its checkpoints bear it.
        probes: compare operations with numpy before the job.
        probed: rows of an earlier comparison, which then is not repeated.
        resume: continue from the newest checkpoint in the run folder.
        weights: path of ``weights.npz``.
        pieces: what each token adds to a text, as bytes written as one character each.
        freeze: with ``fine_tune``, of the training of a classifier of images.
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
    tensorboard: bool = False
    resume: bool = False
    distributed: Optional[DistributedPart] = None
    model: Optional[ModelPart] = None
    weights: Optional[str] = None
    pieces: Optional[List[str]] = None
    data: Optional[DataPart] = None
    train: Optional[TrainPart] = None
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
        """Return the class of a part, which depends on the job."""
        return BY_JOB.get(name, {}).get(str(json.get("job")), cls.fields()[name])

    @classmethod
    def wrong_values(cls, json: Json) -> List[str]:
        """Return what is wrong with values, whatever their types are."""
        verb, job = json.get("verb", PROBE), json.get("job")
        problems = [] if verb in VERBS else ["verb is %r, known are %s" % (verb, ", ".join(VERBS))]
        if verb != PROBE:
            problems += ["%s is missing" % name for name in ("job", "run_dir") if not json.get(name)]
        if job and not str(job).isidentifier():
            problems.append("job is %r, which is not the name of a job" % (job,))
        return problems

    @classmethod
    def of(cls, json: Any) -> "Request":
        """Build the request from JSON; of another protocol nothing else is said."""
        if isinstance(json, dict) and json.get("protocol") != PROTOCOL:
            raise ProtocolError(["this worker speaks protocol %d, the request %r" % (PROTOCOL, json.get("protocol"))])
        return super().of(json)
