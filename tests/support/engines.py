"""Real engines on this machine, started for a test and stopped after it: Slurm, a Ray cluster of two nodes, sshd."""

import contextlib
import getpass
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import CHECKOUT
from tests.support.once import once
from zoo.core import paths

RAY = "ray==2.60.0"
SLURM_CONF = """\
ClusterName=zoo
SlurmctldHost={host}
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
ReturnToService=2
MpiDefault=none
KillWait=30
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
NodeName={host} CPUs=2 RealMemory=1000
PartitionName=main Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""
SSHD_CONF = """\
Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/hostkey
AuthorizedKeysFile {folder}/key.pub
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin yes
"""
SSH_CONF = """\
Host mac1 mac2
  HostName 127.0.0.1
  Port {port}
  User {user}
  IdentityFile {folder}/key
  UserKnownHostsFile {folder}/known
  StrictHostKeyChecking no
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def need(*programs: str) -> list[str]:
    """Return the paths of programs; skip where one is missing."""
    places = os.environ.get("PATH", "") + os.pathsep + "/usr/sbin"
    seen = {name: shutil.which(name, path=places) for name in programs}
    missing = [name for name, path in seen.items() if path is None]
    if missing:
        pytest.skip(f"not installed here: {', '.join(missing)}")
    return [str(path) for path in seen.values()]


def answers(command: list[str], variables: dict[str, str], seconds: float) -> bool:
    """Wait until a command succeeds and has something to say."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
        if done.returncode == 0 and done.stdout.strip():
            return True
        time.sleep(0.2)
    return False


@contextlib.contextmanager
def slurm(folder: Path) -> Iterator[dict[str, str]]:
    """Run Slurm with one node of two cores; yield the environment in which its programs find it."""
    munged, slurmctld, slurmd, *_ = need("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "srun")
    if os.geteuid() != 0:
        pytest.skip("slurmd must be started by root")
    host = socket.gethostname().partition(".")[0]
    for name in ("munge", "state", "spool"):
        (folder / name).mkdir(mode=0o700)
    (folder / "munge" / "key").write_bytes(os.urandom(1024))
    (folder / "munge" / "key").chmod(0o400)
    conf = folder / "slurm.conf"
    conf.write_text(SLURM_CONF.format(host=host, folder=folder, ports=[free_port(), free_port()]))
    variables = os.environ | {"SLURM_CONF": str(conf)}
    munge = [
        f"--{name}={folder}/munge/{file}"
        for name, file in (
            ("key-file", "key"),
            ("socket", "socket"),
            ("pid-file", "pid"),
            ("log-file", "log"),
            ("seed-file", "seed"),
        )
    ]
    daemons = []
    try:
        for command in ([munged, "--force", "--foreground", *munge], [slurmctld, "-D"], [slurmd, "-D"]):
            with (folder / f"{Path(command[0]).name}.out").open("wb") as out:
                daemons.append(subprocess.Popen(command, env=variables, stdout=out, stderr=out))
            if len(daemons) == 1:
                time.sleep(0.5)
        if not answers(["sinfo", "--noheader", "--states=idle"], variables, 60.0):
            pytest.skip(f"Slurm does not come up here: {(folder / 'slurmctld.log').read_text()[-500:]}")
        yield variables
    finally:
        subprocess.run(["scancel", f"--user={getpass.getuser()}"], env=variables, capture_output=True, check=False)
        for daemon in reversed(daemons):
            daemon.terminate()
            try:
                daemon.wait(20)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()


@contextlib.contextmanager
def sshd(folder: Path) -> Iterator[Path]:
    """Run a server of ssh on loopback; yield the configuration by which `mac1` and `mac2` lead to it."""
    server, keygen, _ = need("sshd", "ssh-keygen", "ssh")
    for name in ("key", "hostkey"):
        subprocess.run([keygen, "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True)
    port = free_port()
    (folder / "sshd_config").write_text(SSHD_CONF.format(port=port, folder=folder))
    (folder / "config").write_text(SSH_CONF.format(port=port, folder=folder, user=getpass.getuser()))
    with contextlib.suppress(OSError):
        Path("/run/sshd").mkdir(exist_ok=True)
    with (folder / "sshd.log").open("wb") as log:
        daemon = subprocess.Popen([server, "-D", "-e", "-f", str(folder / "sshd_config")], stdout=log, stderr=log)
    try:
        command = ["ssh", "-F", str(folder / "config"), "-o", "BatchMode=yes", "mac1", "echo up"]
        if not answers(command, dict(os.environ), 30.0):
            pytest.skip(f"sshd does not come up here: {(folder / 'sshd.log').read_text()[-500:]}")
        yield folder / "config"
    finally:
        daemon.terminate()
        daemon.wait()


def ray_python() -> Path:
    """Return an interpreter that has Ray and what the zoo needs; it is installed once into the cache."""
    cache = paths.cache_dir() / "tests"
    cache.mkdir(parents=True, exist_ok=True)

    def install(folder: Path) -> None:
        uv = [str(Path(sys.executable).with_name("uv")), "--no-config", "-q"]
        python = folder / "bin" / "python"
        subprocess.run([*uv, "venv", "--python", sys.executable, "--allow-existing", str(folder)], check=True)
        pinned = ["-r", str(CHECKOUT / "pyproject.toml"), RAY]
        command = [*uv, "pip", "install", "--compile-bytecode", "--python", str(python), *pinned]
        if subprocess.run(command, check=False).returncode:
            shutil.rmtree(folder)
            pytest.skip(f"{RAY} cannot be installed here")

    return once(cache / RAY.replace("==", "-"), install) / "bin" / "python"


@contextlib.contextmanager
def ray(folder: Path) -> Iterator[tuple[Path, str, dict[str, str]]]:
    """Run a Ray cluster of two nodes of one core; yield its Python, its address and the environment to use it in."""
    python = ray_python()
    variables = os.environ | {
        "RAY_AUTH_MODE": "disabled",
        "RAY_USAGE_STATS_ENABLED": "0",
        "PYTHONPATH": str(CHECKOUT),
    }
    port = free_port()
    address = f"{socket.gethostbyname(socket.gethostname())}:{port}"
    command = [str(python.with_name("ray")), "start", "--num-cpus=1", "--block"]
    nodes = []
    try:
        for words in (["--head", f"--port={port}", "--include-dashboard=false"], [f"--address={address}"]):
            with (folder / f"node-{len(nodes)}.out").open("wb") as out:
                node = subprocess.Popen(
                    [*command, *words], env=variables, stdout=out, stderr=out, start_new_session=True
                )
            nodes.append(node)
            text = f"import ray; ray.init('{address}', logging_level='ERROR'); "
            text += f"print('up' if len([n for n in ray.nodes() if n['Alive']]) == {len(nodes)} else '')"
            if not answers([str(python), "-c", text], variables, 90.0):
                pytest.skip("Ray does not come up here in time")
        yield python, address, variables
    finally:
        for node in reversed(nodes):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(node.pid, signal.SIGTERM)
            try:
                node.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(node.pid, signal.SIGKILL)
                node.wait()
