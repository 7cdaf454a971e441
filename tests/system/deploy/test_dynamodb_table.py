"""`deploy/dynamodb` creates the table that the gateway expects, and a least-privilege policy."""

from typing import Any

import pytest
import yaml

from backends.dynamodb.failures import Action
from backends.dynamodb.items import ATTRIBUTES, KEY_SCHEMA, TTL_ATTRIBUTE
from tests.support.repository import ROOT

TEMPLATE = ROOT / "deploy" / "dynamodb" / "table.yaml"
LOOKS_AFTER_THE_TABLE = {"DescribeTable", "DescribeTimeToLive"}


class _CloudFormation(yaml.SafeLoader):
    """Reads `!Ref` and `!GetAtt` as the text that follows."""


_CloudFormation.add_multi_constructor("!", lambda loader, _, node: loader.construct_scalar(node))


@pytest.fixture(scope="module")
def resources() -> dict[str, Any]:
    template = yaml.load(TEMPLATE.read_text(), _CloudFormation)
    return {name: resource["Properties"] for name, resource in template["Resources"].items()}


def test_the_table_has_the_keys_and_the_time_to_live_that_the_gateway_expects(resources):
    table = resources["Table"]
    assert table["KeySchema"] == KEY_SCHEMA
    assert table["AttributeDefinitions"] == ATTRIBUTES
    assert table["TimeToLiveSpecification"] == {"AttributeName": TTL_ATTRIBUTE, "Enabled": True}
    assert table["BillingMode"] == "PAY_PER_REQUEST"


def test_the_policy_allows_only_the_used_actions_and_only_on_this_table(resources):
    (statement,) = resources["Policy"]["PolicyDocument"]["Statement"]
    used = {action.value for action in Action} | LOOKS_AFTER_THE_TABLE
    used.remove("TransactWriteItems")  # allowed through the actions of its single writes
    assert set(statement["Action"]) == {f"dynamodb:{name}" for name in used}
    assert (statement["Effect"], statement["Resource"]) == ("Allow", "Table.Arn")
