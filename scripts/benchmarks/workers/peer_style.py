"""Restyle a photo with an exported network: python peer_style.py onnxruntime|openvino MODEL.onnx PHOTO RESULT"""

import sys
from typing import Any

import cv2  # type: ignore[import-not-found, unused-ignore]
import numpy as np


def run(runtime: str, file: str, pixels: Any) -> Any:
    """Return the result of the network for one image, float32 (1, height, width, 3)."""
    if runtime == "onnxruntime":
        import onnxruntime  # type: ignore[import-not-found, unused-ignore]

        session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
        return session.run(None, {session.get_inputs()[0].name: pixels})[0]
    import openvino  # type: ignore[import-not-found, unused-ignore]

    core = openvino.Core()
    model = core.read_model(file)
    model.reshape(pixels.shape)  # a fixed size is faster
    return core.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})(pixels)[0]


def main(runtime: str, file: str, photo: str, result: str) -> None:
    """Read, restyle, write; edges are padded to multiples of 4."""
    pixels = cv2.cvtColor(cv2.imread(photo), cv2.COLOR_BGR2RGB)
    height, width = pixels.shape[:2]
    padded = np.pad(pixels, ((0, -height % 4), (0, -width % 4), (0, 0)), "edge")[None].astype(np.float32)
    restyled = np.clip(np.rint(run(runtime, file, padded)[0, :height, :width]), 0, 255).astype(np.uint8)
    cv2.imwrite(result, cv2.cvtColor(restyled, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_JPEG_QUALITY, 95])


if __name__ == "__main__":
    main(*sys.argv[1:])
