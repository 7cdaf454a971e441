"""Identities of writes."""

from backends.tables import Revisions


def test_no_two_writes_share_a_revision():
    one, other = Revisions(), Revisions()
    drawn = [revisions.next() for _ in range(2_000) for revisions in (one, other)]
    assert len(set(drawn)) == 4_000
    assert {len(revision) for revision in drawn} == {22}


def test_a_revision_does_not_tell_how_many_writes_preceded_it():
    revisions = Revisions()
    first, second = revisions.next(), revisions.next()
    assert sum(ours == theirs for ours, theirs in zip(first, second, strict=True)) < 16
