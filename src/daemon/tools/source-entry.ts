import type { CredentialPolicy, Effect } from './tool.ts';

/**
 * The entries under `tools:` in the configuration file, as they were read and checked (agentd-agent(7), "Sources").
 * `${SETTING}` in a header or a secret is filled in; the document itself has not been read yet.
 */
export type SourceEntry = OpenApiEntry | McpEntry | ModuleEntry;

interface Entry {
  /** The location of the entry, for messages: `tools[0] (agentd.yaml, line 12)`. */
  readonly place: string;
}

/** What an entry says about all its tools. */
interface SourcePolicy {
  /** Prefix of the names of its tools. */
  readonly name: string;
  /** If absent, the policy depends on effect and origin. `user-or-default` means `user` for writes. */
  readonly credentials?: CredentialPolicy;
  /** Sent with each request, for example an API key. */
  readonly headers: Readonly<Record<string, string>>;
  readonly exchange?: ExchangeEntry;
}

export interface OpenApiEntry extends Entry, SourcePolicy {
  readonly kind: 'openapi';
  /** Absolute path of the document. */
  readonly path: string;
  /** Default: `API_BASE_URL`. */
  readonly base_url: string;
  /** The entries of operations, by operationId or `GET /orders/{id}`. */
  readonly operations: Readonly<Record<string, ToolEntry>>;
  /** The locations of the entry and its operations in the configuration file, for problems with the document. */
  readonly places: {
    readonly document: EntryPlace;
    readonly operations: Readonly<Record<string, EntryPlace>>;
  };
}

/** A place in the configuration file, as a problem names it. */
export interface EntryPlace {
  /** `tools[0].operations.listOrders` */
  readonly setting: string;
  /** `agentd.yaml, line 14` */
  readonly source: string;
}

export interface McpEntry extends Entry, SourcePolicy {
  readonly kind: 'mcp';
  readonly server:
    | { readonly url: string }
    | { readonly command: readonly [string, ...string[]]; readonly env: Readonly<Record<string, string>> };
  /** The entries of tools, by the server's own names. */
  readonly tools: Readonly<Record<string, ToolEntry>>;
}

export interface ModuleEntry extends Entry {
  readonly kind: 'module';
  /** A path or the name of a package, as it is written in the file. */
  readonly module: string;
  /** The folder of the configuration file. */
  readonly folder: string;
}

/** What an entry says about one operation or tool. */
export interface ToolEntry {
  /** The whole name of the tool, instead of the name that is made from the prefix. */
  readonly as?: string;
  readonly effect?: Effect;
  readonly credentials?: CredentialPolicy;
  readonly confirm?: 'always' | 'never';
  readonly summary?: string;
  readonly public?: readonly string[] | 'all';
  readonly bind?: Readonly<Record<string, string>>;
  readonly idempotency_header?: string;
  readonly idempotent?: boolean;
}

/** Exchange of the person's token for another one (RFC 8693). */
export interface ExchangeEntry {
  readonly url: string;
  readonly client_id: string;
  readonly client_secret: string;
  readonly audience: string;
}
