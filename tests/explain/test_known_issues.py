"""Every known issue is recognised by its words, harmless lines alarm nobody, and a huge log is read in a second."""

import csv
import dataclasses
import graphlib
import json
import random
import re
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support import CHECKOUT
from zoo.cli import main as cli
from zoo.core import schema
from zoo.core.errors import ZooError
from zoo.environments import backends
from zoo.explain import known_issues, log_clues

LOGS = CHECKOUT / "tests" / "logs"
EFFECTS = ("fatal", "silent-wrong", "silent-cpu", "slow", "harmless")


def _load(name: str) -> Any:
    return yaml.safe_load((LOGS / name).read_text(encoding="utf-8"))


EXCERPTS = {
    issue.id: (next(iter(issue.backends), None), issue.excerpt) for issue in known_issues.issues() if issue.excerpt
}
HARMLESS: list[list[str]] = _load("harmless.yaml")
REPORTED: list[dict[str, Any]] = _load("reported.yaml")


def _problems(name: str) -> list[str]:
    """Return what is wrong with the answers to the excerpt of an issue."""
    backend, text = EXCERPTS[name]
    padding = "Epoch 1/5\nstep 100: loss 0.25\n"
    loud = (padding + text + "\n" + padding).replace("\n", "\r\n").upper()
    answers = [known_issues.explain(log, backend) for log in (text, padding + text, loud)]
    kinds = [[finding.id for finding in findings] for findings in answers]
    if kinds != [[name]] * 3:
        return [f"answers: {kinds}"]
    finding = answers[1][0]
    checks = {
        "line": finding.number >= 3 and finding.line in text,
        "sentences": finding.cause and finding.remedy and finding.source,
        "placeholder": not _unfilled(finding.cause + finding.remedy),
    }
    return [check for check, passed in checks.items() if not passed]


def _unfilled(text: str) -> bool:
    return bool(re.search(r"\{\w*[|,}]", re.sub(r"\{saved_model[^}]*\}", "", text)))


def test_each_issue_is_recognised() -> None:
    problems = {name: _problems(name) for name in EXCERPTS}
    assert {name: wrong for name, wrong in problems.items() if wrong} == {}


def test_every_issue_with_words_has_an_excerpt() -> None:
    spoken = {issue.id for issue in known_issues.issues() if issue.patterns}
    assert spoken == set(EXCERPTS)
    assert len(spoken) >= 440


def test_the_sequence_of_entries_in_the_files_has_no_meaning(monkeypatch: pytest.MonkeyPatch) -> None:
    shuffled = list(known_issues.issues())
    texts = [(*excerpt, [name]) for name, excerpt in EXCERPTS.items()]
    texts += [(report["backend"], report["text"], report["found"]) for report in REPORTED]
    for seed in range(4):
        random.Random(seed).shuffle(shuffled)  # noqa: S311
        ordered = known_issues.in_order(shuffled)
        monkeypatch.setattr(known_issues, "issues", lambda ordered=ordered: ordered)
        for backend, text, names in texts:
            assert [finding.id for finding in known_issues.explain(text, backend)] == names, seed


def test_before_names_issues_and_makes_no_circle() -> None:
    by_id = {issue.id: issue for issue in known_issues.issues()}
    for issue in by_id.values():
        assert set(issue.before) <= set(by_id), issue.id
        assert not issue.general or all(by_id[name].general for name in issue.before), issue.id
    one, other = by_id["mps-oom"], by_id["gpu-oom"]
    circle = [dataclasses.replace(one, before=[other.id]), dataclasses.replace(other, before=[one.id])]
    with pytest.raises(graphlib.CycleError):
        known_issues.in_order(circle)


def test_special_cases_come_first_and_general_ones_last() -> None:
    names = [issue.id for issue in known_issues.issues()]
    for issue in known_issues.issues():
        assert all(names.index(issue.id) < names.index(later) for later in issue.before), issue.id
    general = [issue.general for issue in known_issues.issues()]
    assert general == sorted(general)


def test_healthy_runs_alarm_nobody() -> None:
    answers = {text: known_issues.explain(text, known) for backend, text in HARMLESS for known in (backend, None)}
    alarms = {text: [each.id for each in findings if not each.harmless] for text, findings in answers.items()}
    assert {text: names for text, names in alarms.items() if names} == {}


