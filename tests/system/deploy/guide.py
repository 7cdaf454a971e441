"""Copyable blocks of deploy/README.md."""

import re

from tests.system.deploy.installations import DEPLOY

GUIDE = (DEPLOY / "README.md").read_text()
SCRIPTS = re.findall(r"```sh\n(.*?)```", GUIDE, re.DOTALL)
KUSTOMIZATION, WITH_LISTENERS = re.findall(r"```yaml\n(.*?)```", GUIDE, re.DOTALL)


def marked(name: str, text: str = GUIDE) -> str:
    """Returns the scripts between two marks."""
    part = re.search(rf"<!-- {name} -->(.*?)<!-- end of {name} -->", text, re.DOTALL)[1]
    return "".join(re.findall(r"```sh\n(.*?)```", part, re.DOTALL))


FIRST_PUT = marked("first put")
