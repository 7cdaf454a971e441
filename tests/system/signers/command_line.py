"""curl signs since 7.75; where it is older or missing there is nothing to try."""

import shutil
import subprocess

from tests.system.signers.runtime import Answers, Runtime


def call_with_curl(runtime: Runtime) -> Answers:
    def post(url: str, headers: dict[str, str], body: bytes) -> tuple[int, bytes]:
        if runtime.session_token is not None:
            headers = {**headers, "X-Amz-Security-Token": runtime.session_token}
        done = subprocess.run(
            [
                *("curl", "--silent", "--show-error", "--noproxy", "*", "--max-time", "10"),
                *("--aws-sigv4", f"aws:amz:{runtime.region}:execute-api"),
                *("--user", f"{runtime.access_key_id}:{runtime.secret_access_key}"),
                *(part for name, value in headers.items() for part in ("--header", f"{name}: {value}")),
                *("--data-binary", "@-", "--write-out", "\n%{http_code}", url),
            ],
            input=body,
            capture_output=True,
            check=True,
        )
        content, _, status = done.stdout.rpartition(b"\n")
        return int(status), content

    return runtime.make_calls(post)


def _curl_signs() -> bool:
    if shutil.which("curl") is None:
        return False
    return (
        b"--aws-sigv4" in subprocess.run(["curl", "--help", "all"], capture_output=True, check=False).stdout
    )


SIGNERS = {"curl": call_with_curl} if _curl_signs() else {}
