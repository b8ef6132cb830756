-- The audit log: what administrators did (src/daemon/store/audit.ts).

CREATE TABLE audit (
  id      INTEGER PRIMARY KEY,
  at      INTEGER NOT NULL,
  user    TEXT NOT NULL,
  command TEXT NOT NULL,
  about   TEXT,
  person  TEXT
) STRICT;

CREATE INDEX audit_by_time ON audit (at);

CREATE TABLE audit_key (
  id  INTEGER PRIMARY KEY CHECK (id = 1),
  key BLOB NOT NULL
) STRICT;
