import type { Secret } from '../settings/secret.ts';
import type { CredentialForm } from './downstream/credential-form.ts';
import type { CredentialPolicy, Effect, ToolPolicy } from './tool.ts';

/**
 * The entries under `tools:` in the configuration file after they were read and checked (agentd-agent(7), "Sources").
 * `${SETTING}` in `headers`, `client_secret` or `env` is filled in. The OpenAPI document of an entry has not been read
 * yet.
 */
export type SourceEntry = OpenApiEntry | McpEntry | ModuleEntry;

interface Entry {
  /** The location of the entry, for messages: for example `tools[0] (agentd.yaml, line 12)`. */
  readonly location: string;
}

/** The part of an entry that applies to all of its tools. */
export interface SourcePolicy {
  /** If absent, the policy depends on the effect and the origin. `user-or-default` means `user` for writes. */
  readonly credentials?: CredentialPolicy;
  /** Where the requests carry the credential. Default: as a bearer token. */
  readonly credential?: CredentialForm;
  /** Headers that are sent with each request, for example an API key. */
  readonly headers: Readonly<Record<string, string>>;
  readonly exchange?: ExchangeEntry;
  /** The secrets that the entry lists. They may be a part of a header, or of the environment of a program. */
  readonly secrets?: readonly Secret[];
}

interface NamedEntry extends Entry, SourcePolicy {
  /** Prefix of the names of its tools. */
  readonly name: string;
}

export interface OpenApiEntry extends NamedEntry {
  readonly kind: 'openapi';
  /** Absolute path of the document. */
  readonly path: string;
  /** Default: `API_BASE_URL`. */
  readonly base_url: string;
  /** The settings of each operation. The keys are operationIds, or have the form `GET /orders/{id}`. */
  readonly operations: Readonly<Record<string, ToolEntry>>;
  /**
   * The locations of the entry and its operations in the configuration file. Problems with the document name these
   * locations.
   */
  readonly locations: {
    readonly document: EntryLocation;
    readonly operations: Readonly<Record<string, EntryLocation>>;
  };
}

/** A location in the configuration file, as it is named in a problem. */
export interface EntryLocation {
  /** For example `tools[0].operations.listOrders`. */
  readonly setting: string;
  /** For example `agentd.yaml, line 14`. */
  readonly source: string;
}

export interface McpEntry extends NamedEntry {
  readonly kind: 'mcp';
  readonly server:
    | { readonly url: string }
    | { readonly command: readonly [string, ...string[]]; readonly env: Readonly<Record<string, string>> };
  /**
   * The credential with which the tools are listed, and nothing else. `headers`: the `Authorization` and `Cookie` of
   * `headers`, which are then sent with no call. `exchange`: a token of this service itself. If absent, the tools are
   * listed with `headers` only, like every request.
   */
  readonly list_credentials?: ListCredentials;
  /** How long one call may take. */
  readonly timeout_seconds?: number;
  /** The settings of each tool. The keys are the names that the server uses. */
  readonly tools: Readonly<Record<string, ToolEntry>>;
}

export type ListCredentials = 'headers' | 'exchange';

export interface ModuleEntry extends Entry {
  readonly kind: 'module';
  /** A path or the name of a package, as it is written in the file. */
  readonly module: string;
  /** The folder of the configuration file. */
  readonly folder: string;
  /** Where the requests of `context.api` carry the credential. Default: as a bearer token. */
  readonly credential?: CredentialForm;
}

/** The settings of one operation or tool. */
export interface ToolEntry extends Partial<Omit<ToolPolicy, 'summary'>> {
  /** The whole name of the tool. It replaces the name that is made from the prefix. */
  readonly as?: string;
  readonly summary?: string;
  readonly idempotency_header?: string;
  /** What the values of parameters may be. The keys are names of path parameters of an operation. */
  readonly parameters?: Readonly<Record<string, ParameterEntry>>;
}

/** The settings of one parameter in the path of an operation. */
export interface ParameterEntry {
  /** Whether a value may contain a slash or a backslash. Default: it is refused. */
  readonly allow_slash?: boolean;
}

/** Exchange of the person's token for another one (RFC 8693). */
export interface ExchangeEntry {
  readonly url: string;
  readonly client_id: string;
  readonly client_secret: string;
  readonly audience: string;
}

/**
 * The policy of the calls of a tool, from its settings or else from those of its source. A policy `user-or-default` of
 * the source means `user` for writes.
 * @param tool its entry, or the definition that a module exports
 * @param isApi whether a source without `credentials` gets those of the business API.
 */
export function readPolicy(
  { credentials: ofSource }: Pick<SourcePolicy, 'credentials'>,
  tool: Omit<ToolEntry, 'parameters'>,
  effect: Effect,
  isApi: boolean,
): ToolPolicy {
  const byEffect = effect === 'write' ? 'user' : 'user-or-default';
  const wanted = ofSource ?? (isApi ? byEffect : 'none');
  const { summary = null, bind = {}, hide = [] } = tool;
  return {
    effect,
    summary,
    bind,
    hide,
    public: tool.public ?? [],
    idempotent: tool.idempotent === true || tool.idempotency_header !== undefined,
    ...(tool.confirm_label === undefined ? {} : { confirm_label: tool.confirm_label }),
    credentials: tool.credentials ?? (wanted === 'user-or-default' ? byEffect : wanted),
    confirm: tool.confirm ?? (effect === 'write' ? 'always' : 'never'),
  };
}
