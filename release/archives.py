"""Reproducible archives: the same files give the same bytes (fixed times, owners and order)."""

import gzip
import io
import tarfile
import zipfile
from datetime import UTC, datetime
from pathlib import Path


def normalize_tar(archive: Path, epoch: int) -> None:
    """Rewrites a .tar.gz reproducibly; setuptools and Helm store the build time in theirs."""
    with tarfile.open(archive) as read:
        files = sorted((each.name, each.mode, _content(read, each)) for each in read if each.isfile())
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, mode, content in files:
            member = tarfile.TarInfo(name)
            member.size, member.mtime = len(content), epoch
            member.mode = 0o755 if mode & 0o100 else 0o644
            tar.addfile(member, io.BytesIO(content))
    archive.write_bytes(gzip.compress(written.getvalue(), mtime=epoch))


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = archive.extractfile(member)
    return b"" if file is None else file.read()


def write_zip(archive: Path, files: dict[str, bytes], epoch: int) -> None:
    """Writes a zip of files by name."""
    moment = datetime.fromtimestamp(epoch, UTC).timetuple()[:6]
    with zipfile.ZipFile(archive, "w") as written:
        for name, content in sorted(files.items()):
            entry = zipfile.ZipInfo(name, moment)
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            written.writestr(entry, content)