def test_public_reports() -> None:
    wrong = {}
    for report in REPORTED:
        names = [finding.id for finding in known_issues.explain(report["text"], report["backend"])]
        if names != report["found"]:
            wrong[report["source"]] = names
    assert wrong == {}


def test_harmless_issues_are_marked_so() -> None:
    for name in ("metal-numa-harmless", "tf-gpu-device-0-harmless", "mps-pin-memory-harmless", "metal-0mb-harmless"):
        (finding,) = known_issues.explain(EXCERPTS[name][1])
        assert finding.harmless
        assert finding.command == ""
    (serious,) = known_issues.explain(EXCERPTS["mps-oom"][1])
    assert not serious.harmless


def test_the_backend_decides_what_the_same_words_mean() -> None:
    text = "ModuleNotFoundError: No module named 'tensorflow'"
    assert [finding.id for finding in known_issues.explain(text, "plaidml")] == ["plaidml-wants-tensorflow"]
    assert [finding.id for finding in known_issues.explain(text, "mps")] == ["keras-default-backend-tf"]
    for backend in ("metal", None):
        (finding,) = known_issues.explain("Segmentation fault: 11", backend)
        assert finding.id == "native-segmentation-fault"


def test_a_placement_on_a_gpu_of_nvidia_is_not_blamed_on_metal() -> None:
    cuda = "Opened dynamic library libcudart.so.11.0\n"
    text = "Could not satisfy explicit device specification '/device:GPU:0' because no supported kernel for GPU"
    assert [finding.id for finding in known_issues.explain(cuda + text)] == ["tf-device-placement"]
    assert "metal-no-gpu-kernel" in [finding.id for finding in known_issues.explain(text, "metal")]


@pytest.mark.parametrize(
    ("line", "name"),
    [
        (
            "Input type (torch.cuda.FloatTensor) and weight type (torch.FloatTensor) should be the same",
            "torch-two-devices",
        ),
        (
            "Input type (torch.FloatTensor) and bias type (torch.HalfTensor) should be the same",
            "torch-dtype-mismatch",
        ),
        ("Input type (double) and bias type (c10::BFloat16) should be the same", "torch-dtype-mismatch"),
        (
            "Expected object of scalar type Long but got scalar type Float for argument #2 'mat2'",
            "torch-dtype-mismatch",
        ),
        ("expected scalar type Long but found Int", "torch-integer-type"),
    ],
)
def test_types_of_numbers_are_not_taken_for_devices(line: str, name: str) -> None:
    assert [finding.id for finding in known_issues.explain(f"RuntimeError: {line}")] == [name]


def test_a_gpu_plugin_without_its_libraries_is_not_taken_for_a_build_without_gpu() -> None:
    log = "\n".join(EXCERPTS[name][1] for name in ("jax-cuda-library-not-loaded", "jax-cpu-build"))
    assert [finding.id for finding in known_issues.explain(log)] == ["jax-cuda-library-not-loaded"]


@pytest.mark.parametrize(
    "line",
    [
        "slurmstepd: error: Detected 1 oom_kill event in StepId=4711.batch. Some OOM Killed",
        "Last State: Terminated  Reason: OOMKilled  Exit Code: 137",
    ],
)
def test_memory_that_a_cluster_refuses_is_known(line: str) -> None:
    assert [finding.id for finding in known_issues.explain(line)] == ["host-memory"]


def test_one_line_is_explained_once_and_several_each() -> None:
    vm, full = EXCERPTS["mps-ci-runner"][1], EXCERPTS["mps-oom"][1]
    log = "\n".join([vm, vm, full, EXCERPTS["metal-numa-harmless"][1], full])
    findings = {finding.id: finding.number for finding in known_issues.explain(log)}
    assert findings == {"mps-ci-runner": 1, "mps-oom": 3, "metal-numa-harmless": 4}


def test_a_general_issue_is_told_only_without_a_special_one() -> None:
    general, special = EXCERPTS["build-wheel-failed"][1], EXCERPTS["build-distutils-gone"][1]
    assert [finding.id for finding in known_issues.explain(f"{general}\n{special}")] == ["build-distutils-gone"]
    assert [finding.id for finding in known_issues.explain(general)] == ["build-wheel-failed"]


