"""Catalogue of the gateway's metrics: name as scraped, type, help text, labels.

The module counts nothing and imports nothing of the gateway, so that `gateway.billing` can use the names as
well. prometheus_client adds further `process_*` and `python_*` metrics.
"""

from typing import Literal

from msgspec import Struct


class Metric(Struct, frozen=True):
    """One metric. A histogram's `name` lacks the suffixes `_bucket`, `_sum` and `_count`."""

    name: str
    type: Literal["counter", "gauge", "histogram"]
    help_text: str
    labels: tuple[str, ...] = ()


TENANT_LABELS = ("org", "app", "env", "table", "operation")
OUTCOME_LABEL = "outcome"
OVERFLOW_TENANT = "_other"
"""Value of all tenant labels for requests beyond the cap on series."""

# usage per tenant, the basis of bills
USAGE_REQUESTS = Metric(
    "kvs_usage_requests_total", "counter", "Charged requests by outcome.", (*TENANT_LABELS, OUTCOME_LABEL)
)
USAGE_REQUEST_BYTES = Metric(
    "kvs_usage_request_bytes_total", "counter", "Bytes of request bodies.", TENANT_LABELS
)
USAGE_RESPONSE_BYTES = Metric(
    "kvs_usage_response_bytes_total", "counter", "Bytes of response bodies.", TENANT_LABELS
)
STORAGE_LABELS = ("org", "app", "env")
"""Storage is exposed only for apps with a limit, by the replica that sweeps, within the cap on series."""

STORAGE_ENTRIES = Metric(
    "kvs_storage_entries",
    "gauge",
    "Live entries of an app with a storage limit, as of the last sweep.",
    STORAGE_LABELS,
)
STORAGE_BYTES = Metric(
    "kvs_storage_bytes",
    "gauge",
    "Keys and values of an app with a storage limit, as of the last sweep.",
    STORAGE_LABELS,
)
STORAGE_LIMIT = Metric("kvs_storage_limit_bytes", "gauge", "Storage limit of an app.", STORAGE_LABELS)
USAGE_OVERFLOW = Metric(
    "kvs_usage_overflow_total", "counter", "Requests counted under _other because of the cap on series."
)

# the data listener
HTTP_REQUESTS = Metric("kvs_http_requests_total", "counter", "Requests answered.", ("operation", "status"))
HTTP_REQUEST_DURATION = Metric(
    "kvs_http_request_duration_seconds",
    "histogram",
    "Time from the request head to the response.",
    ("operation",),
)
REFUSALS = Metric("kvs_refusals_total", "counter", "Requests refused, by error code.", ("code",))
REQUESTS_IN_FLIGHT = Metric("kvs_requests_in_flight", "gauge", "Requests being served.")
CONNECTIONS = Metric("kvs_connections", "gauge", "Open connections of the data listener.")
CONNECTIONS_EVICTED = Metric(
    "kvs_connections_displaced_total", "counter", "Waiting connections evicted for new ones."
)
STORAGE_LIMIT_REFUSALS = Metric(
    "kvs_storage_limit_refusals_total",
    "counter",
    "Writes refused by the storage limit of an app environment.",
    ("org", "app", "env"),
)

# the control listener
CONTROL_REQUESTS = Metric(
    "kvs_control_requests_total", "counter", "Control plane requests.", ("action", "outcome")
)
CONTROL_TOKEN_REQUESTS = Metric(
    "kvs_control_token_requests_total", "counter", "Requests by name of the control token.", ("name",)
)

# the credentials listener
CREDENTIALS_REQUESTS = Metric(
    "kvs_credentials_requests_total", "counter", "Credential requests of workloads.", ("form", "outcome")
)

# JWT issuers trusted by the control and the credentials listener
ISSUER_KEYS_AGE = Metric(
    "kvs_issuer_keys_age_seconds", "gauge", "Seconds since the issuer's keys were last fetched.", ("issuer",)
)
ISSUER_FETCHES = Metric(
    "kvs_issuer_fetches_total", "counter", "Fetches of an issuer's keys.", ("issuer", "outcome")
)

# the stores and the directory
STORE_DURATION = Metric(
    "kvs_store_duration_seconds", "histogram", "Duration of store calls.", ("backend", "operation", "outcome")
)
DEPENDENCY_UP = Metric("kvs_dependency_up", "gauge", "1 while the dependency answers.", ("dependency",))
DEPENDENCY_WARNING = Metric(
    "kvs_dependency_warning",
    "gauge",
    "1 while settings of the dependency put a guarantee at risk.",
    ("dependency", "warning"),
)
CLOCK_SKEW = Metric(
    "kvs_clock_skew_seconds", "gauge", "Local clock minus the dependency's clock.", ("dependency",)
)
CACHE_HITS = Metric("kvs_directory_cache_hits_total", "counter", "Tokens found in the cache.")
CACHE_MISSES = Metric("kvs_directory_cache_misses_total", "counter", "Tokens looked up in the store.")
CACHE_STALE = Metric(
    "kvs_directory_cache_stale_total", "counter", "Tokens served from the cache while the store was down."
)
CACHE_WITHHELD = Metric(
    "kvs_directory_cache_withheld_total",
    "counter",
    "Lookups refused because the caller exceeded its budget of unknown tokens.",
)
CACHE_ENTRIES = Metric("kvs_directory_cache_entries", "gauge", "Tokens in the cache.")
FEED_SILENT = Metric(
    "kvs_directory_feed_silent_seconds", "gauge", "Seconds since the change feed last answered."
)
FEED_GAPS = Metric(
    "kvs_directory_feed_gaps_total",
    "counter",
    "Incomplete answers of the change feed; the first answer after a start is one.",
)
CORRUPT_RECORDS = Metric(
    "kvs_directory_corrupt_records",
    "gauge",
    "Records, and items of the feed, that cannot be decoded; the log names them.",
)
RECLAIM_PENDING = Metric(
    "kvs_reclaim_tables_pending",
    "gauge",
    "Deleted tables whose entries are not yet reclaimed; set on the replica that holds the lease.",
)
RECLAIM_DROPPED = Metric(
    "kvs_reclaim_tables_dropped_total",
    "counter",
    "Drops of deleted tables: one at once, and one after the last possible write.",
)

# the replica
START_TIME = Metric("process_start_time_seconds", "gauge", "Start of counting, in Unix seconds.")
BUILD_INFO = Metric("kvs_build_info", "gauge", "The running version.", ("version",))
DRAINING = Metric("kvs_draining", "gauge", "1 from SIGTERM until the process ends.")
RELOAD_SUCCESSFUL = Metric("kvs_config_last_reload_successful", "gauge", "0 if the last reload failed.")
RELOAD_SUCCESS_TIME = Metric(
    "kvs_config_last_reload_success_timestamp_seconds",
    "gauge",
    "Time at which the current settings were read, in Unix seconds.",
)
SPANS_LOST = Metric("kvs_spans_lost_total", "counter", "Spans that were not exported.")
