-- The tables of the embedded store. Times are ms since the epoch.

-- The changes of each commit, one row a commit. `changes` is JSON (journal.ts); `docs` has the documents one after the
-- other, so that none is parsed before it is needed. A document whose last change is here is in memory in every process
-- that uses the file. The oldest rows are moved into `docs` little by little; the newest row always stays,
-- so that no id is used twice. `serial` is the greatest number that a step has used so far.
CREATE TABLE journal (
  id      INTEGER PRIMARY KEY,
  serial  INTEGER NOT NULL,
  changes TEXT    NOT NULL,
  docs    TEXT    NOT NULL
) STRICT;

-- The documents, except for those in the journal. `live`: 1 if the document has places in ordered indexes, which are in
-- memory; `name`: its place in an index of many documents. `client`: the anonymous client for whom it counts. `look_at`
-- is when the sweeper checks the row: never later than the end that the document had when it was written here first.
-- The indexes have hashes of kinds with keys or names, 52 bits (`hashOf`). Keys and names are random, and each new one is
-- in a random page of its index, so these indexes should have few pages.
-- The list of a document is found backwards from its last row, `last_item`; it has `items` items with `item_bytes` bytes.
CREATE TABLE docs (
  id         INTEGER PRIMARY KEY,
  kind       TEXT    NOT NULL,
  key        TEXT    NOT NULL,
  key_hash   INTEGER NOT NULL,
  live       INTEGER,
  name       TEXT,
  name_hash  INTEGER,
  client     TEXT,
  expires_at INTEGER,
  look_at    INTEGER,
  last_item  INTEGER,
  items      INTEGER NOT NULL,
  item_bytes INTEGER NOT NULL,
  doc        TEXT    NOT NULL
) STRICT;

CREATE INDEX docs_by_key ON docs (key_hash);
CREATE INDEX docs_by_look ON docs (look_at) WHERE look_at IS NOT NULL;
CREATE INDEX docs_live ON docs (kind) WHERE live = 1;
CREATE INDEX docs_by_name ON docs (name_hash) WHERE name_hash IS NOT NULL;
CREATE INDEX docs_by_client ON docs (client, kind, expires_at) WHERE client IS NOT NULL;

-- The items that a commit has added to the list of a document, a JSON array. `start` is how many items are before them.
CREATE TABLE items (
  id       INTEGER PRIMARY KEY,
  previous INTEGER,
  start    INTEGER NOT NULL,
  items    TEXT    NOT NULL
) STRICT;

-- The records that a commit has added to a ring, a JSON array, as text or compressed (Brotli). They are numbered from
-- `first`; a deleted record is null.
-- `ids` has the ids of each record, so that a search need not read the records.
CREATE TABLE records (
  id      INTEGER PRIMARY KEY,
  ring    TEXT    NOT NULL,
  kept_at INTEGER NOT NULL,
  first   INTEGER NOT NULL,
  count   INTEGER NOT NULL,
  ids     TEXT    NOT NULL,
  records ANY     NOT NULL
) STRICT;

CREATE INDEX records_by_ring ON records (ring);

-- The owners of long-term memories. `alias`: another id of the user, which shows if a user id has a new owner.
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
