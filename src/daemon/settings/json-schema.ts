import type { ChannelText, SettingRecord } from '../../channel/index.ts';
import { BUTTON_CHARACTERS } from '../texts/text-records.ts';
import { type SettingGroup, textsSchema } from './reference.ts';
import { fileSetting, rightForm } from './value.ts';

export type JsonSchema = Readonly<Record<string, unknown>>;

/**
 * JSON Schema (draft 2020-12) of the configuration file, for editors and other programs. Nothing in it is required,
 * since each setting may come from the environment instead. If the daemon does not start without a setting, the
 * description of the setting says so. Secrets are `writeOnly`.
 */
export function settingsSchema(
  groups: readonly SettingGroup[],
  texts: readonly ChannelText[] = [],
): JsonSchema {
  const settings = groups.flatMap(({ records }) =>
    records.flatMap((record) => [
      [record.name, property(record)],
      ...(record.secret ? [[fileSetting(record.name), fileProperty(record)]] : []),
    ]),
  );
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'agentd configuration',
    description:
      'Settings of agentd. Each can also be set in the environment or in .env, under the same name; the environment has priority.',
    type: 'object',
    properties: {
      $schema: { type: 'string', description: 'This schema, for editors.' },
      ...Object.fromEntries(settings),
      plugins: PLUGINS,
      tools: SOURCES_SCHEMA,
      agents: AGENTS_SCHEMA,
      texts: textsSchema(texts),
    },
    additionalProperties: false,
  };
}

const PLUGINS: JsonSchema = {
  title: 'plugins',
  description:
    'Channels in addition to the bundled ones: paths relative to this file, or names of installed packages.',
  type: 'array',
  default: [],
  items: {
    anyOf: [
      { type: 'string', minLength: 1 },
      {
        type: 'object',
        properties: {
          path: { type: 'string', minLength: 1, description: 'A path, or the name of a package.' },
          name: { type: 'string', description: 'The name that the channel must have.' },
        },
        required: ['path'],
        additionalProperties: false,
      },
    ],
  },
};

function property(record: SettingRecord): JsonSchema {
  return {
    title: record.name,
    description: record.required
      ? `${record.sentence} Required, here or in the environment.`
      : record.sentence,
    ...form(record),
    ...(record.default === undefined ? {} : { default: record.default }),
    ...(record.example === undefined ? {} : { examples: [record.example] }),
    ...(record.secret ? { writeOnly: true } : {}),
  };
}

function fileProperty({ name }: SettingRecord): JsonSchema {
  return {
    title: fileSetting(name),
    description: `Path of a file that contains ${name}, relative to the configuration file.`,
    type: 'string',
    minLength: 1,
  };
}

function form(record: SettingRecord): JsonSchema {
  switch (record.kind) {
    case 'string':
      if (record.several) return { type: ['string', 'array'], items: { type: 'string' } };
      return { type: 'string', ...(record.pattern ? { pattern: record.pattern.source } : {}) };
    case 'integer':
    case 'number':
      return { type: record.kind, minimum: record.min, maximum: record.max };
    case 'boolean':
      return { type: 'boolean' };
    case 'choice':
      return { type: 'string', enum: record.choices };
    case 'list':
      return { type: ['array', 'string'], items: { type: 'string' }, $comment: rightForm(record) };
    case 'url':
      return { type: 'string', format: 'uri', pattern: '^https?://' };
  }
}

const TEXT = { type: 'string', minLength: 1 };
const TEXTS = { type: 'object', additionalProperties: { type: 'string' } };
const EITHER_CREDENTIALS = { enum: ['user-or-default', 'user', 'default', 'none', 'exchange'] };

