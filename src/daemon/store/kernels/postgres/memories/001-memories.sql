-- Long-term memory: the owners of memories, and the memories. A transaction locks the row of an owner to lock the
-- memories of that owner.
CREATE TABLE agentd_memory_owners (
  owner text PRIMARY KEY,
  alias text
);

-- `terms` are the words of the text. agentd splits the text, not a text search configuration of this server.
CREATE TABLE agentd_memories (
  memory_id text PRIMARY KEY,
  owner text NOT NULL REFERENCES agentd_memory_owners ON DELETE CASCADE,
  text text NOT NULL,
  terms tsvector NOT NULL,
  turn_id text NOT NULL,
  tainted boolean NOT NULL,
  created_at bigint NOT NULL,
  used_at bigint NOT NULL
);

-- Each search covers one owner, who has few memories, so an index over all words is not needed.
CREATE INDEX agentd_memories_by_owner ON agentd_memories (owner, used_at);
