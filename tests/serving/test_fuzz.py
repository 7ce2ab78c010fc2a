"""A thousand requests and more that a fuzzer makes of the server's own description (schemathesis)."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import serving

CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
EXAMPLES = 300


@pytest.mark.slow
def test_a_fuzzer_finds_no_answer_that_the_description_does_not_have(tmp_path: Path) -> None:
    with serving.serving(tmp_path, serving.make_runs(tmp_path / "runs")) as server:
        command = [str(Path(sys.executable).with_name("schemathesis")), "run", f"{server.address}/openapi.json"]
        command += ["--seed", "1", "--max-examples", str(EXAMPLES), "--mode", "all"]
        command += ["--phases", "fuzzing", "--checks", CHECKS]
        answer = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
        assert answer.returncode == 0, answer.stdout[-6000:]
        match = re.search(r"([\d,]+) generated", answer.stdout)
        assert match
        assert int(match[1].replace(",", "")) >= 1000, answer.stdout[-2000:]
        assert server.get("/readyz").status_code == 200
        assert "Traceback" not in "".join(server.printed)