const NAME = { ...TEXT, description: 'Prefix of the names of its tools; each source has its own.' };
const CREDENTIALS = { ...EITHER_CREDENTIALS, description: 'Whose credentials the calls carry.' };
const CREDENTIAL = {
  type: 'object',
  description: 'Where requests carry the credential. Default: Authorization: Bearer.',
  properties: {
    header: { ...TEXT, description: 'Name of the header.' },
    scheme: { ...TEXT, description: 'The word before the token.' },
    cookie: { ...TEXT, description: 'Name of the cookie.' },
  },
  additionalProperties: false,
};
const SECRETS = {
  type: 'array',
  items: { ...TEXT, pattern: '^[A-Za-z_][A-Za-z0-9_]*$' },
  description: `Settings that this entry may refer to as \${SETTING}. Their values come from the environment, from .env or from NAME_FILE.`,
};
const HEADERS = { ...TEXTS, description: 'Headers of every request, such as an API key.' };
const TIMEOUT = {
  type: 'integer',
  minimum: 1,
  maximum: 600,
  description: 'How long one call may take, if the server reports progress.',
};
const EXCHANGE = {
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

const TOOL = {
  effect: { enum: ['read', 'write'], description: 'Whether a call changes anything.' },
  as: {
    ...TEXT,
    pattern: '^[A-Za-z0-9_-]{1,64}$',
    description: 'The name of the tool, instead of the generated one.',
  },
  credentials: CREDENTIALS,
  confirm: CONFIRM,
  summary: {
    ...TEXT,
    description: 'The action in the question for confirmation, with {parameter} filled in.',
  },
  confirm_label: {
    ...TEXT,
    maxLength: BUTTON_CHARACTERS,
    description: 'The verb on the button that confirms the action.',
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

function toolsSchema(properties: object): object {
  return {
    type: 'object',
    description: 'Only the listed operations or tools are offered.',
    minProperties: 1,
    additionalProperties: {
      type: ['object', 'null'],
      properties: { ...TOOL, ...properties },
      additionalProperties: false,
    },
  };
}

const MCP_TOOLS = toolsSchema({});

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
      credentials: CREDENTIALS,
      credential: CREDENTIAL,
      exchange: EXCHANGE,
      headers: HEADERS,
      secrets: SECRETS,
      operations: toolsSchema({
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
      }),
    },
    ['openapi', 'name', 'operations'],
  ),
  mcp: entry(
    {
      mcp: { ...TEXT, format: 'uri', pattern: '^https?://', description: 'Address of an MCP server.' },
      name: NAME,
      credentials: CREDENTIALS,
      credential: CREDENTIAL,
      list_credentials: {
        enum: ['headers', 'exchange'],
        description: 'The credential with which the tools are listed, and nothing else.',
      },
      exchange: EXCHANGE,
      headers: HEADERS,
      secrets: SECRETS,
      timeout_seconds: TIMEOUT,
      tools: MCP_TOOLS,
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
      tools: MCP_TOOLS,
    },
    ['command', 'name', 'tools'],
  ),
  module: entry(
    { module: { ...TEXT, description: 'A path, or the name of a package.' }, credential: CREDENTIAL },
    ['module'],
  ),
};

/** The keys that an entry of this kind may have. */
export function entryKeys(kind: keyof typeof ENTRIES): string[] {
  return Object.keys(ENTRIES[kind].properties);
}

/**
 * JSON Schema of the key `tools` of the configuration file, for editors (src/daemon/settings/configure/tools checks
 * it).
 */
const SOURCES_SCHEMA: JsonSchema = {
  title: 'tools',
  description:
    'Where the tools of the agent come from: APIs with an OpenAPI document, MCP servers, and modules.',
  type: 'array',
  default: [],
  items: {
    anyOf: Object.values(ENTRIES),
  },
};

const ONE_OR_MORE: JsonSchema = {
  anyOf: [TEXT, { type: 'array', items: TEXT, minItems: 1 }],
};

/**
 * JSON Schema of the key `agents` of the configuration file (src/daemon/settings/configure/agent-entries.ts checks it).
 */
const AGENTS_SCHEMA: JsonSchema = {
  title: 'agents',
  description:
    'Several agents. Each message is answered by the first one that fits; the last one fits always.',
  type: 'array',
  minItems: 1,
  items: {
    type: 'object',
    properties: {
      name: { type: 'string', pattern: '^[A-Za-z0-9_-]{1,64}$' },
      instructions: {
        ...TEXT,
        description: 'Text, or the path of a text file. Default: AGENT_INSTRUCTIONS.',
      },
      tools: {
        type: 'array',
        items: TEXT,
        description: 'Names of its tools; others do not exist for it. Default: all.',
      },
      model: { ...TEXT, description: 'As in AGENT_MODEL, which is the default.' },
      memory: { type: 'boolean', default: true, description: 'Whether it remembers.' },
      when: {
        type: 'object',
        minProperties: 1,
        properties: {
          channel: { ...ONE_OR_MORE, description: 'Names of channels.' },
          tenant_id: { ...ONE_OR_MORE, description: 'Values of this claim of a valid token.' },
          workspace: { ...ONE_OR_MORE, description: 'Ids of workspaces of the platform.' },
          locale: { ...ONE_OR_MORE, description: 'Languages; `de` also fits `de-AT`.' },
        },
        additionalProperties: false,
      },
      canary: {
        type: 'object',
        properties: { percent: { type: 'number', minimum: 0, maximum: 100 } },
        required: ['percent'],
        additionalProperties: false,
        description: 'The share of persons whom it answers.',
      },
    },
    required: ['name'],
    additionalProperties: false,
  },
};