def test_the_last_message_is_reported_before_its_consequence() -> None:
    names = ("message-unknown-name", "message-order", "torch-child-failed")
    log = "\n".join(EXCERPTS[name][1] for name in names)
    assert [finding.id for finding in known_issues.explain(log)] == ["message-order"]
    assert [finding.number for finding in known_issues.explain(log)] == [2]


def test_a_warning_about_something_else_does_not_explain_the_exception_after_it() -> None:
    warning = EXCERPTS["cuda-driver-too-old"][1]
    unrelated = f"{warning}\nTraceback (most recent call last):\nZetaError: the sky is green\n"
    assert known_issues.explain(unrelated) == []
    related = f"{warning}\nTraceback (most recent call last):\nZetaError: no CUDA here\n"
    assert [finding.id for finding in known_issues.explain(related)] == ["cuda-driver-too-old"]


def test_a_general_form_before_an_unrelated_exception_is_not_reported() -> None:
    earlier, last = EXCERPTS["python-none-attribute"][1], "zeta.SkyError: the sky is green"
    assert known_issues.explain(f"{earlier}\nTraceback (most recent call last):\n{last}") == []
    chained = f"{earlier}\nThe above exception was the direct cause of the following exception:\n{last}"
    assert [finding.id for finding in known_issues.explain(chained)] == ["python-none-attribute"]
    related = f"{earlier}\nTraceback (most recent call last):\nzeta.SkyError: no shape for NoneType"
    assert [finding.id for finding in known_issues.explain(related)] == ["python-none-attribute"]


def test_a_general_meaning_names_the_packages_of_the_last_frames() -> None:
    error = "ValueError: The truth value of an array with more than one element is ambiguous."
    own = 'Traceback (most recent call last):\n  File "/home/me/train.py", line 12, in main\n    load(path)\n'
    inside = '  File "/opt/lib/python3.9/site-packages/keras/saving.py", line 80, in load\n    if names:\n'
    deeper = "/opt/lib/python3.9/dist-packages/h5py/_hl/files.py in get(self)\n"
    (finding,) = known_issues.explain(own + error)
    assert finding.cause.startswith("General meaning: ")
    assert finding.remedy.startswith("The error arises in /home/me/train.py, line 12. ")
    (finding,) = known_issues.explain(own + inside + deeper + error)
    assert finding.remedy.startswith("The last frames are inside h5py and keras. ")
    assert "/home/me/train.py, line 12" in finding.remedy
    assert finding.command == "python -m pip show h5py keras"
    (finding,) = known_issues.explain(error)
    assert finding.remedy.startswith("Use ")
    (finding,) = known_issues.explain(
        "[" + inside.strip() + "\nAttributeError: module 'jax.sharding' has no attribute 'A'"
    )
    assert finding.command == "python -m pip show keras jax"


def test_a_note_of_pip_does_not_explain_a_later_exception() -> None:
    note, last = EXCERPTS["pip-installed-incompatible"][1], EXCERPTS["library-attribute-missing"][1]
    assert [finding.id for finding in known_issues.explain(f"{note}\n{last}")] == ["library-attribute-missing"]


def test_the_finding_of_the_last_exception_comes_first() -> None:
    log = "\n".join(EXCERPTS[name][1] for name in ("tf-gpu-device-0-harmless", "numpy2-abi", "mps-oom"))
    names = [finding.id for finding in known_issues.explain(log)]
    assert names == ["mps-oom", "numpy2-abi", "tf-gpu-device-0-harmless"]


def test_a_last_exception_that_no_issue_explains_is_named() -> None:
    log = EXCERPTS["numpy2-abi"][1] + "\nTraceback (most recent call last):\nzeta.SkyError: the sky is green"
    findings = known_issues.explain(log)
    text = known_issues.render(findings, log)
    assert [finding.id for finding in findings] == ["numpy2-abi"]
    assert text.startswith("Cause not known: the log ends with an error")
    assert text.index("zeta.SkyError: the sky is green") < text.index(known_issues.SECOND) < text.index("(numpy2-abi)")
    explained = log.replace("the sky is green", "NumPy")
    assert "Cause not known" not in known_issues.render(known_issues.explain(explained), explained)


