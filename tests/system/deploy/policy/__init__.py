"""The policy for all installations, as rules over rendered manifests."""

from typing import Any

from tests.system.deploy.policy import certificates, configuration, pods, traffic
from tests.system.deploy.policy.manifests import Manifests, Rule

RULES: tuple[Rule, ...] = (
    pods.pods_have_few_rights,
    pods.containers_have_few_rights,
    pods.pods_have_an_account_without_a_token,
    pods.probes_are_as_designed,
    pods.one_core_and_bounded_memory,
    pods.images_are_pinned,
    pods.rollouts_lose_no_replica,
    pods.autoscaling_is_as_designed,
    pods.disruptions_take_one_pod_at_a_time,
    pods.pods_are_spread,
    pods.pods_have_time_to_shut_down,
    pods.the_last_lines_of_the_log_explain_a_failure,
    traffic.ports_are_those_of_the_configuration,
    traffic.listeners_bind_where_services_need_them,
    traffic.services_carry_one_listener_each,
    traffic.selectors_find_the_pods,
    traffic.pods_are_isolated_except_with_the_memory_store,
    traffic.policies_are_for_the_pods,
    traffic.only_named_namespaces_have_access,
    traffic.only_labelled_pods_of_labelled_namespaces_have_access,
    traffic.pods_reach_what_they_need,
    traffic.node_metadata_is_unreachable,
    certificates.exposed_listeners_present_their_certificate,
    certificates.certificates_are_as_designed,
    certificates.certificates_are_mounted_as_updatable_files,
    configuration.a_changed_configuration_rolls_the_pods,
    configuration.the_configuration_is_mounted_where_it_is_read,
    configuration.secrets_are_mounted_as_updatable_files,
    configuration.no_secret_is_in_the_manifests,
    configuration.memory_suffices_in_the_worst_case,
)


def broken_rules(objects: list[dict[str, Any]]) -> dict[str, list[str]]:
    """Returns each violated rule with its violations."""
    manifests = Manifests(objects)
    complaints = {rule.__name__: list(rule(manifests)) for rule in RULES}
    return {rule: found for rule, found in complaints.items() if found}
