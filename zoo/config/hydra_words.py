"""Translate settings of Hydra's launchers and sweepers to the zoo's.

Names are those of hydra-joblib-launcher, hydra-submitit-launcher and hydra-ray-launcher (facebookresearch/hydra,
folder plugins).
"""

from zoo.core.errors import ZooError

LAUNCHERS = {
    "basic": "local",
    "joblib": "local",
    "submitit_local": "local",
    "submitit_slurm": "slurm",
    "ray": "ray",
}
SETTINGS = {
    "partition": "launcher.partition",
    "timeout_min": "launcher.minutes",
    "cpus_per_task": "launcher.cpus",
    "gpus_per_node": "launcher.gpus",
    "mem_gb": "launcher.memory_gb",
    "array_parallelism": "launcher.jobs",
    "n_jobs": "launcher.jobs",
    "max_num_timeout": "launcher.retries",
    "ray.init.address": "launcher.address",
    "ray.remote.num_cpus": "launcher.cpus",
    "ray.remote.num_gpus": "launcher.gpus",
}
PLACES = {"hydra.sweep.dir": "output.root", "hydra.sweep.subdir": "output.name", "hydra.run.dir": "output.root"}
HELP = "`python -m zoo help launcher` lists the settings of launchers."


def translated(overrides: list[str]) -> list[str]:
    return [_translated(text) for text in overrides]


def _translated(text: str) -> str:
    key, _, value = text.partition("=")
    key = key.lstrip("+")
    if not key.startswith(("hydra/", "hydra.")):
        return text
    if key == "hydra/launcher":
        return f"launcher={_launcher(value)}"
    if key == "hydra/sweeper":
        if value == "basic":
            return "launcher=local"
        raise ZooError(f"The zoo has no {text}", "Searches have a verb of their own: python -m zoo tune --help")
    if key in PLACES:
        return f"{PLACES[key]}={value}"
    name = key.removeprefix("hydra.launcher.")
    if name != key and name in SETTINGS:
        return f"{SETTINGS[name]}={value}"
    raise ZooError(f"The zoo has no setting {key}: it uses Hydra to compose settings only", HELP)


def _launcher(name: str) -> str:
    if name in LAUNCHERS:
        return LAUNCHERS[name]
    known = ", ".join(f"{theirs} ({ours})" for theirs, ours in LAUNCHERS.items())
    raise ZooError(f"The zoo has no hydra/launcher={name}", f"It has {known}, and launcher=ssh. {HELP}")
