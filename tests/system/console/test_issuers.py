"""OIDC sign-in: authorization code with PKCE."""

import pytest
import pytest_asyncio

from tests.identity.issuer import trusted_from
from tests.support.clock import FakeClock
from tests.support.gateway import run_gateway
from tests.system.console.issuer import running_issuer
from tests.system.console.visit import visiting

PLACE = "#/orgs/acme/apps/shop/production"


@pytest_asyncio.fixture(loop_scope="package")
async def met(browser, tmp_path):
    """A visitor of a gateway that trusts an issuer, and the issuer."""
    clock = FakeClock()
    async with running_issuer(clock) as issuer:
        rules = [{"claim": "groups", "value": "platform", "allow": ["read"]}]
        trusted = {**trusted_from(tmp_path), "issuer": issuer.url, "rules": rules}
        changes = {"control": {"oidc": [trusted]}}
        async with run_gateway(changes, clock=clock) as gateway, visiting(browser, gateway) as visit:
            yield visit, issuer


async def leave(visit, issuer) -> None:
    await visit.press(f"Sign in with {issuer.url.removeprefix('http://')}")


async def test_sign_in_at_the_issuer_returns_to_the_requested_page(met):
    visit, issuer = met
    await visit.open(PLACE)
    await leave(visit, issuer)
    await visit.heading("Databases").wait_for()
    assert issuer.verified == 1
    assert visit.page.url == f"{visit.gateway.control}/console/{PLACE}"
    assert await visit.page.locator(".who").inner_text() == "ada"
    assert visit.faults == []


async def test_a_refusal_of_the_issuer_is_shown_and_removed_from_the_address(met):
    visit, issuer = met
    issuer.refuses = True
    await visit.open(PLACE)
    await leave(visit, issuer)
    await visit.alert("not today").wait_for()
    assert "error" not in visit.page.url


async def test_an_unsolicited_redirect_is_refused(met):
    visit, issuer = met
    await visit.page.goto(f"{visit.gateway.control}/console/?code=stolen&state=guessed")
    await visit.alert("does not belong to a sign-in started in this tab").wait_for()
    assert "code" not in visit.page.url
    assert issuer.verified == 0


async def test_a_subject_that_contains_markup_is_shown_as_text(met):
    visit, issuer = met
    issuer.subject = "<img src=x onerror=document.title='owned'>"
    await visit.open(PLACE)
    await leave(visit, issuer)
    await visit.heading("Databases").wait_for()
    assert await visit.page.locator(".who").inner_text() == issuer.subject
    assert await visit.page.locator("img").count() == 0
    assert "owned" not in await visit.page.title()


@pytest.mark.parametrize("endpoint", ["authorization_endpoint", "token_endpoint"])
@pytest.mark.parametrize(
    "address", ["http://127.0.0.1:1/x", "javascript:document.title='owned'", "//evil.example.com", "x"]
)
async def test_an_endpoint_on_another_origin_is_not_used(met, endpoint, address):
    visit, issuer = met
    issuer.configured[endpoint] = address
    await visit.open(PLACE)
    await leave(visit, issuer)
    await visit.alert("names an endpoint on another origin").wait_for()
    assert visit.page.url == f"{visit.gateway.control}/console/{PLACE}"
    assert "owned" not in await visit.page.title()
    assert await visit.page.evaluate("sessionStorage.length") == 0


async def test_a_redirect_from_another_issuer_is_refused(met):
    visit, issuer = met
    issuer.added["iss"] = "https://other.example.com"
    await visit.open(PLACE)
    await leave(visit, issuer)
    await visit.alert("came from another issuer").wait_for()
    assert issuer.verified == 0


@pytest.mark.parametrize(
    ("answered", "said"),
    [
        ("secret-of-the-issuer", "is not JSON"),
        ("null", "is not JSON"),
        ('{"id_token": 1}', "returned no token"),
        ('{"id_token": "secret-of-the-issuer"}', "is not a JSON Web Token"),
        ('{"id_token": "e30.e30.e30"}', "belongs to another sign-in"),
    ],
)
async def test_an_invalid_token_response_is_refused_and_not_quoted(met, answered, said):
    visit, issuer = met
    issuer.answered = answered
    await visit.open(PLACE)
    await leave(visit, issuer)
    await visit.alert(said).wait_for()
    assert "secret-of-the-issuer" not in await visit.page.content()
    assert await visit.page.evaluate("sessionStorage.length") == 0
    assert visit.faults == []


async def test_the_redirect_address_does_not_depend_on_the_page_address(met):
    visit, issuer = met
    await visit.page.goto(f"{visit.gateway.control}/console/index.html?x=1{PLACE}")
    await leave(visit, issuer)
    await visit.heading("Databases").wait_for()
    assert visit.page.url == f"{visit.gateway.control}/console/{PLACE}"
