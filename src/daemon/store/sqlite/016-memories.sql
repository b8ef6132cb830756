-- Long-term memory: the owners of memories, and the memories.
CREATE TABLE memory_owners (
  owner_no INTEGER PRIMARY KEY,
  owner TEXT NOT NULL UNIQUE,
  alias TEXT
) STRICT;

CREATE TABLE memories (
  memory_no INTEGER PRIMARY KEY,
  memory_id TEXT NOT NULL UNIQUE,
  owner_no INTEGER NOT NULL REFERENCES memory_owners ON DELETE CASCADE,
  tainted INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  used_at INTEGER NOT NULL,
  turn_id TEXT NOT NULL,
  text TEXT NOT NULL
) STRICT;
CREATE INDEX memories_by_owner ON memories (owner_no, used_at);

-- The words of each memory, found by `memory_no`. Each word has the number of its owner before it (memories.ts), so
-- that a search reads only the words of one owner.
CREATE VIRTUAL TABLE memory_terms USING fts5(terms, detail = none, columnsize = 0, tokenize = 'ascii');
-- Deleted words are overwritten, like everything else in this file.
INSERT INTO memory_terms (memory_terms, rank) VALUES ('secure-delete', 1);

CREATE TRIGGER memories_end AFTER DELETE ON memories
BEGIN
  DELETE FROM memory_terms WHERE rowid = old.memory_no;
END;
