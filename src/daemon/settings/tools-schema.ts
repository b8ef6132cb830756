import { BUTTON_CHARACTERS } from '../texts/text-records.ts';
import { AGENT_RECORDS } from './records/agent-records.ts';

export const TEXT = { type: 'string', minLength: 1 };
const TEXTS = { type: 'object', additionalProperties: { type: 'string' } };

const NAME = { ...TEXT, description: 'Prefix of the names of its tools; each source has its own.' };
export const CREDENTIALS = ['user-or-default', 'user', 'default', 'none', 'exchange'] as const;
const WHOSE = { enum: CREDENTIALS, description: 'Whose credentials the calls carry.' };
export const CREDENTIAL = {
  type: 'object',
  description: 'Where requests carry the credential. Default: Authorization: Bearer.',
  properties: {
    header: { ...TEXT, description: 'Name of the header.' },
    scheme: { ...TEXT, description: 'The word before the token.' },
    cookie: { ...TEXT, description: 'Name of the cookie.' },
  },
  additionalProperties: false,
};
/** The form of the names of tools, which all models accept, and of agents. */
export const NAME_FORM = /^[A-Za-z0-9_-]{1,64}$/;
export const SECRET_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
const SECRETS = {
  type: 'array',
  items: { ...TEXT, pattern: SECRET_NAME.source },
  description: `Settings that this entry may refer to as \${SETTING}. Their values come from the environment, from .env or from NAME_FILE.`,
};
const HEADERS = { ...TEXTS, description: 'Headers of every request, such as an API key.' };
/** The longest time that a run of the agent can take, seconds. */
export const { max: MAX_TIMEOUT } = AGENT_RECORDS.AGENT_TIMEOUT_SECONDS;
const TIMEOUT = {
  type: 'integer',
  minimum: 1,
  maximum: MAX_TIMEOUT,
  description: 'How long one call may take, if the server reports progress.',
};
export const EXCHANGE = {
  type: 'object',
  description: "Where the person's token is exchanged for another one (RFC 8693).",
  properties: {
    url: { ...TEXT, format: 'uri', pattern: '^https?://' },
    client_id: TEXT,
    client_secret: TEXT,
    audience: TEXT,
  },
  required: ['url', 'client_id', 'client_secret', 'audience'],
  additionalProperties: false,
};
export const LIST_CREDENTIALS = ['headers', 'exchange'] as const;

const VALUES = { type: 'array', items: { type: ['string', 'number', 'boolean'] }, minItems: 1 };
const CONDITIONS = {
  over: { type: 'number' },
  under: { type: 'number' },
  in: VALUES,
  not_in: VALUES,
  present: { const: true },
};
const CONFIRM = {
  description: 'Whether the person must confirm a call: each one, none, or if one of the conditions holds.',
  anyOf: [
    { enum: ['always', 'never'] },
    {
      type: 'object',
      properties: {
        when: {
          type: 'array',
          minItems: 1,
          items: {
            anyOf: Object.entries(CONDITIONS).map(([name, condition]) => ({
              type: 'object',
              properties: { argument: TEXT, [name]: condition },
              required: ['argument', name],
              additionalProperties: false,
            })),
          },
        },
      },
      required: ['when'],
      additionalProperties: false,
    },
  ],
};

export const EFFECTS = ['read', 'write'] as const;

const TOOL = {
  as: {
    ...TEXT,
    pattern: NAME_FORM.source,
    description: 'The name of the tool, instead of the generated one.',
  },
  effect: { enum: EFFECTS, description: 'Whether a call changes anything.' },
  credentials: WHOSE,
  confirm: CONFIRM,
  confirm_label: {
    ...TEXT,
    maxLength: BUTTON_CHARACTERS,
    description: 'The verb on the button that confirms the action.',
  },
  summary: {
    ...TEXT,
    description: 'The action in the question for confirmation, with {parameter} filled in.',
  },
  public: {
    description: 'Top-level fields of a result that may be shown under default credentials.',
    anyOf: [{ const: 'all' }, { type: 'array', items: TEXT }],
  },
  bind: { ...TEXTS, description: "Parameters, and the claims of the person's token that fill them." },
  hide: {
    type: 'array',
    items: TEXT,
    description: 'Bound parameters that the question for confirmation does not show.',
  },
  idempotent: { type: 'boolean', description: 'Whether repeating a call has no further effect.' },
};

