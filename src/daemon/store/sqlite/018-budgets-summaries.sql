-- How many tokens of AGENT_DAILY_TOKENS each person and each anonymous client has used, as JSON.
CREATE TABLE budgets (
  key        TEXT    PRIMARY KEY,
  tokens     TEXT    NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX budgets_by_expiry ON budgets (expires_at);

-- Summaries of the turns that do not fit into the history of a session, one for each of its principals.
CREATE TABLE summaries (
  session      INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  principal    TEXT    NOT NULL,
  text         TEXT    NOT NULL,
  through_turn TEXT    NOT NULL,
  through_at   INTEGER NOT NULL,
  PRIMARY KEY (session, principal)
) STRICT, WITHOUT ROWID;

-- A row means that a summary of the session is being made. After `expires_at`, another caller may make it.
CREATE TABLE summarizing (
  session    INTEGER PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
  owner      TEXT    NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT;