def test_a_known_line_before_an_unrelated_exception_does_not_hide_what_the_exception_means() -> None:
    log = f"{EXCERPTS['mps-pin-memory-harmless'][1]}\n{EXCERPTS['mount-disconnected'][1]}\n"
    log += "Traceback (most recent call last):\nKeyError: 'zeta'"
    names = [finding.id for finding in known_issues.explain(log)]
    assert names == ["python-key-missing", "mount-disconnected", "mps-pin-memory-harmless"]


def test_a_library_that_was_not_loaded_is_the_reason_of_a_later_import_error() -> None:
    log = (
        "UserWarning: Cannot load zeta: DLL load failed while importing _zeta: The specified module could not be found."
    )
    names = [finding.id for finding in known_issues.explain(f"{log}\nImportError: cannot import name 'Omega'")]
    assert names[0] == "windows-dll"


def test_a_log_that_ends_inside_a_traceback_is_not_called_harmless() -> None:
    log = (
        EXCERPTS["warnings-of-the-future"][1]
        + '\nTraceback (most recent call last):\n  File "train.py", line 7, in f\n'
    )
    assert known_issues.explain(log) == []
    assert "ends inside a traceback" in known_issues.render([], log)


def test_further_findings_are_set_apart_from_the_first() -> None:
    log = "\n".join(EXCERPTS[name][1] for name in ("numpy2-abi", "mps-oom"))
    text = known_issues.render(known_issues.explain(log), log)
    assert text.index("(mps-oom)") < text.index(known_issues.SECOND) < text.index("(numpy2-abi)")
    assert known_issues.SECOND not in known_issues.render(known_issues.explain(EXCERPTS["mps-oom"][1]))


def test_an_answer_says_whether_its_line_has_several_causes() -> None:
    kinds = {
        "keras-mps-float64": "fatal, probable cause: ",
        "torch-two-devices": "fatal, possible causes: ",
        "native-segmentation-fault": "fatal, cause not known: General meaning: ",
        "message-missing": "fatal, cause not known: General meaning: ",
        "urllib3-libressl-warning": "  harmless: ",
    }
    for name, label in kinds.items():
        assert label in known_issues.render(known_issues.explain(EXCERPTS[name][1])), name


def test_a_frame_of_the_program_after_those_of_a_library_is_the_place_of_the_error() -> None:
    log = (
        'Traceback (most recent call last):\n  File "/opt/env/lib/python3.9/site-packages/torch/a.py", line 4\n'
        '    f()\n  File "/home/me/dataset.py", line 46, in __getitem__\n    g()\nBufferError: nothing to flush\n'
    )
    assert known_issues.explain(log) == []
    assert "/home/me/dataset.py, line 46" in known_issues.render([], log)


# Messages that many causes print: the answer names more than one of them, and how to tell them apart.
SHARED_LINES = [
    "ImportError: DLL load failed while importing _zeta: The specified module could not be found.",
    "ImportError: dlopen(/opt/zeta/_core.so, 0x0002): Library not loaded: @rpath/libzeta.dylib",
    "ImportError: dlopen(/opt/zeta/_core.so, 0x0002): Library not loaded: @rpath/libc++.1.dylib",
    "zsh: killed     python train.py",
    "Killed: 9",
    "/run.sh: line 51:   276 Killed                  python3 train.py",
    "/run.sh: line 51:   276 Illegal instruction     python3 train.py",
    " *** caught segfault ***",
    " *** caught illegal operation ***",
    "ImportError: dlopen(/opt/zeta/_core.so, 0x0002): Symbol not found: _cblas_cgemm$NEWLAPACK",
    "ValueError: Error when checking target: expected omega to have 2 dimensions, but got array with shape (7, 2, 2)",
    "IndexError: index 23667 is out of bounds for axis 0 with size 16560",
    "RuntimeError: cuDNN error: CUDNN_STATUS_EXECUTION_FAILED",
    "  what():  NCCL Error 1: unhandled cuda error",
    "IndexError: index 0 is out of bounds for dimension 0 with size 0",
    "Segmentation fault (core dumped)",
    "[1]    63240 segmentation fault  python train.py",
    "Loading:   0%|          | 0/8 [00:00<?, ?it/s][1]    11244 segmentation fault  python demo.py",
    "0%|          | 0/8 [00:00<?, ?it/s]zsh: bus error  python train.py",
    "zsh: abort      python train.py",
    "zsh: illegal hardware instruction  python train.py",
    "Illegal instruction (core dumped)",
    "Epoch 3/10 loss: nan - accuracy: 0.0980",
    "ModuleNotFoundError: No module named 'zeta'",
    "ERROR: Could not find a version that satisfies the requirement zeta (from versions: none)",
    "ERROR: No matching distribution found for tensorflow",
    "ERROR: No matching distribution found for plaidml",
    "ERROR: Failed building wheel for zeta",
    "RuntimeError: The size of tensor a (77) must match the size of tensor b (768) at non-singleton dimension 2",
    "AttributeError: module 'torch._C' has no attribute 'ZetaBase'",
    "AttributeError: module 'zeta' has no attribute 'omega'",
    "ImportError: cannot import name 'zeta' from 'tensorflow.python.platform' (/home/me/tensorflow/__init__.py)",
    "RuntimeError: CUDA error: an illegal memory access was encountered",
    "requests.exceptions.ConnectionError: HTTPSConnectionPool(host='example.org', port=443): Max retries exceeded",
]


