"""`kvs-gateway dev`: a whole gateway in memory, with the example configuration and secrets of its own."""

from collections.abc import Mapping
from pathlib import Path
from secrets import token_hex

import msgspec

import gateway.config
from gateway.cli.formats import shell_lines
from gateway.composition.control import runtime_of
from gateway.config.loading import ConfigurationFile
from gateway.config.settings import ListenSettings, Settings
from gateway.controlplane.console import PATH as CONSOLE_PATH
from gateway.directory.tokens import new_token

EXAMPLE = Path(gateway.config.__file__).with_name("example.yaml")
"""A link to `config.example.yaml` in the repository, a regular file in the package."""

_HEAD = """# A gateway for development. Ctrl-C stops it and discards its data, which is in memory.
# Console: {console}
# Paste into the shell where you run your app or kvs-gateway commands:
"""
_SIGNED = (
    ' --aws-sigv4 aws:amz:$SERVICE_KVS_REGION:execute-api --user "$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY"'
)
_EXAMPLE_CALL = """# curl{signed} \\
#   -H "Content-Type: application/json" -H "X-KVS-Authorization: Bearer ${token}" \\
#   -d '{{"key": "greeting", "value": "hello"}}' $SERVICE_KVS_URL/v1/put"""


class DevelopmentFile(ConfigurationFile):
    """The example configuration with secrets of this start, which are printed.

    Variables of the environment are ignored. The example's secrets are published, so a page that reaches
    loopback through a browser would know them.
    """

    def __init__(self, *, port: int | None, is_signed: bool) -> None:
        super().__init__(EXAMPLE, _drawn_secrets())
        self._port = port
        self._is_signed = is_signed

    def load(self) -> Settings:
        """Returns the settings; with `port`, the other listeners pick free ports."""
        settings = super().load()
        if self._port is not None:
            listen, public_url = _moved(settings.listen, self._port)
            settings = msgspec.structs.replace(settings, listen=listen, public_url=public_url)
        if not self._is_signed:
            signature = msgspec.structs.replace(settings.signature, mode="off")
            settings = msgspec.structs.replace(settings, signature=signature)
        return settings


def _drawn_secrets() -> dict[str, str]:
    """Draws each secret of the example, by its variable."""
    names = ("KVS_CONTROL_TOKEN", "KVS_DEV_SECRET", "KVS_SESSION_KEY")
    return {**{name: f"dev-{token_hex(24)}" for name in names}, "KVS_DEV_TOKEN": new_token()}


def _moved(listen: ListenSettings, port: int) -> tuple[ListenSettings, str]:
    data = msgspec.structs.replace(listen.data, port=port)
    ops, control = (msgspec.structs.replace(each, port=0) for each in (listen.ops, listen.control))
    moved = msgspec.structs.replace(listen, data=data, ops=ops, control=control)
    return moved, f"http://{data.host}:{port}"


def shell_script(settings: Settings, urls: Mapping[str, str]) -> str:
    """Returns lines for a shell: the variables of an app, of its caller and of the command line."""
    runtime, (table, *_) = runtime_of(settings), settings.apps[0].tables
    variables = runtime.variables(table.name, table.token or "")
    lines = []
    if settings.signature.mode == "required":
        caller = settings.signature.credentials.static[0]
        variables |= {
            "AWS_ACCESS_KEY_ID": caller.access_key_id,
            "AWS_SECRET_ACCESS_KEY": caller.secret_access_key,
        }
        lines.append("unset AWS_PROFILE AWS_SESSION_TOKEN")
    bearer = settings.control.bearers[0]
    variables |= {"KVS_CONTROL_URL": urls["control"], "KVS_CONTROL_TOKEN": bearer.token}
    signed = _SIGNED if settings.signature.mode == "required" else ""
    example_call = _EXAMPLE_CALL.format(signed=signed, token=runtime.token_variable(table.name))
    return "\n".join(
        [
            _HEAD.format(console=urls["control"] + CONSOLE_PATH)
            + "\n".join([*lines, shell_lines(variables)]),
            example_call,
        ]
    )
