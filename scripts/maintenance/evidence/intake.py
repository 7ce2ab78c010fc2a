"""Read an archive of evidence that may come from anybody: nothing in it is trusted, executed or written anywhere."""

import dataclasses
import hashlib
import json
import re
import stat
import zipfile
import zlib
from pathlib import Path
from typing import Any

from zoo.certification import results
from zoo.certification.archive import CERTIFICATION, LOCKS, PAGE, SUMS
from zoo.certification.results import Certification
from zoo.core.errors import ZooError, bulleted
from zoo.core.files import storage_error
from zoo.runs.records import Json

MOST_FILE_BYTES = 20_000_000
MOST_MEMBERS = 500
MOST_MEMBER_BYTES = 8_000_000
MOST_BYTES = 64_000_000
DEEPEST = 40
_FIXED = "|".join(map(re.escape, (CERTIFICATION, LOCKS, PAGE, SUMS)))
_NAME = re.compile(rf"{_FIXED}|runs/[\w.-]{{1,120}}\.json|logs/[\w.-]{{1,120}}\.txt", re.ASCII)
_SUM = re.compile(r"([0-9a-f]{64})  (\S+)")
_LINK_OR_FILE = 0o170000
REMEDY = "Ask for the file again, as `certify` wrote it."


@dataclasses.dataclass(frozen=True)
class Evidence:
    """What an archive holds.

    Attributes:
        name: of the file.
        sha256: of the file.
        state: the certification.
        runs: name of a run -> what was taken of its record.
        logs: name of a run that failed -> the end of its log.
        locks: stack -> sha256 of its lock.
    """

    name: str
    sha256: str
    state: Certification
    runs: dict[str, Json]
    logs: dict[str, str]
    locks: dict[str, str]


def read(path: Path) -> Evidence:
    """Read an archive and check its form and its checksums."""
    try:
        size = path.stat().st_size
        if size > MOST_FILE_BYTES:
            raise _refused(path, [f"it has {size:,} bytes, no archive of evidence has more than {MOST_FILE_BYTES:,}"])
        data = path.read_bytes()
    except OSError as error:
        raise storage_error("read", path, error) from error
    content = _content(path)
    _check_sums(path, content)
    return _evidence(path, data, content)


def _refused(path: Path, problems: list[str]) -> ZooError:
    return ZooError(f"{path} is refused:\n{bulleted(problems)}", REMEDY)


def _content(path: Path) -> dict[str, bytes]:
    """Return the members of an archive, once their names and sizes are known to be right."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            problems = _member_problems(members)
            if problems:
                raise _refused(path, problems)
            return {member.filename: _read_member(archive, member) for member in members}
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        ValueError,
        NotImplementedError,
        RuntimeError,
        OSError,
    ) as error:
        raise _refused(path, [f"it is no archive that can be read: {error}"]) from error


def _member_problems(members: list[zipfile.ZipInfo]) -> list[str]:
    if len(members) > MOST_MEMBERS:
        return [f"it has {len(members):,} members, at most {MOST_MEMBERS} are expected"]
    names = [member.filename for member in members]
    problems = [f"the member {name!r} does not belong into evidence" for name in names if not _NAME.fullmatch(name)]
    problems += [f"the member {name} is there twice" for name in sorted({n for n in names if names.count(n) > 1})]
    problems += [f"{name} is missing" for name in (CERTIFICATION, LOCKS, PAGE, SUMS) if name not in names]
    for member in members:
        kind = member.external_attr >> 16 & _LINK_OR_FILE
        if kind not in (0, stat.S_IFREG):
            problems.append(f"the member {member.filename!r} is no file but a link or the like")
        if member.flag_bits & 1:
            problems.append(f"the member {member.filename!r} is encrypted")
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            problems.append(f"the member {member.filename!r} is compressed in an unusual way")
        if member.file_size > MOST_MEMBER_BYTES:
            problems.append(f"the member {member.filename!r} unpacks to {member.file_size:,} bytes")
    whole = sum(member.file_size for member in members)
    return problems + ([f"it unpacks to {whole:,} bytes in all"] if whole > MOST_BYTES else [])


def _read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    """Read a member, and no more than its entry says."""
    with archive.open(member) as stream:
        data = stream.read(member.file_size + 1)
    if len(data) != member.file_size:
        raise ValueError(f"{member.filename} has another size than its entry says")
    return data


def _check_sums(path: Path, content: dict[str, bytes]) -> None:
    lines = _text(path, SUMS, content[SUMS]).splitlines()
    matches = [_SUM.fullmatch(line) for line in lines]
    if not all(matches):
        raise _refused(path, [f"{SUMS} has a line that is no checksum"])
    said = {match[2]: match[1] for match in matches if match}
    problems = [f"{SUMS} does not name {name}" for name in sorted(content.keys() - said.keys() - {SUMS})]
    problems += [f"{SUMS} names {name}, which is not there" for name in sorted(said.keys() - content.keys())]
    problems += [f"{name} was changed after it was written: its checksum is another"
                 for name, data in sorted(content.items())
                 if name in said and hashlib.sha256(data).hexdigest() != said[name]]  # fmt: skip
    if problems:
        raise _refused(path, problems)


def _evidence(path: Path, data: bytes, content: dict[str, bytes]) -> Evidence:
    state = results.of(_json(path, CERTIFICATION, content), f"{CERTIFICATION} in {path}")
    locks = _json(path, LOCKS, content)
    if not isinstance(locks, dict) or not all(isinstance(value, str) for value in locks.values()):
        raise _refused(path, [f"{LOCKS} must hold a checksum for each stack"])
    runs, logs = {}, {}
    for name in content:
        if name.startswith("runs/"):
            runs[name[len("runs/") : -len(".json")]] = _record(path, name, content)
        elif name.startswith("logs/"):
            logs[name[len("logs/") : -len(".txt")]] = _text(path, name, content[name])
    return Evidence(path.name, hashlib.sha256(data).hexdigest(), state, runs, logs, locks)


def _record(path: Path, name: str, content: dict[str, bytes]) -> Json:
    record = _json(path, name, content)
    if not isinstance(record, dict):
        raise _refused(path, [f"{name} is no record of a run"])
    return record


def _json(path: Path, name: str, content: dict[str, bytes]) -> Any:
    try:
        value = json.loads(_text(path, name, content[name]), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise _refused(path, [f"{name} is no JSON: {error}"]) from error
    if _depth(value) > DEEPEST:
        raise _refused(path, [f"{name} is nested too deep"])
    return value


def _no_constant(word: str) -> float:
    raise ValueError(f"{word} is no number")


def _depth(value: Any) -> int:
    """Return how deep lists and objects are nested; beyond :data:`DEEPEST` only that it is more."""
    depth, level = 0, [value]
    while level and depth <= DEEPEST:
        parts = [each for each in level if isinstance(each, dict | list)]
        level = [part for each in parts for part in (each.values() if isinstance(each, dict) else each)]
        depth += 1
    return depth


def _text(path: Path, name: str, data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _refused(path, [f"{name} is not UTF-8"]) from error
