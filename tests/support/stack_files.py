"""The text of ``stack.yaml`` for stacks that tests make up."""


def text(
    platforms: str,
    about: str = "a stack",
    python: str = "3.12",
    trains: str = "true",
    size_mb: int = 10,
    env: str = "{}",
    evidence: str = " []",
) -> str:
    """Return a row; ``platforms`` and a filled ``evidence`` are lines, indented."""
    return f"""
about: "{about}"
framework: tensorflow
keras: keras
python: "{python}"
exclude_newer: "2026-01-31"
trains: {trains}
size_mb: {size_mb}
env: {env}
platforms:
{platforms}
evidence:{evidence}
"""