@pytest.mark.parametrize("log", SHARED_LINES)
def test_a_line_that_many_causes_print_has_no_single_cause(log: str) -> None:
    finding, *further = known_issues.explain(log)
    assert not further
    assert "probable cause" not in known_issues.render([finding])
    assert not finding.harmless


def test_a_harmless_line_after_a_crash_does_not_hide_it() -> None:
    note = EXCERPTS["leaked-semaphores-harmless"][1]
    log = f"libzeta: fatal error: the sky fell\n{note}\n"
    text = known_issues.render(known_issues.explain(log), log)
    assert "The last line that looks like an error, 1: libzeta: fatal error" in text
    assert "looks like an error" not in known_issues.render(known_issues.explain(note), note)


@pytest.mark.parametrize(
    ("log", "name"),
    [
        ("ValueError: Your setup doesn't support bf16/gpu.", "attention-needs-newer-gpu"),
        (EXCERPTS["load-weights-from-folder"][1], "hdf5-not-a-file"),
        ("./opencl.bc\nUNKNOWN: JIT compilation failed.", "xla-jit-failed"),
        ("clang: error: unsupported option '-fopenmp'", "torch-inductor-compiler"),
        (EXCERPTS["mlx-intel-python"][1], "uv-wheel-other-platform"),
        (EXCERPTS["uv-exclude-newer"][1] + "\nNo solution found when resolving", "pip-conflicting-requirements"),
        (EXCERPTS["tf-only-cpu-kernels"][1], "metal-no-gpu-kernel"),
        (EXCERPTS["mount-disconnected"][1], "tf-failed-precondition"),
        (EXCERPTS["onnx-split-fusion-external"][1], "onnx-shape-inference"),
        (EXCERPTS["bitsandbytes-no-gpu-harmless"][1], "python-none-attribute"),
        (EXCERPTS["transformers-name-missing"][1], "transformers-backend-import"),
        (EXCERPTS["mlx-resource-limit"][1], "mlx-memory"),
        ("OSError: CUDA_HOME environment variable is not set.", "cuda-toolkit-missing"),
        (EXCERPTS["ggml-metal-no-queue"][1], "ggml-metal"),
        (EXCERPTS["llama-buffer-memory"][1], "gguf-unreadable"),
        (EXCERPTS["build-nvcc-missing"][1] + "\nFailed building wheel for zeta", "build-wheel-failed"),
        (EXCERPTS["worker-bus-error"][1] + "\nChildFailedError", "torch-child-failed"),
        (EXCERPTS["trimesh-color-map"][1] + " Fatal Python error: Segmentation fault", "python-fatal-error"),
        (EXCERPTS["plaidml-numpy-shape"][1], "keras-broadcast"),
        (EXCERPTS["array-of-text"][1], "message-limit"),
        (EXCERPTS["datasets-fsspec"][1], "python-not-implemented"),
        ("bin /env/site-packages/bitsandbytes/libbitsandbytes_cuda121.so\nKeyError: 'zeta'", "bitsandbytes-setup"),
        (f"{EXCERPTS['torch-state-dict-sizes'][1]}\n{EXCERPTS['torch-matmul-sizes'][1]}", "torch-matmul-sizes"),
        (EXCERPTS["kernel-died"][1] + "\n" + EXCERPTS["mps-broadcast"][1], "kernel-died"),
        (EXCERPTS["cudnn-not-started-jax"][1], "cudnn-not-started"),
        ("TypeError: ctypes objects containing pointers cannot be pickled", "value-error-other"),
        ("ImportError: cannot import name 'Zeta' from 'keras_nlp.layers'", "keras-path-moved"),
        (EXCERPTS["slurm-canceled"][1], "slurm-time-limit"),
        (EXCERPTS["slurm-memory-limit"][1], "slurm-canceled"),
        (EXCERPTS["wsl-libcuda-link-harmless"][1], "wsl-gpu"),
        ("Assertion `*input >= 0. && *input <= 1.` failed.\ndevice-side assert triggered", "cuda-kernel-fault"),
        (EXCERPTS["coreml-selector-missing"][1], "metal-nsinvalidargument"),
        (EXCERPTS["ptxas-older-than-compiler"][1], "cuda-arch-toolkit"),
    ],
)
def test_narrow_rules_do_not_match_neighboring_failures(log: str, name: str) -> None:
    names = [finding.id for finding in known_issues.explain(log)]
    assert names
    assert name not in names


