"""Promises that `make faults` proves: one row for each, with its tests, in any folder."""

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
    return Row(promise, tests)


ROWS = (
    _row(
        "2 and 4 replicas, 1,200 to 25,000 attempts: exactly as many as the limit are admitted",
        "lab/faults/test_limits.py",
        "lab/faults/test_replicas.py::test_four_processes_that_race_on_one_environment_admit_exactly_its_limit",
    ),
    _row(
        "the limit is exact on DynamoDB with skewed clocks",
        "tests/backends/dynamodb/test_counters.py",
        "tests/backends/dynamodb/test_store_time.py",
        "lab/faults/test_limits.py::test_two_replicas_on_dynamodb_admit_exactly_the_limit",
    ),
    _row(
        "any sequence of operations gives the results of a dictionary",
        "tests/backends/test_visible_results.py",
        "tests/backends/redis/test_entries.py::test_a_sequence_of_operations_behaves_like_a_dictionary",
        "tests/backends/dynamodb/test_tables.py::test_a_sequence_of_operations_behaves_like_a_dictionary",
    ),
    _row(
        "histories of one key through two replicas are linearizable, with faults",
        "lab/faults/test_linearizability.py",
        "lab/faults/test_histories.py",
    ),
    _row("10,000 simulated regions, one seed each", "lab/faults/test_simulation.py"),
    _row(
        "10,000 simulated directories, some of 100,000 apps: revoked tokens end 2 s after a partition",
        "lab/faults/test_directory_simulation.py",
    ),
    _row(
        "announcements lost, then the store away: a revoked token ends in the cache time, a valid one not",
        "lab/faults/test_feed_simulation.py",
        "tests/directory/test_feed.py::"
        "test_a_binding_bridges_an_outage_if_the_feed_confirmed_it_within_two_seconds_before",
    ),
    _row(
        "connections cut five times within 2 s: a revocation takes effect within 2 s",
        "lab/faults/test_feed_simulation.py",
        "tests/directory/test_cut_connections.py",
    ),
    _row(
        "a foreign item in DynamoDB's feed, however large, is named and hides no change",
        "tests/backends/dynamodb/test_feed.py",
        "tests/backends/dynamodb/test_faults.py::"
        "test_a_response_that_is_too_large_is_not_asked_for_again_and_opens_no_breaker",
    ),
    _row(
        "Redis killed, stopped, restarted, or absent at the start",
        "lab/store_faults/test_redis.py::test_redis_killed_under_load",
        "lab/store_faults/test_redis.py::test_redis_stopped_under_load_while_bindings_expire",
        "lab/store_faults/test_redis.py::test_redis_restarted_while_nobody_calls_is_noticed_by_nobody",
        "lab/store_faults/test_redis.py::"
        "test_a_gateway_that_starts_without_redis_lives_and_is_ready_soon_after_redis_arrives",
    ),
    _row(
        "a replica that was stopped at any point, or cut off from its store, undoes no acknowledged change",
        "tests/http/test_fence.py",
        "tests/system/pauses",
        "lab/faults/test_pause_simulation.py",
        "lab/store_faults/test_partition.py",
    ),
    _row(
        "an isolated master that was replaced is left within 2 s, although its connection still works",
        "tests/backends/redis/test_stale_masters.py",
        "lab/faults/test_master_simulation.py",
        "lab/failover/test_sentinel.py::"
        "test_a_master_that_is_cut_off_from_all_but_one_connection_is_left_once_it_is_replaced",
    ),
    _row(
        "arbitrary replies of a store hold the event loop for less than 50 ms",
        "tests/backends/redis/test_hostile_server.py",
        "tests/backends/dynamodb/test_faults.py::test_a_response_beyond_any_of_dynamodbs_is_not_taken_in",
    ),
    _row(
        "connections to Redis cut, slow, narrow, silent, half-closed, noisy, moved",
        "lab/store_faults/test_links.py",
        "tests/backends/redis/test_connection.py",
        "lab/store_faults/test_redis.py::"
        "test_connections_that_redis_closes_under_load_cost_the_calls_in_flight_and_no_more",
    ),
    _row(
        "failovers of Sentinel and Cluster",
        "lab/failover/test_sentinel.py",
        "lab/failover/test_cluster_faults.py",
    ),
    _row(
        "DynamoDB slow for some calls or all calls",
        "lab/store_faults/test_slow_dynamodb.py",
        "tests/backends/dynamodb/test_deadlines.py",
    ),
    _row(
        "DynamoDB throttles, fails, damages or loses responses",
        "tests/backends/dynamodb/test_retries.py",
        "lab/store_faults/test_dynamodb.py",
    ),
    _row(
        "counters down while data is up: refused, or admitted if so configured",
        "lab/faults/test_limits.py::test_with_counters_away_calls_are_refused_or_let_pass_as_is_set",
        "tests/dataplane/test_rate_limit.py::test_a_failing_counter_is_quota_unavailable_and_no_refusal_is_cached",
    ),
    _row(
        "credentials of the store expire while their source is down",
        "tests/backends/dynamodb/test_fresh_credentials.py",
    ),
    _row(
        "configuration broken, deleted and repaired under load",
        "lab/faults/test_reloads.py",
        "tests/replica/test_watching.py",
    ),
    _row(
        "a revoked token stops working on every replica in time; all bindings expire at one moment",
        "lab/faults/test_replicas.py::test_two_replicas_are_one_directory",
        "tests/directory/test_staleness.py",
        "tests/directory/test_cache.py",
        "lab/faults/test_expiry_of_bindings.py",
        "tests/directory/test_many_apps.py",
        "lab/faults/test_many_apps.py",
    ),
    _row(
        "1,000 hostile clients take all connections or body slots: good clients keep 99 %, p99 below 100 ms",
        "lab/hostile/test_scarce.py",
        "tests/http/test_admission.py",
    ),
    _row(
        "busy clients of other listeners delay a step of a call by at most one piece of work, a millisecond",
        "tests/http/test_turns.py",
        "tests/controlplane/test_steps.py",
        "lab/faults/test_busy_listeners.py",
    ),
    _row(
        "replies to directory changes are lost: the gateway answers with the true outcome, or unknown",
        "tests/directory/test_lost_replies.py",
        "tests/controlplane/test_lost_replies.py",
        "tests/controlplane/test_audit.py",
    ),
    _row(
        "a declaration disables the managed tokens of its app immediately; removing it restores them",
        "tests/replica/test_reload.py::test_while_an_app_is_declared_its_declaration_alone_counts",
        "tests/replica/test_reload.py::test_a_managed_app_is_back_after_its_declaration_is_removed",
        "tests/replica/test_reload.py::"
        "test_no_cached_binding_outlives_a_reload_that_declares_its_app_even_if_the_store_is_down",
    ),
    _row(
        "one corrupt record affects only its own app, is reported, and is deleted with the app",
        "tests/directory/test_corrupt.py",
        "tests/backends/redis/test_foreign_data.py",
        "tests/backends/dynamodb/test_records.py",
    ),
    _row(
        "entries written under cached bindings of deleted tables are reclaimed",
        "tests/directory/test_last_writes.py",
        "tests/directory/test_reclaiming.py",
        "tests/directory/test_lease.py",
    ),
    _row(
        "a master of a cluster is down: it delays only the deleted tables of its own apps",
        "tests/directory/test_lease.py",
        "lab/reclaiming/test_dead_shard.py",
    ),
    _row(
        "1,000 unknown tokens of a role cost 100 reads, its valid tokens work; the refused role is named",
        "tests/directory/test_unknown_tokens.py",
        "tests/controlplane/test_refusals.py",
        "tests/http/test_access_log.py",
    ),
    _row(
        "refusals of one table do not count against other tables",
        "tests/dataplane/test_rate_limit.py",
        "tests/contract/test_rate_limit.py::test_a_table_at_its_minute_limit_is_refused_while_another_goes_on",
    ),
    _row(
        "at most eight tokens of a table are valid, and changes do not grow its record",
        "tests/directory/test_rotation.py",
    ),
    _row(
        "dangerous settings are reported as mistakes with their paths",
        "tests/config/test_dangers.py",
        "tests/config/test_mistakes.py",
    ),
    _row(
        "one secret in two roles, in the file or by a reload, is a mistake at both places",
        "tests/config/test_secret_roles.py",
        "tests/replica/test_reload.py::test_a_reload_gives_no_secret_a_second_role",
    ),
    _row(
        "a page that rebinds its name to loopback is refused by every listener that a stranger could use",
        "tests/contract/test_hosts.py",
    ),
    _row(
        "a proxy secret rotates without a refused call; headers of an impostor are dropped and reported",
        "tests/replica/test_reload.py::test_a_secret_of_the_proxy_rotates_without_a_refused_call",
        "tests/credentials/test_trusted_proxy.py",
    ),
    _row(
        "sentinels with passwords, servers with client certificates; the reason names the refusing server",
        "tests/backends/redis/test_tls.py",
    ),
    _row(
        "store settings that endanger a promise are shown as warnings",
        "tests/opsplane/test_store_warnings.py",
    ),
    _row(
        "slow, silent and endless clients; unread responses",
        "tests/http/test_capacity.py",
        "tests/http/test_client_deadlines.py",
        "lab/hostile",
    ),
    _row(
        "bodies too large, malformed requests, bombs",
        "tests/contract/test_bodies.py",
        "tests/http/test_large_bodies.py",
        "tests/http/test_malformed.py",
        "tests/http/test_any_bytes.py",
        "tests/http/test_mutated.py",
        "tests/dataplane/test_any_body.py",
        "tests/fuzz",
    ),
    _row(
        "any bytes in any packets: a second, strict parser agrees on what was executed",
        "tests/http/test_each_byte.py",
        "tests/http/test_upgrades.py",
    ),
    _row("a flood of wrong signatures", "lab/faults/test_signature_flood.py"),
    _row(
        "refused neighbours behind one address, in any number: valid tokens get their credentials",
        "tests/credentialsplane/test_budgets.py",
    ),
    _row(
        "an issuer rotates, is slow or away while strangers invent key ids: no valid token is a final 401",
        "tests/identity/test_any_rotation.py",
        "tests/identity/test_issuers.py",
        "tests/credentialsplane/test_botocore.py",
    ),
    _row("response times reveal nothing about a secret", "lab/timing"),
    _row("replicas replaced under load, 20 times in a row", "tests/system/drain/test_rolling_restart.py"),
    _row(
        "shutdown while calls and stores are stuck; a second signal",
        "tests/replica/test_drain.py",
        "tests/replica/test_scrapers.py",
        "tests/system/drain/test_stuck_stores.py",
        "tests/replica/test_second_signal.py",
        "tests/system/drain/test_hostile_clients.py",
        "lab/store_faults/test_redis.py::test_a_gateway_ends_in_order_while_its_redis_is_stopped",
    ),
    _row(
        "a replica killed under load",
        "lab/store_faults/test_redis.py::test_a_killed_gateway_loses_nothing_that_it_acknowledged",
    ),
    _row(
        "scraped usage equals the answered requests, across restarts",
        "tests/billing",
        "tests/system/billing",
        "lab/billing",
    ),
    _row(
        "a wrong configuration or a taken port ends the process immediately with a reason",
        "tests/replica/test_start.py",
        "tests/cli/test_processes.py",
    ),
    _row(
        "no answer makes a command run on, use up memory, end in a traceback or print a foreign variable",
        "tests/cli/test_printed_variables.py",
        "tests/cli/test_hostile_answers.py",
        "tests/cli/test_any_answer.py",
        "tests/http/test_client.py",
    ),
    _row(
        "unasked, late and malformed answers: a client's call has its own answer or a typed error",
        "tests/system/clients/test_python.py::test_its_own_tests_pass",
        "tests/system/clients/test_javascript.py::test_its_own_tests_pass",
        "tests/system/clients/test_go.py::test_its_own_tests_pass",
    ),
    _row("the wall clock jumps and passes midnight under load", "lab/faults/test_clock_jumps.py"),
    _row("a million requests leak no memory, file or task", "lab/faults/test_memory.py"),
    _row(
        "50,000 tenants and scrapes of many series delay no request",
        "lab/faults/test_many_tenants.py",
        "tests/opsplane/test_exposition.py",
        "tests/observability/test_usage_rows.py",
        "tests/observability/test_shares.py",
    ),
    _row("two replicas for five minutes with a fault every ten seconds", "lab/faults/test_soak.py"),
)
