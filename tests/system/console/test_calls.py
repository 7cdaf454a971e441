"""The sample code that the console shows next to a token is run exactly as shown."""

import asyncio
import os
import shutil

import pytest_asyncio
import yaml

from backends.clock import SystemClock
from tests.support.config import ROLE
from tests.support.gateway import run_gateway
from tests.support.stopwatch import PATIENCE_SECONDS
from tests.system.clients.languages import CLIENTS, LANGUAGES, PYTHON
from tests.system.console.visit import visiting

APP = "/v1/orgs/acme/apps/blog"
PLACE = "#/orgs/acme/apps/blog/production/tables/notes"
BY_NAME = {language.name: language for language in LANGUAGES}
KEYS = {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "test-secret-access-key"}
COMPILING_SECONDS = 20 * PATIENCE_SECONDS
GO = """package main

import (
	"context"
	"log"
	"time"

	"example.com/kvs"
)

func run(ctx context.Context) error {
%s
	return err
}

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}
"""


class Shown:
    """A token dialog: its texts, and the output of its commands."""

    def __init__(self, visit, gateway, folder) -> None:
        self.visit, self.gateway, self.folder = visit, gateway, folder

    async def text(self, title: str) -> str:
        code = self.visit.page.locator("dialog pre code")
        before = await code.inner_text()
        if not await self.visit.page.get_by_role("radio", name=title, exact=True).is_checked():
            await self.visit.page.locator(".segments label", has_text=title).click()
            await code.filter(has_not_text=before).wait_for()
        return await code.inner_text()

    async def run(self, command: str, credentials: dict[str, str] = KEYS) -> str:
        """Runs a command in a shell with the variables and credentials; returns its output."""
        variables = await self.text("Shell")
        program = await asyncio.create_subprocess_exec(
            *("sh", "-ec", f"{variables}\nexport SERVICE_KVS_URL={self.gateway.data}\n{command}"),
            cwd=self.folder,
            env={
                "PATH": os.environ["PATH"],
                "HOME": os.environ["HOME"],
                **credentials,
            },
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await asyncio.wait_for(program.communicate(), COMPILING_SECONDS)
        assert program.returncode == 0, (out, err)
        return out.decode()


@pytest_asyncio.fixture(loop_scope="package")
async def shown(browser, tmp_path):
    async with run_gateway(clock=SystemClock()) as gateway, visiting(browser, gateway) as visit:
        await gateway.manage("PUT", APP, {"type": "api"})
        await gateway.manage("POST", f"{APP}/services/kvs/tables", {"name": "notes"})
        await visit.enter(PLACE)
        await visit.press("Rotate token")
        await visit.press("Rotate")
        await visit.heading("Token of notes").wait_for()
        yield Shown(visit, gateway, tmp_path)


async def test_the_curl_sample_puts_a_value(shown):
    assert await shown.run(f"{await shown.text('curl')} --fail-with-body -sS") == '{"ok":true}'


async def test_the_curl_sample_puts_a_value_with_session_credentials(shown):
    given = (await shown.gateway.manage("POST", "/v1/credentials", {"role": ROLE})).json
    session = {
        "AWS_ACCESS_KEY_ID": given["AccessKeyId"],
        "AWS_SECRET_ACCESS_KEY": given["SecretAccessKey"],
        "AWS_SESSION_TOKEN": given["SessionToken"],
    }
    assert await shown.run(f"{await shown.text('curl')} --fail-with-body -sS", session) == '{"ok":true}'


async def test_the_secret_contains_the_variables(shown):
    secret = yaml.safe_load(await shown.text("Kubernetes Secret"))
    lines = (await shown.text("dotenv")).splitlines()
    assert secret["stringData"] == dict(line.split("=", 1) for line in lines)


async def test_the_python_sample_reads_the_value_that_it_put(shown):
    BY_NAME["python-sync"].demand()
    (shown.folder / "app.py").write_text(await shown.text("Python"))
    assert await shown.run(f"{PYTHON} app.py") == "{'text': 'hello'}\n"


async def test_the_javascript_sample_reads_the_value_that_it_put(shown):
    BY_NAME["javascript"].demand()
    (shown.folder / "app.mjs").write_text(await shown.text("JavaScript"))
    (shown.folder / "node_modules").mkdir()
    (shown.folder / "node_modules" / "kvs-client").symlink_to(CLIENTS / "javascript")
    assert await shown.run("node app.mjs") == "{ text: 'hello' }\n"


async def test_the_go_sample_puts_a_value(shown):
    BY_NAME["go"].demand()
    (shown.folder / "main.go").write_text(GO % await shown.text("Go"))
    shutil.copy(CLIENTS / "go" / "go.sum", shown.folder)
    module = (CLIENTS / "go" / "go.mod").read_text().replace("module example.com/kvs", "module app")
    required = "\nrequire example.com/kvs v0.0.0\n"
    (shown.folder / "go.mod").write_text(f"{module}{required}replace example.com/kvs => {CLIENTS / 'go'}\n")
    await shown.run("go run -mod=mod .")
