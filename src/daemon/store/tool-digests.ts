/**
 * How MCP servers define their tools (agentd-agent(7), "MCP"): the trusted definition, which is the first one until an
 * administrator trusts another, and the one that the server sends now if it differs. Kept forever, because the
 * configuration limits the number of tools.
 */
export interface ToolDigestStore {
  /**
   * Records the definition that a server sends now; atomic. The first definition of a tool is trusted. A later one that
   * differs from the trusted one is stored as `changed`; one that is equal to it removes `changed`.
   * @param name the name that the tool has for the agent
   * @param source the `name` of its entry
   * @returns the record after that
   */
  observe(name: string, source: string, definition: ToolDefinition): Promise<ToolDigest>;
  /** Null if no server has named this tool yet. */
  find(name: string): Promise<ToolDigest | null>;
  /** The digests of all tools, in the order of their names. */
  list(): Promise<ToolDigest[]>;
  /**
   * Trusts the changed definition; atomic. False if `digest` is not that of the changed definition: nothing is stored,
   * read it again.
   */
  trust(name: string, digest: string): Promise<boolean>;
}

export interface ToolDigest {
  name: string;
  source: string;
  trusted: ToolDefinition;
  /** When the trusted definition was first seen, or was trusted by an administrator. */
  trusted_at: number;
  /** Null if the server sends the trusted definition. */
  changed: ToolDefinition | null;
  /** When the changed definition was first seen; null if there is none. */
  changed_at: number | null;
}

export interface ToolDefinition {
  /** SHA-256 of title, description and schema as sent by the server, in hex. */
  digest: string;
  title: string | null;
  /**
   * Shortened, and with anything that looks like a token masked, for administrators to compare. The same is true of the
   * schema.
   */
  description: string;
  /** JSON. */
  schema: string;
}
