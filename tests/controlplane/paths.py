"""Paths of the control plane that the tests share, for an app that is not declared."""

APPS = "/v1/orgs/acme/apps"
BLOG = f"{APPS}/blog"
TABLES = f"{BLOG}/services/kvs/tables"
DECLARED = f"{APPS}/shop"
DECLARED_TABLES = f"{DECLARED}/services/kvs/tables"
CREDENTIALS = "/v1/credentials"
