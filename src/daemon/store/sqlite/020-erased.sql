-- Hashes of the ids of erased sessions and turns, kept for an hour, so that a run that was under way during the erasure
-- stores nothing.
CREATE TABLE erased (
  id      BLOB    PRIMARY KEY,
  ends_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