def test_an_exception_that_was_handled_does_not_explain_a_later_one() -> None:
    first, second = EXCERPTS["python-key-missing"][1], EXCERPTS["python-recursion"][1]
    assert [finding.id for finding in known_issues.explain(f"{first}\nstep 1\n{second}")] == ["python-recursion"]


def test_harmless_lines_do_not_hide_the_error() -> None:
    log = EXCERPTS["tf-gpu-device-0-harmless"][1] + "\nZetaError: the sky is green"
    text = known_issues.render(known_issues.explain(log), log)
    assert "harmless: " in text
    assert "2: ZetaError: the sky is green" in text


def test_a_package_index_that_is_out_of_reach_is_no_matter_of_data_sets() -> None:
    log = """Cannot build the environment of stack tf-2.21: Request failed after 3 retries
      Caused by: Failed to fetch: `https://packages.example.org/simple/keras/`
      Caused by: error sending request for url (https://packages.example.org/simple/keras/)
      Caused by: client error (Connect)
      Caused by: dns error: failed to lookup address information: Temporary failure in name resolution
    """
    assert [finding.id for finding in known_issues.explain(log)] == ["pip-network"]


def test_nothing_known_is_nothing_said() -> None:
    assert known_issues.explain("") == []
    assert known_issues.explain("KeyError: 'a problem nobody has written down'") == []
    assert known_issues.explain("\x00\xff\udcff binary rubbish \u2028") == []


def test_findings_are_told_with_what_to_type_and_harmless_ones_last() -> None:
    log = EXCERPTS["tf-gpu-device-0-harmless"][1] + "\n" + EXCERPTS["metal-tf220-pywrap"][1]
    text = known_issues.render(known_issues.explain(log))
    assert text.index("line 2: NotFoundError") < text.index("line 1: E tensorflow")
    for piece in (
        "    python -m pip install tensorflow==2.19.1",
        "source: tensorflow/tensorflow#126254",
        "harmless: ",
    ):
        assert piece in text
    assert "doctor --json" in known_issues.render([])


# -- logs as they come


def test_what_the_log_names_stands_in_the_answer() -> None:
    (mismatch,) = known_issues.explain(
        "Loaded runtime CuDNN library: 8.1.0 but source was compiled with: 8.6.0.  It needs"
    )
    assert "8.6.0" in mismatch.cause
    assert "8.1.0" in mismatch.cause
    (missing,) = known_issues.explain("NotFoundError: No registered 'Zeta' OpKernel for 'GPU' devices compatible")
    assert "Zeta" in missing.cause
    (either,) = known_issues.explain("AttributeError: module 'keras.utils' has no attribute 'to_ordinal'")
    assert "to_ordinal" in either.cause
    assert "{" not in mismatch.cause + missing.cause + either.cause


def test_text_in_braces_is_not_filled_in_again() -> None:
    (finding,) = known_issues.explain("OSError: SavedModel file does not exist at: {path}/{0.__class__}")
    assert "{path}/{0.__class__}" in finding.cause


