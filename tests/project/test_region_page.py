"""The page on a region is what its figures come to, and what it is computed with counts as AWS does."""

import base64

import pytest

from benchmarks.figures import (
    AtRest,
    Closed,
    Declared,
    DynamoCost,
    DynamoLoad,
    Reclaiming,
    RedisLoad,
    Scrape,
    Scrapes,
    Tenancy,
    Window,
)
from benchmarks.region import BEGIN, END, PAGE, page
from benchmarks.region_goals import growth, walk_ratio
from benchmarks.region_plan import FEWEST_REPLICAS, Cell, Measured, bounds
from benchmarks.relay import Tally, note
from benchmarks.results import FOLDER, Book, Found

MOMENT = {"measured": "today", "commit": "c", "used by others": "0 %", "load": "0.0"}
MEASURED = Measured(
    Tenancy(1000, Closed(1, 1, 1), [40.0, 50.0], [44.0, 60.0], 60_000_000, 50_000_000, 800_000, {}),
    RedisLoad([AtRest(1000, {"xrange": 1.0})], 100, 2.0, 1400.0),
    DynamoLoad(10, DynamoCost({}, 1.0, 0.0), DynamoCost({}, 0.0, 3.0), DynamoCost({}, 1.0, 1.0)),
    Scrapes(1000, 100, 700, Scrape(70_000, 1.0, 1.0), Scrape(7000, 1.0, 1.0), 4000.0),
    Declared(1000, 0.1, 0.05, 1),
)


def test_the_page_holds_what_is_computed_from_the_figures_that_are_kept():
    results = Book(FOLDER, "region", "", ()).read()
    assert results is not None
    written = PAGE.read_text().partition(BEGIN)[2].partition(END)[0]
    assert written.strip() == page(results).strip()


def test_a_small_region_has_replicas_to_spare_and_a_large_one_as_many_as_its_peak_needs():
    assert Cell(1, MEASURED).replicas == FEWEST_REPLICAS
    assert Cell(100_000, MEASURED).replicas == 3  # 30,000 a second of 52 microseconds, used to 60 %
    assert Cell(1_000_000, MEASURED).replicas == 26


def test_units_of_dynamodb_are_those_of_puts_gets_and_replicas_at_rest():
    cell = Cell(100_000, MEASURED)
    assert cell.units_written == pytest.approx(10_000 * (0.5 * 3 + 0.5 * 1))
    assert cell.units_read == pytest.approx(10_000 * 0.5 + 3)


def test_what_breaks_first_comes_first():
    found = {bound.what: bound.apps for bound in bounds(MEASURED)}
    assert list(found.values()) == sorted(found.values())
    assert found["series that `metering.max_series` shows"] == pytest.approx(100_000 / 7 * 10)


def test_ratios_are_those_of_neighbours():
    windows = [Window(beside, 1, 1.0, p99_ms, 0.0, 0.0) for beside, p99_ms in ((True, 3.0), (False, 2.0))]
    assert walk_ratio(Reclaiming(1, windows)) == pytest.approx(1.5)
    assert growth(MEASURED.tenancy) == pytest.approx(1.15)


@pytest.mark.parametrize(
    ("action", "request_", "answer", "read", "written"),
    [
        ("GetItem", {"ConsistentRead": True}, {}, 1, 0),
        ("GetItem", {}, {"Item": {"v": {"S": "x" * 5000}}}, 1, 0),
        ("Query", {"ConsistentRead": True}, {"Items": [{"v": {"S": "x" * 3000}}] * 3}, 3, 0),
        ("PutItem", {"Item": {"v": {"B": base64.b64encode(b"x" * 1024).decode()}}}, {}, 0, 2),
        ("UpdateItem", {"Key": {"pk": {"S": "w#a"}}}, {"Attributes": {"n": {"N": "7"}}}, 0, 1),
        ("TransactWriteItems", {"TransactItems": [{"Put": {"Item": {}}}, {"Delete": {"Key": {}}}]}, {}, 0, 4),
        ("DescribeTable", {}, {}, 0, 0),
    ],
)
def test_units_are_counted_as_aws_computes_them(action, request_, answer, read, written):
    tally = Tally()
    note(tally, action, request_, answer)
    assert (tally.read_units, tally.written_units) == (read, written)
    assert sum(tally.requests.values()) == 1


def test_a_section_that_is_measured_again_replaces_itself_alone(tmp_path):
    book = Book(tmp_path, "region", "method", ["a", "b"])
    book.keep("b", Found("old", 1), MOMENT)
    book.keep("a", Found("first", 2), MOMENT)
    book.keep("b", Found("new", 3), MOMENT)
    assert {title: kept.text for title, kept in book.read().sections.items()} == {"a": "first", "b": "new"}
    assert (tmp_path / "region.md").read_text().index("first") < (tmp_path / "region.md").read_text().index(
        "new"
    )
