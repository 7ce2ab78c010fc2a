"""MobileNet behind servers: python peer_serving.py fastapi|litserve|bentoml MODEL.onnx PORT

A request is one image of 224 x 224 in bytes; LitServe and BentoML get it as Base64 in JSON. The network scales the
pixels itself. FastAPI collects the requests that wait and predicts them as one batch in a thread. The answer contains
the five most probable classes. ``python peer_serving.py answer MODEL.onnx FILE`` writes the class of an image.
"""

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import openvino
from openvino.preprocess import PrePostProcessor

EDGE, MOST, LONGEST_WAIT_S = 224, 64, 0.002
MODEL = "ZOO_PEER_MODEL"


def network(file):
    """Return the function from pixels (uint8, NHWC) to probabilities."""
    core = openvino.Core()
    steps = PrePostProcessor(core.read_model(file))
    steps.input().tensor().set_element_type(openvino.Type.u8)
    steps.input().preprocess().convert_element_type(openvino.Type.f32).mean(127.5).scale(127.5)
    hints = {"INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY"}
    compiled = core.compile_model(steps.build(), "CPU", hints)
    for size in (1, 8):
        compiled(np.zeros((size, EDGE, EDGE, 3), np.uint8))
    return lambda pixels: compiled(pixels)[0].copy()


def image(content):
    """Return the pixels of a request."""
    return np.frombuffer(content, np.uint8).reshape(EDGE, EDGE, 3)


def best(row):
    """Return the five most probable classes."""
    order = np.argpartition(row, -5)[-5:]
    order = order[row[order].argsort()[::-1]]
    return {"top": [{"class": f"class {each}", "probability": float(row[each])} for each in order]}


def fastapi(file, port):
    """Serve by FastAPI."""
    import uvicorn
    from fastapi import FastAPI, Request, Response

    predict, waiting = network(file), asyncio.Queue()

    async def batches():
        while True:
            jobs = [await waiting.get()]
            while not waiting.empty() and len(jobs) < MOST:
                jobs.append(waiting.get_nowait())
            rows = await asyncio.to_thread(lambda: predict(np.stack([pixels for pixels, _ in jobs])))  # noqa: B023
            for (_, answer), row in zip(jobs, rows, strict=True):
                answer.set_result(row)

    @contextlib.asynccontextmanager
    async def lifespan(_) -> AsyncIterator[None]:
        task = asyncio.create_task(batches())
        yield
        task.cancel()

    app = FastAPI(lifespan=lifespan)

    @app.get("/health")
    async def health():
        return {}

    @app.post("/predict")
    async def answer(request: Request):
        future = asyncio.get_running_loop().create_future()
        waiting.put_nowait((image(await request.body()), future))
        return Response(json.dumps(best(await future)), media_type="application/json")

    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning", access_log=False)


def litserve(file, port):
    """Serve by LitServe, which sends its class to another process by name."""
    import litserve as library

    os.environ[MODEL] = file
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    import peer_litserve

    api = peer_litserve.Api(max_batch_size=MOST, batch_timeout=LONGEST_WAIT_S)
    server = library.LitServer(api, accelerator="cpu")
    server.run(port=port, host="127.0.0.1", log_level="warning", generate_client_file=False)


def bentoml(file, port):
    """Replace this process by BentoML."""
    os.environ[MODEL] = file
    folder, program = str(Path(__file__).resolve().parent), str(Path(sys.executable).with_name("bentoml"))
    words = ["serve", "peer_bentoml:Classifier", "--working-dir", folder, "--host", "127.0.0.1", "--port", str(port)]
    os.environ["BENTOML_DO_NOT_TRACK"] = "True"
    os.execv(program, [program, *words])  # noqa: S606


if __name__ == "__main__":
    if sys.argv[1] == "answer":
        pixels = image(Path(sys.argv[3]).read_bytes())
        print(json.dumps({"class": int(network(sys.argv[2])(pixels[None])[0].argmax())}))
    else:
        {"fastapi": fastapi, "litserve": litserve, "bentoml": bentoml}[sys.argv[1]](sys.argv[2], int(sys.argv[3]))
