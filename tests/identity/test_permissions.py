"""Permission grants: permissions, shell-style patterns, and several grants in one identity."""

import pytest

from gateway.identity.permissions import Identity, Patterns, grant_of


def identity(*grants):
    return Identity("x", tuple(grant_of(*each) for each in grants))


@pytest.mark.parametrize(
    ("patterns", "name", "matches"),
    [
        ([], "anything", True),
        ([], "", True),
        (["acme"], "acme", True),
        (["acme"], "acme-2", False),
        (["acme"], "ACME", False),
        (["acme*"], "acme-2", True),
        (["*"], "", True),
        (["acme*"], "", False),
        (["a?me"], "acme", True),
        (["[a-c]x"], "bx", True),
        (["[!a-c]x"], "bx", False),
        (["a.me"], "acme", False),
        (["one", "two"], "two", True),
        (["acme"], "acme\n", False),
    ],
)
def test_patterns_are_those_of_a_shell(patterns, name, matches):
    assert Patterns(patterns).match(name) is matches


def test_a_grant_covers_its_permissions_within_its_scope():
    caller = identity((["read", "tables"], ["acme"], ["shop-*"]))
    assert caller.may("read", "acme", "shop-1")
    assert not caller.may("apps", "acme", "shop-1")
    assert not caller.may("read", "other", "shop-1")
    assert not caller.may("read", "acme", "blog")


def test_grants_side_by_side_are_not_mixed():
    caller = identity((["read"], ["acme"], []), (["tables"], ["other"], []))
    assert not caller.may("tables", "acme", "a")
    assert not caller.may("read", "other", "a")
    assert (caller.allow, caller.orgs, caller.apps) == (["read", "tables"], ["acme", "other"], [])


def test_an_organization_is_visible_if_one_of_its_apps_is():
    caller = identity((["read"], ["acme"], ["shop"]))
    assert caller.may("read")
    assert caller.may("read", "acme")
    assert not caller.may("read", "other")


def test_a_resource_of_no_app_needs_an_unbounded_scope():
    assert identity(("all", [], [])).may("credentials", "", "")
    assert identity(("all", ["*"], ["*"])).may("credentials", "", "")
    assert not identity(("all", ["acme"], [])).may("credentials", "", "")
    assert not identity(("all", [], ["shop"])).may("credentials", "", "")


def test_an_identity_without_grants_has_no_permission():
    caller = identity()
    assert not caller.may("read")
    assert (caller.allow, caller.orgs, caller.apps) == ([], [], [])
