-- Hashes of the ids of what was erased: a run that was under way then stores nothing of it. For an hour.
CREATE TABLE erased (
  id      BLOB    PRIMARY KEY,
  ends_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
