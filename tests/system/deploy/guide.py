"""The texts in deploy/README.md that people paste."""

import re

from tests.system.deploy.installations import DEPLOY

GUIDE = (DEPLOY / "README.md").read_text()
SCRIPTS = re.findall(r"```sh\n(.*?)```", GUIDE, re.DOTALL)
(KUSTOMIZATION,) = re.findall(r"```yaml\n(.*?)```", GUIDE, re.DOTALL)
FIRST_PUT = "".join(
    re.findall(
        r"```sh\n(.*?)```", re.search(r"<!-- first put -->(.*?)<!-- end", GUIDE, re.DOTALL)[1], re.DOTALL
    )
)
