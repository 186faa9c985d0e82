"""Tokens in the database: their names and form, and which of them serve for what."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine, update
from sqlalchemy.orm import Session

from holter.server import tokens
from holter.server.models import Token
from holter.server.tokens import ActiveToken, TokenScope


@pytest.fixture
def session(sqlite_engine: Engine) -> Iterator[Session]:
    with Session(sqlite_engine) as session:
        yield session


@pytest.mark.parametrize("name", ["a", "x" * 200, "CI of Ana's team"])
def test_names_of_tokens(name: str, session: Session) -> None:
    tokens.create(session, name, now=0.0)
    assert [token.name for token in tokens.active_tokens(session).values()] == [name]


@pytest.mark.parametrize("name", ["", "  ", "x" * 201, "two\nlines", "\x1b[31m"])
def test_what_is_no_name_of_a_token(name: str, session: Session) -> None:
    with pytest.raises(tokens.TokenError, match="1 to 200 printable characters"):
        tokens.create(session, name, now=0.0)
    assert not tokens.any_active(session)


def test_a_name_is_not_used_again_not_even_that_of_a_revoked_token(session: Session) -> None:
    tokens.create(session, "ci", now=0.0)
    tokens.revoke(session, "ci", now=1.0)
    with pytest.raises(tokens.TokenError, match="'ci' exists already"):
        tokens.create(session, "ci", now=2.0)


def test_tokens_are_long_differ_and_are_accepted_by_old_clients_of_wandb(session: Session) -> None:
    made = [tokens.create(session, f"token {number}", now=0.0) for number in range(50)]
    assert len(set(made)) == 50
    for token in made:
        assert len(token) == 40
        assert token.startswith("holter_")
        assert token.replace("_", "").isalnum()


def test_tokens_by_what_they_may_do(session: Session) -> None:
    assert not tokens.any_active(session)
    made = {
        scope: tokens.create(session, name, now=0.0, scope=scope)
        for scope, name in ((TokenScope.ALL, "zoe"), (TokenScope.INGEST, "job"), (TokenScope.METRICS, "m"))
    }
    for name in ("ana", "old", "revoked"):
        tokens.create(session, name, now=0.0, scope=TokenScope.ALL)
    session.execute(update(Token).where(Token.name.in_(("old", "revoked"))).values(scope=None))
    tokens.revoke(session, "revoked", now=1.0)
    active = tokens.active_tokens(session)
    assert active[tokens.digest(made[TokenScope.INGEST])] == ActiveToken("job", TokenScope.INGEST)
    assert active[tokens.digest(made[TokenScope.METRICS])] == ActiveToken("m", TokenScope.METRICS)
    assert sorted(token.name for token in active.values()) == ["ana", "job", "m", "old", "zoe"]
    assert tokens.login_tokens(session) == ["ana", "old", "zoe"]  # from before there were scopes: all
    assert tokens.tokens_without_scope(session) == ["old"]
    assert tokens.any_active(session)


def test_a_token_is_for_jobs_unless_stated_otherwise(session: Session) -> None:
    tokens.create(session, "job", now=5.0)
    assert tokens.login_tokens(session) == []
    assert [token.scope for token in tokens.active_tokens(session).values()] == [TokenScope.INGEST]
    assert session.query(Token).one().created_at == 5.0


def test_the_last_use_is_stored_for_each_token(session: Session) -> None:
    used, other = (tokens.create(session, name, now=0.0) for name in ("used", "other"))
    tokens.record_use(session, {tokens.digest(used): 7.0, tokens.digest("unknown"): 8.0})
    stored = {token.digest: token.last_used_at for token in session.query(Token)}
    assert stored == {tokens.digest(used): 7.0, tokens.digest(other): None}


def test_ended_sessions_are_stored_until_they_would_have_expired(session: Session) -> None:
    tokens.end_session(session, "a", expires_at=10.0, now=0.0)
    tokens.end_session(session, "b", expires_at=20.0, now=9.5)
    tokens.end_session(session, "b", expires_at=20.0, now=9.5)
    assert tokens.ended_sessions(session) == {"a", "b"}
    tokens.end_session(session, "c", expires_at=30.0, now=10.0)
    assert tokens.ended_sessions(session) == {"b", "c"}
