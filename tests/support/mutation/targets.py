"""What is mutated, and the tests that must notice it: quick ones on SQLite."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MutationTarget:
    """Modules that belong together (glob patterns), and the test files (glob patterns) run against them."""

    modules: tuple[str, ...]
    tests: tuple[str, ...]


MUTATION_TARGETS = {
    "write": MutationTarget(
        ("server/store/writer.py", "server/store/write/*.py"),
        (
            "tests/store/test_attempts.py",
            "tests/store/test_bounds.py",
            "tests/store/test_config.py",
            "tests/store/test_public_ids.py",
            "tests/store/test_quotas.py",
            "tests/store/test_re*.py",
            "tests/store/test_robustness.py",
            "tests/store/test_s*.py",
            "tests/store/test_values_without_times.py",
            "tests/store/test_writ*.py",
        ),
    ),
    "compaction": MutationTarget(
        (
            "server/store/compaction/*.py",
            "server/store/encoding/chunk_builder.py",
            "server/store/encoding/merge.py",
        ),
        (
            "tests/store/test_c*.py",
            "tests/store/test_merge.py",
            "tests/store/test_re*.py",
            "tests/store/test_robustness.py",
            "tests/store/test_store.py",
            "tests/maintenance/test_downsampling.py",
        ),
    ),
    "incidents": MutationTarget(
        (
            "server/alerting/lifecycle.py",
            "server/alerting/incident_store.py",
            "server/alerting/incident_rows.py",
        ),
        (
            "tests/incidents/test_lifecycle.py",
            "tests/incidents/test_incident_store.py",
            "tests/incidents/test_growing.py",
            "tests/incidents/test_analysis.py",
            "tests/incidents/test_silent_agents.py",
            "tests/incidents/test_missing_data.py",
        ),
    ),
    "outbox": MutationTarget(
        ("server/alerting/outbox.py", "server/alerting/sender.py", "server/alerting/rate_limit.py"),
        (
            "tests/incidents/test_rate_limit.py",
            "tests/incidents/test_outbox_rows.py",
            "tests/incidents/test_sender.py",
            "tests/incidents/test_outbox.py",
            "tests/incidents/test_alerts_of_services.py",
            "tests/incidents/test_updated_messages.py",
            "tests/incidents/test_messages_of_linked_incidents.py",
            "tests/incidents/test_muting_and_groups.py",
            "tests/incidents/test_scheduled_notifications.py",
            "tests/incidents/test_silent_agents.py",
        ),
    ),
    "access": MutationTarget(
        ("server/auth.py", "server/tokens.py", "server/client_address.py"),
        (
            "tests/api/test_access.py",
            "tests/api/test_authenticator.py",
            "tests/api/test_failed_logins.py",
            "tests/api/test_tokens.py",
            "tests/api/test_token_scopes.py",
            "tests/api/test_share_links.py",
        ),
    ),
    "spool": MutationTarget(
        ("core/client/spool.py",), ("tests/client/test_spool*.py", "tests/client/test_sending.py")
    ),
    "recovery": MutationTarget(
        (
            "detectors/loss/excursions/excursion_points.py",
            "detectors/loss/excursions/lasting.py",
            "detectors/loss/excursions/new_rises.py",
            "detectors/loss/excursions/recovery.py",
            "detectors/loss/excursions/rise_speed.py",
            "server/alerting/finding_time.py",
        ),
        (
            "tests/incidents/test_finding_time.py",
            "tests/detectors/loss/test_recovery.py",
            "tests/detectors/loss/test_recovery_invariants.py",
            "tests/detectors/loss/test_recorded_events.py",
            "tests/detectors/loss/test_open_events.py",
        ),
    ),
}