/** The keys of one operation or tool, by the kind of its source. */
const TOOLS = {
  openapi: {
    ...TOOL,
    idempotency_header: { ...TEXT, description: 'Header that carries the key of a write.' },
    parameters: {
      type: 'object',
      description: 'Path parameters, and what their values may be.',
      additionalProperties: {
        type: 'object',
        properties: {
          allow_slash: { type: 'boolean', description: 'Whether a value may contain a slash.' },
        },
        additionalProperties: false,
      },
    },
  },
  mcp: TOOL,
};

function toolsSchema(properties: object): object {
  return {
    type: 'object',
    description: 'Only the listed operations or tools are offered.',
    minProperties: 1,
    additionalProperties: { type: ['object', 'null'], properties, additionalProperties: false },
  };
}

function entry(properties: Readonly<Record<string, object>>, required: readonly string[]) {
  return { type: 'object', properties, required, additionalProperties: false };
}

/** The keys of each kind of entry, by the key that every entry of the kind has. */
const ENTRIES = {
  openapi: entry(
    {
      openapi: { ...TEXT, description: 'Path of an OpenAPI document (3.0 or 3.1), JSON or YAML.' },
      name: NAME,
      base_url: { ...TEXT, format: 'uri', pattern: '^https?://', description: 'Default: API_BASE_URL.' },
      credentials: WHOSE,
      credential: CREDENTIAL,
      exchange: EXCHANGE,
      headers: HEADERS,
      secrets: SECRETS,
      operations: toolsSchema(TOOLS.openapi),
    },
    ['openapi', 'name', 'operations'],
  ),
  mcp: entry(
    {
      mcp: { ...TEXT, format: 'uri', pattern: '^https?://', description: 'Address of an MCP server.' },
      name: NAME,
      credentials: WHOSE,
      credential: CREDENTIAL,
      list_credentials: {
        enum: LIST_CREDENTIALS,
        description: 'The credential with which the tools are listed, and nothing else.',
      },
      exchange: EXCHANGE,
      headers: HEADERS,
      secrets: SECRETS,
      timeout_seconds: TIMEOUT,
      tools: toolsSchema(TOOLS.mcp),
    },
    ['mcp', 'name', 'tools'],
  ),
  command: entry(
    {
      command: {
        type: 'array',
        items: TEXT,
        minItems: 1,
        description: 'An MCP server that agentd starts.',
      },
      env: { ...TEXTS, description: 'Its environment.' },
      name: NAME,
      credentials: { const: 'none' },
      secrets: SECRETS,
      timeout_seconds: TIMEOUT,
      tools: toolsSchema(TOOLS.mcp),
    },
    ['command', 'name', 'tools'],
  ),
  module: entry(
    { module: { ...TEXT, description: 'A path, or the name of a package.' }, credential: CREDENTIAL },
    ['module'],
  ),
};

export function entryKeys(kind: keyof typeof ENTRIES): string[] {
  return Object.keys(ENTRIES[kind].properties);
}

/** The keys that an operation or a tool of such a source may have. */
export function toolKeys(kind: keyof typeof TOOLS): string[] {
  return Object.keys(TOOLS[kind]);
}

/** JSON Schema of the key `tools` of the configuration file, for editors. The readers check with the same keys. */
export const SOURCES_SCHEMA = {
  title: 'tools',
  description:
    'Where the tools of the agent come from: APIs with an OpenAPI document, MCP servers, and modules.',
  type: 'array',
  default: [],
  items: { anyOf: Object.values(ENTRIES) },
};