@pytest.mark.parametrize(
    "change",
    [
        lambda text: "\x1b[31m" + text.replace("MPS", "\x1b[1mMPS\x1b[0m") + "\x1b[0m",
        lambda text: "epoch 1\repoch 2\r" + text + "\r",
        lambda text: "\0".join(text),
        lambda text: "\ufeff" + text.replace("'", "\u2019").replace(" ", "\u00a0"),
        lambda text: "\udcff\x00\x07 " + text + "\x9b",
        lambda text: "x" * 100_000 + " " + text + " " + "y" * 100_000,
    ],
    ids=["colours", "progress bars", "two bytes a letter", "an editor's quotes", "binary", "one long line"],
)
def test_logs_come_through_terminals_and_editors(change: Any) -> None:
    text = "NotImplementedError: The operator 'aten::zeta' is not currently implemented for the MPS device."
    (finding,) = known_issues.explain(change(text))
    assert finding.id == "mps-op-not-implemented"
    assert finding.line.isprintable()
    assert len(finding.line) <= 300


def test_an_unknown_log_is_told_by_its_last_line_that_matters() -> None:
    frames = 'Traceback (most recent call last):\n  File "model.py", line 12, in <module>\n'
    shown = known_issues.render([], f"ok\n{frames}zeta.ShapeError: \x1b[31mrank 3 of 4\x1b[0m\nbye")
    for piece in (
        "This log contains no known issue",
        "shapes and types",
        "4: zeta.ShapeError: rank 3 of 4",
        "line 12",
    ):
        assert piece in shown
    assert "\x1b" not in shown
    assert log_clues.find("").line == ""
    assert "No line was recognized as an error" in known_issues.render([], "Epoch 1/5\nloss: 0.25")
    assert log_clues.find("Segmentation fault (core dumped)").kind == "a crash in native code"


@pytest.mark.parametrize(("text", "status"), [("OMP: Error #15: Initializing libomp", 0), ("all is well", 1)])
def test_the_exit_status_says_whether_anything_is_known(
    text: str, status: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "a.log"
    log.write_text(text, encoding="utf-8")
    assert cli.main(["explain", str(log)]) == status
    capsys.readouterr()
    assert cli.main(["explain", str(log), "--json"]) == status
    assert len(json.loads(capsys.readouterr().out)) == 1 - status


def test_logs_that_people_pasted(shared_data: Path) -> None:
    logs = shared_data / "logs"
    if not (logs / "index.csv").is_file():
        pytest.skip(f"no index.csv in {logs}")
    with (logs / "index.csv").open(encoding="utf-8", newline="") as index:
        rows = {row["n"]: row for row in csv.DictReader(index)}
    known = {name: known_issues.explain((logs / f"{name}.txt").read_text(encoding="utf-8")) for name in rows}
    assert [
        name
        for name, row in rows.items()
        if row["wanted"] == "nothing" and not all(each.harmless for each in known[name])
    ] == []
    silent = [name for name, row in rows.items() if row["wanted"] != "nothing" and not known[name]]
    assert len(silent) <= 0.1 * len(rows)


# -- the knowledge itself


def test_entries_are_complete_and_unique() -> None:
    files = (CHECKOUT / "zoo" / "explain" / "issues").glob("*.yaml")
    names = [row["id"] for file in files for row in yaml.safe_load(file.read_text(encoding="utf-8"))]
    assert sorted(names) == sorted(issue.id for issue in known_issues.issues())
    for issue in known_issues.issues():
        assert issue.patterns or issue.probe, issue.id
        assert all((issue.cause, issue.remedy, issue.source)), issue.id
        assert issue.effect in EFFECTS, issue.id
        assert set(issue.backends) <= set(backends.names()), issue.id
        assert issue.backends or not issue.vague, issue.id
        assert all(len(say) >= 6 for say in issue.patterns), issue.id
        assert all(say.isascii() and say == say.lower() for say in issue.patterns), issue.id


def test_a_rule_with_a_missing_or_unknown_key_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"id": "warp", "backends": [], "effect": "fatal", "cause": "A.", "remedy": "B.", "source": "C", "fix": "D"}
    monkeypatch.setattr(schema, "read_yaml", lambda path: [row])
    with pytest.raises(ZooError, match=r"(?s)warp.command: missing.*warp.fix: unknown key"):
        known_issues.issues.__wrapped__()


