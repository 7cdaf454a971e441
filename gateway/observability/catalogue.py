"""Every metric that the gateway names: as it is scraped, its type, its help text, its labels.

Nothing is counted here and nothing of the gateway is imported, so that `gateway.billing` may use the names,
too. Further `process_*` and `python_*` metrics are prometheus_client's own.
"""

from typing import Literal

from msgspec import Struct


class Metric(Struct, frozen=True):
    """`name` is that of the samples; of a histogram, without `_bucket`, `_sum` and `_count`."""

    name: str
    type: Literal["counter", "gauge", "histogram"]
    help_text: str
    labels: tuple[str, ...] = ()


TENANT_LABELS = ("org", "app", "env", "table", "operation")
OUTCOME_LABEL = "outcome"
OVERFLOW_TENANT = "_other"
"""All labels of a tenant for the requests that found no series of their own."""

# per tenant: what is billed
USAGE_REQUESTS = Metric(
    "kvs_usage_requests_total", "counter", "Charged requests by outcome.", (*TENANT_LABELS, OUTCOME_LABEL)
)
USAGE_REQUEST_BYTES = Metric(
    "kvs_usage_request_bytes_total", "counter", "Bytes of request bodies.", TENANT_LABELS
)
USAGE_RESPONSE_BYTES = Metric(
    "kvs_usage_response_bytes_total", "counter", "Bytes of response bodies.", TENANT_LABELS
)
USAGE_OVERFLOW = Metric("kvs_usage_overflow_total", "counter", "Requests that found no series of their own.")

# the data listener
HTTP_REQUESTS = Metric("kvs_http_requests_total", "counter", "Answered requests.", ("operation", "status"))
HTTP_REQUEST_DURATION = Metric(
    "kvs_http_request_duration_seconds", "histogram", "From the head to the answer.", ("operation",)
)
REFUSALS = Metric("kvs_refusals_total", "counter", "Refused requests.", ("code",))
REQUESTS_IN_FLIGHT = Metric("kvs_requests_in_flight", "gauge", "Requests being served.")
CONNECTIONS = Metric("kvs_connections", "gauge", "Open ones, of the data listener.")
CONNECTIONS_EVICTED = Metric(
    "kvs_connections_displaced_total", "counter", "Waiting ones that were closed for new ones."
)

# the control listener
CONTROL_REQUESTS = Metric(
    "kvs_control_requests_total", "counter", "Requests of the control plane.", ("action", "outcome")
)
CONTROL_TOKEN_REQUESTS = Metric(
    "kvs_control_token_requests_total", "counter", "Requests with each control token, by its name.", ("name",)
)

# the credentials listener
CREDENTIALS_REQUESTS = Metric(
    "kvs_credentials_requests_total", "counter", "Requests of workloads for credentials.", ("form", "outcome")
)

# the issuers of JWTs that the control and the credentials listener trust
ISSUER_KEYS_AGE = Metric(
    "kvs_issuer_keys_age_seconds", "gauge", "Since an issuer's keys were fetched last.", ("issuer",)
)
ISSUER_FETCHES = Metric(
    "kvs_issuer_fetches_total", "counter", "Fetches of an issuer's keys.", ("issuer", "outcome")
)

# the stores and the directory
STORE_DURATION = Metric(
    "kvs_store_duration_seconds", "histogram", "Calls of a store.", ("backend", "operation", "outcome")
)
DEPENDENCY_UP = Metric("kvs_dependency_up", "gauge", "1 while it answers.", ("dependency",))
DEPENDENCY_WARNING = Metric(
    "kvs_dependency_warning",
    "gauge",
    "1 while its settings endanger what is promised.",
    ("dependency", "warning"),
)
CLOCK_SKEW = Metric("kvs_clock_skew_seconds", "gauge", "This clock minus the dependency's.", ("dependency",))
CACHE_HITS = Metric("kvs_directory_cache_hits_total", "counter", "Tokens found in the cache.")
CACHE_MISSES = Metric("kvs_directory_cache_misses_total", "counter", "Tokens read from the store.")
CACHE_STALE = Metric("kvs_directory_cache_stale_total", "counter", "Tokens served while the store was down.")
CACHE_WITHHELD = Metric(
    "kvs_directory_cache_withheld_total", "counter", "Tokens not read for callers who invent them."
)
CACHE_ENTRIES = Metric("kvs_directory_cache_entries", "gauge", "Tokens in the cache.")
FEED_SILENT = Metric(
    "kvs_directory_feed_silent_seconds", "gauge", "Since the feed of changes has answered last."
)
FEED_GAPS = Metric(
    "kvs_directory_feed_gaps_total",
    "counter",
    "Times the feed could not tell everything; once at the start.",
)
CORRUPT_RECORDS = Metric(
    "kvs_directory_corrupt_records", "gauge", "Records that cannot be read; the log has their names."
)
RECLAIM_PENDING = Metric(
    "kvs_reclaim_tables_pending", "gauge", "Deleted tables to give space back of, on the replica that does."
)
RECLAIM_SCANNED = Metric("kvs_reclaim_keys_scanned_total", "counter", "Keys looked at for deleted tables.")
RECLAIM_DELETED = Metric("kvs_reclaim_entries_deleted_total", "counter", "Entries of deleted tables removed.")

# the replica
START_TIME = Metric("process_start_time_seconds", "gauge", "When counting began, in Unix seconds.")
BUILD_INFO = Metric("kvs_build_info", "gauge", "The running version.", ("version",))
DRAINING = Metric("kvs_draining", "gauge", "1 from SIGTERM to the end.")
RELOAD_SUCCESSFUL = Metric("kvs_config_last_reload_successful", "gauge", "0 after a broken file.")
RELOAD_SUCCESS_TIME = Metric(
    "kvs_config_last_reload_success_timestamp_seconds", "gauge", "When the settings in use were read."
)
SPANS_LOST = Metric("kvs_spans_lost_total", "counter", "Spans that were not delivered.")
