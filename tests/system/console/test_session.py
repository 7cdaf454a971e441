"""Sign-in, sessions and sign-out."""

from tests.support.config import CONTROL_TOKEN
from tests.system.console.conftest import READER
from tests.system.console.visit import new_tab, visiting


async def test_a_wrong_token_is_reported_and_stays_in_the_field(visit):
    await visit.open()
    await visit.sign_in("no-such-control-token")
    await visit.alert("The gateway does not accept this token.").wait_for()
    assert await visit.page.get_by_label("Control token").input_value() == "no-such-control-token"


async def test_sign_in_leads_to_the_requested_page(visit):
    await visit.enter("#/orgs/acme/apps/shop/production/tables/carts")
    await visit.heading("carts").wait_for()
    assert await visit.page.title() == "Table carts · KVS Console"


async def test_the_token_is_kept_in_this_tabs_session_storage_only(visit):
    await visit.enter("#/orgs/acme")
    await visit.heading("acme").wait_for()
    assert CONTROL_TOKEN not in visit.page.url
    assert CONTROL_TOKEN not in await visit.page.content()
    assert await visit.page.evaluate("[localStorage.length, document.cookie, sessionStorage.length]") == [
        0,
        "",
        1,
    ]
    other = await new_tab(visit.page.context, visit.gateway)
    await other.open("#/orgs/acme")
    await other.heading("Sign in").wait_for()


async def test_signing_out_deletes_the_token(visit):
    await visit.enter("#/")
    await visit.press("Sign out")
    await visit.heading("Sign in").wait_for()
    assert await visit.page.evaluate("sessionStorage.length") == 0


async def test_an_expired_session_is_renewed_in_a_dialog_and_keeps_the_input(visit):
    await visit.gateway.manage("PUT", "/v1/orgs/acme/apps/blog", {"type": "api"})
    await visit.enter("#/orgs/acme/apps/blog/production")
    await visit.press("Create table")
    await visit.page.get_by_label("Name").fill("notes")
    await visit.page.evaluate("sessionStorage.setItem('kvs.token', 'a-token-that-has-ended')")
    await visit.press("Create")
    await visit.heading("Your session has ended").wait_for()
    await visit.sign_in()
    await visit.heading("Token of notes").wait_for()


async def test_a_reader_is_offered_no_changes(visit):
    await visit.enter("#/orgs/acme/apps/shop/production", token=READER)
    await visit.heading("Databases").wait_for()
    names = [await button.inner_text() for button in await visit.page.get_by_role("button").all()]
    assert names == ["Sign out"]


async def test_a_page_without_permission_is_refused_with_an_explanation(visit):
    await visit.enter("#/orgs/acme/apps/blog/production", token=READER)
    await visit.alert("You don't have permission to do this.").wait_for()


async def test_without_javascript_the_page_says_so(browser, gateway):
    async with visiting(browser, gateway, java_script_enabled=False) as visit:
        await visit.open()
        await visit.page.locator("noscript h1").wait_for()


async def test_a_reloaded_page_stays_signed_in(visit):
    await visit.enter("#/orgs/acme")
    await visit.page.reload()
    await visit.heading("acme").wait_for()


async def test_a_session_that_expired_before_loading_leads_to_sign_in_and_back(visit):
    await visit.enter("#/orgs/acme")
    await visit.page.evaluate("sessionStorage.setItem('kvs.token', 'a-token-that-has-ended')")
    await visit.page.reload()
    await visit.heading("Sign in").wait_for()
    await visit.sign_in()
    await visit.heading("acme").wait_for()


async def test_entering_the_expired_token_again_is_refused_in_the_dialog(visit):
    await visit.enter("#/orgs/acme")
    await visit.heading("acme").wait_for()
    await visit.page.evaluate("sessionStorage.setItem('kvs.token', 'a-token-that-has-ended')")
    await visit.page.get_by_role("link", name="shop").first.click()
    await visit.heading("Your session has ended").wait_for()
    await visit.sign_in("a-token-that-has-ended")
    await visit.alert("The gateway does not accept this token.").wait_for()
    await visit.sign_in()
    await visit.heading("Databases").wait_for()


async def test_a_token_with_forbidden_characters_is_reported_as_wrong(visit):
    await visit.open()
    await visit.sign_in("test-control\u200b-token")
    await visit.alert("It contains characters that are not allowed in a token.").wait_for()


async def test_a_name_of_dots_leads_to_no_other_resource(visit):
    await visit.enter("#/")
    await visit.heading("Organizations").wait_for()
    for name in ("..", "%2e%2e", "."):
        await visit.open(f"#/orgs/acme/apps/{name}/production")
        await visit.heading("Page not found").wait_for()
