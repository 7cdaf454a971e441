"""Where DynamoDB is, by botocore's own table of endpoints."""

import botocore.session
import pytest

from backends.dynamodb.backend import endpoint_of

REGIONS = [
    region
    for partition in ("aws", "aws-cn", "aws-us-gov")
    for region in botocore.session.Session().get_available_regions("dynamodb", partition)
]


@pytest.mark.parametrize("region", REGIONS)
def test_the_endpoint_of_a_region_is_the_one_that_botocore_knows(region):
    resolver = botocore.session.Session().get_component("endpoint_resolver")
    assert endpoint_of(region) == f"https://{resolver.construct_endpoint('dynamodb', region)['hostname']}"