def test_a_numpy_that_is_too_old_is_not_taken_for_one_that_is_too_new() -> None:
    text = (
        "RuntimeError: module compiled against API version 0x10 but this version of numpy is 0xf\n"
        "ImportError: numpy.core.multiarray failed to import\n"
    )
    assert [finding.id for finding in known_issues.explain(text)] == ["numpy-api-version"]


def test_every_source_is_whole() -> None:
    for issue in known_issues.issues():
        parts = re.split(r"; |, (?=[\w.-]+/[\w.-]+#)", issue.source)
        # " #" begins a comment in YAML: a source that is not in quotes ends there.
        assert all(re.fullmatch(r"[\w.-]+/[\w.-]+#\d+|[^#]{6,120}", part) for part in parts), issue.source


def test_entries_name_only_what_they_read() -> None:
    ids = {issue.id for issue in known_issues.issues()}
    for issue in known_issues.issues():
        read = {"where", "versions", "releases", "packages"}.union(
            re.findall(r"\?P<(\w+)>", " ".join([issue.context_pattern, *issue.details]))
        )
        fields = known_issues.FIELD.findall(issue.cause + issue.remedy + issue.command)
        assert {name for names, _ in fields for name in names.split(",")} <= read, issue.id
        assert set(issue.replaces) <= ids, issue.id


def test_probes_name_their_issue() -> None:
    probes = [issue.probe for issue in known_issues.issues() if issue.probe]
    assert len(probes) == len(set(probes)) >= 18


def _expressions() -> list[str]:
    return [e for i in known_issues.issues() for e in (i.context_pattern, i.unless, *i.details) if e]


def _seconds(expression: str) -> float:
    """Return the longest time that one search takes."""
    names = re.findall(r"[a-zA-Z]{3,}", expression) or ["x"]
    contexts = [(word + " ") * (1200 // (len(word) + 1)) for word in names] + ["a" * 1200, "a.b-1 " * 200, "/" * 1200]
    begin = time.process_time()
    for context in contexts:
        re.search(expression, context, re.IGNORECASE)
    return (time.process_time() - begin) / len(contexts)


def test_expressions_cannot_run_away() -> None:
    expressions = sorted(set(_expressions()))
    # An unbounded repetition inside another is what makes matching take for ever; so is one of "anything".
    outside = {text: re.sub(r"\[\^?\]?[^\]]*\]", "C", text) for text in expressions}
    assert [text for text, rest in outside.items() if re.search(r"[*+]\)?[*+{]|\.[*+]|C[*+]", rest)] == []
    assert [text for text in expressions if _seconds(text) > 0.02] == []


def _logs() -> dict[str, str]:
    chance = random.Random(1)  # noqa: S311
    words = [
        "step",
        "loss",
        "0.12",
        "tensorflow",
        "torch",
        "error",
        "MPS",
        "memory",
        "symbol",
        "plaidml",
        "GPU",
        "the",
    ]
    lines = [" ".join(chance.choices(words, k=13)) for _ in range(70_000)]
    return {
        "lines": "\n".join(lines),
        "one line": " ".join(lines),
        "near misses": "out of range METAL tensorflow-metal SyntaxError dlopen libplaidml\n" * 70_000,
        "hits": (EXCERPTS["mps-oom"][1] + "\n") * 30_000,
        "escapes": "\x1b[" * 2_500_000,
        "one letter": "a" * 10_000_000,
    }


@pytest.mark.parametrize("kind", ["lines", "one line", "near misses", "hits", "escapes", "one letter"])
def test_a_log_of_megabytes_takes_seconds(kind: str) -> None:
    log = _logs()[kind] + "\nCould not find compiler for platform METAL"
    assert len(log) > 4_500_000
    known_issues.issues()
    begin = time.process_time()
    findings = known_issues.explain(log, "metal")
    assert time.process_time() - begin < 8  # an old processor; what grows by squares takes hours
    assert "metal-xla-compiler" in {finding.id for finding in findings}


def test_fifty_megabytes_of_training_take_a_few_seconds() -> None:
    line = "Epoch {0}/90 step {0} [=====>....] - ETA: 12s - loss: 0.{0} - accuracy: 0.9{0}\n"
    log = "".join(line.format(step) for step in range(600_000)) + EXCERPTS["mps-oom"][1]
    assert len(log) > 45_000_000
    begin = time.process_time()
    assert [finding.id for finding in known_issues.explain(log)] == ["mps-oom"]
    assert time.process_time() - begin < 8
