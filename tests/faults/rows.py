"""What `make faults` proves: one row per promise, with the tests that prove it, wherever they live."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """`tests` are what pytest is given: files or tests; the parameters of a test may be left out."""

    promise: str
    tests: tuple[str, ...]

    def covers(self, test: str) -> bool:
        return any(
            test == each or test.startswith((f"{each}/", f"{each}::", f"{each}[")) for each in self.tests
        )


def _row(promise: str, *tests: str) -> Row:
    return Row(promise, tuple(f"tests/{test}" for test in tests))


ROWS = (
    _row(
        "2 and 4 replicas, 1,200 to 25,000 attempts: exactly the limit passes",
        "faults/test_limits.py",
        "redis/test_replicas.py::test_four_processes_that_race_on_one_environment_admit_exactly_its_limit",
    ),
    _row(
        "exactly the limit on DynamoDB, with clocks apart",
        "dynamodb/test_counters.py",
        "faults/test_limits.py::test_two_replicas_on_dynamodb_admit_exactly_the_limit",
    ),
    _row(
        "any sequence of operations shows what a dictionary would",
        "backends/test_visible_results.py",
        "redis/test_entries.py::test_a_sequence_of_operations_shows_what_a_dictionary_would",
        "dynamodb/test_entries.py::test_a_sequence_of_operations_shows_what_a_dictionary_would",
    ),
    _row(
        "histories of one key through two replicas are linearizable, with faults",
        "faults/test_linearizability.py",
        "faults/test_histories.py",
    ),
    _row("10,000 simulated regions, each from one seed", "faults/test_simulation.py"),
    _row(
        "Redis killed, stopped, restarted, absent at the start",
        "redis/test_gateway_faults.py::test_redis_killed_under_load",
        "redis/test_gateway_faults.py::test_redis_stopped_under_load_while_bindings_expire",
        "redis/test_gateway_faults.py::test_redis_restarted_while_nobody_calls_is_noticed_by_nobody",
        "redis/test_gateway_faults.py::"
        "test_a_gateway_that_starts_without_redis_lives_and_is_ready_soon_after_redis_arrives",
    ),
    _row(
        "connections to Redis cut, slow, narrow, silent, half-closed, noisy, moved",
        "faults/test_links.py",
        "redis/test_connection.py",
        "redis/test_gateway_faults.py::"
        "test_connections_that_redis_closes_under_load_cost_the_calls_in_flight_and_no_more",
    ),
    _row("failovers of Sentinel and Cluster", "redis/test_sentinel.py", "redis/test_cluster_faults.py"),
    _row(
        "DynamoDB slow for some calls, or for all",
        "faults/test_slow_stores.py",
        "dynamodb/test_deadlines.py",
    ),
    _row(
        "DynamoDB throttles, fails, damages or loses answers",
        "dynamodb/test_retries.py",
        "dynamodb/test_gateway_faults.py",
    ),
    _row(
        "counters down while data is up: refused, or let pass where that is set",
        "faults/test_limits.py::test_with_counters_away_calls_are_refused_or_let_pass_as_is_set",
        "limiter/test_rate_limit.py::test_a_dead_counter_is_quota_unavailable_and_not_a_verdict",
    ),
    _row("credentials of the store expire while their source is down", "dynamodb/test_fresh_credentials.py"),
    _row(
        "configuration broken, deleted and put right under load",
        "faults/test_reloads.py",
        "reload/test_watching.py",
    ),
    _row(
        "a revoked token ends everywhere in time; all bindings expire at once",
        "redis/test_replicas.py::test_two_replicas_are_one_directory",
        "directory/test_staleness.py",
        "directory/test_cache.py",
        "faults/test_expiry_of_bindings.py",
    ),
    _row(
        "slow, silent and endless clients; answers that nobody reads",
        "edge/test_capacity.py",
        "edge/test_deadlines.py",
        "hostile",
    ),
    _row(
        "bodies too large, malformed requests, bombs",
        "contract/test_bodies.py",
        "edge/test_large_bodies.py",
        "edge/test_malformed.py",
        "fuzz",
    ),
    _row("a flood of wrong signatures", "faults/test_signature_flood.py"),
    _row("the time that an answer takes tells nothing of a secret", "timing"),
    _row("replicas replaced under load, 20 times in a row", "lifecycle/test_rolling_restart.py"),
    _row(
        "ends while calls and stores are stuck; a second signal",
        "lifecycle/test_drain.py",
        "lifecycle/test_stuck_stores.py",
        "lifecycle/test_second_signal.py",
        "lifecycle/test_hostile_drain.py",
        "redis/test_gateway_faults.py::test_a_gateway_ends_in_order_while_its_redis_is_stopped",
    ),
    _row(
        "a replica killed under load",
        "redis/test_gateway_faults.py::test_a_killed_gateway_loses_nothing_that_it_acknowledged",
    ),
    _row("what Prometheus scraped is what was answered, over restarts", "billing"),
    _row(
        "a wrong configuration or a taken port ends at once and says why",
        "lifecycle/test_start.py",
        "cli/test_processes.py",
    ),
    _row("the wall clock jumps, and passes midnight, under load", "faults/test_clock_jumps.py"),
    _row("a million requests leave no memory, file or task behind", "faults/test_memory.py"),
    _row(
        "50,000 tenants, and scrapes of many series, hold nobody up",
        "faults/test_many_tenants.py",
        "metering/test_exposition.py",
        "metering/test_usage_rows.py",
    ),
    _row("two replicas for five minutes, a fault every ten seconds", "faults/test_soak.py"),
)
