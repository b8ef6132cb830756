import type { SettingRecord } from '../../../channel/index.ts';

/** Tokens, and the company's API. */
export const IDENTITY_RECORDS = [
  // Tokens
  {
    name: 'JWT_SECRET_KEY',
    kind: 'string',
    secret: true,
    several: true,
    sentence:
      'Signing secret of user tokens (HS256; 256 bits recommended, 128 required in production and staging), or the PEM public key for RS256. While the secret is being changed, several, one per line (or a list in the configuration file): a token may be signed with any of them, and `agentd token issue` signs with the first (see agentd-identity(7), "Changing the key").',
  },
  {
    name: 'JWT_ALGORITHM',
    kind: 'choice',
    choices: ['HS256', 'RS256'],
    required: true,
    sentence: 'The only algorithm that a token may be signed with.',
    example: 'HS256',
  },
  {
    name: 'JWT_PUBLIC_KEY',
    kind: 'string',
    several: true,
    sentence:
      'Public key for RS256: PEM, or the path of a PEM file. While the key is being changed, several, one after another (or a list in the configuration file): a token may be signed with any of them.',
  },
  {
    name: 'JWT_JWKS_URL',
    kind: 'url',
    sentence:
      'Address of the key set for RS256. Unless it is a loopback address, it must be https, and JWT_ISSUER and JWT_AUDIENCE must be set. The key set is fetched when it is needed, and cached. It is fetched again if a key is not in it, at most 5 times a minute.',
  },
  {
    name: 'JWT_VERIFY_SIGNATURE',
    kind: 'boolean',
    default: true,
    sentence:
      'Checks signatures; false is accepted only under NODE_ENV=development or test, or with `serve --dev`.',
  },
  {
    name: 'JWT_VERIFY_EXP',
    kind: 'boolean',
    default: true,
    sentence:
      'Checks expiry; false is accepted only under NODE_ENV=development or test, or with `serve --dev`.',
  },
  {
    name: 'JWT_ISSUER',
    kind: 'string',
    sentence:
      'Expected `iss`. If unset or `*`, any issuer passes. JWT_JWKS_URL needs this setting, unless its address is a loopback address.',
  },
  {
    name: 'JWT_AUDIENCE',
    kind: 'string',
    sentence:
      'Expected `aud`. If unset or `*`, any audience passes. JWT_JWKS_URL needs this setting, unless its address is a loopback address.',
  },
  {
    name: 'JWT_CLOCK_SKEW_SECONDS',
    kind: 'integer',
    min: 0,
    max: 300,
    default: 0,
    unit: 'seconds',
    sentence: 'Clock difference that is tolerated for `exp`, `nbf` and `iat`.',
  },
  {
    name: 'JWT_DEBUG',
    kind: 'boolean',
    default: false,
    sentence:
      'Logs the claims of each token and the decision, but only 8 characters and a hash of the token itself.',
  },
  {
    name: 'TOKEN_ENCRYPTION_KEY',
    kind: 'string',
    secret: true,
    sentence:
      'Key that seals stored tokens: 32 bytes in base64. To change the key, set several, comma-separated: the first one seals tokens, and each of them can unseal tokens (see `agentd keys`). If unset, the first start makes a key in STATE_DIR/encryption-key. `off` stores tokens unsealed, with a warning. When the daemon starts with a key, it seals the tokens that are stored unsealed.',
  },

  // The company's API
  { name: 'API_BASE_URL', kind: 'url', sentence: 'Address of the business API.' },
  { name: 'API_EMAIL', kind: 'string', sentence: 'E-mail of the default credentials.' },
  { name: 'API_PASSWORD', kind: 'string', secret: true, sentence: 'Password of the default credentials.' },
  {
    name: 'API_TIMEOUT_SECONDS',
    kind: 'integer',
    min: 1,
    max: 120,
    default: 10,
    unit: 'seconds',
    sentence: 'Timeout of one call to the business API.',
  },
  {
    name: 'API_PUBLIC_USER_FIELDS',
    kind: 'list',
    default: [],
    sentence: 'Fields of a user that the agent may see under default credentials, comma-separated.',
    example: 'name',
  },
  {
    name: 'GET_USER',
    kind: 'boolean',
    default: true,
    sentence:
      'Offers the tool `get_user`, which looks up a user at `GET /users?userEmail=`. Set it to `off` if the API has no such path.',
  },
] as const satisfies readonly SettingRecord[];
