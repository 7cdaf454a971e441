"""Endpoints of DynamoDB agree with botocore's table."""

import botocore.session
import pytest

from backends.dynamodb.backend import endpoint_of

SESSION = botocore.session.Session()
REGIONS = [
    region
    for partition in ("aws", "aws-cn", "aws-us-gov")
    for region in SESSION.get_available_regions("dynamodb", partition)
]


@pytest.mark.parametrize("region", REGIONS)
def test_the_endpoint_of_a_region_is_the_one_that_botocore_knows(region):
    client = SESSION.create_client(
        "dynamodb", region_name=region, aws_access_key_id="x", aws_secret_access_key="x"
    )
    assert endpoint_of(region) == client.meta.endpoint_url
