import { choice, flag, integer, list, text, url } from './record.ts';

/** Tokens, and the company's API. */
export const IDENTITY_RECORDS = {
  // Tokens
  JWT_SECRET_KEY: text(
    { reload: true, secret: true, several: true, shared: true, needed_for: ['tokens'] },
    'Signing secret of user tokens (HS256; 256 bits recommended, 128 required in production and staging), or the PEM public key for RS256. While the secret is being changed, list the new one and the old one: a token may be signed with any of them, and `agentd token issue` signs with the first (see agentd-identity(7), "Changing the key").',
  ),
  JWT_ALGORITHM: choice(
    {
      reload: true,
      choices: ['HS256', 'RS256'],
      required: true,
      example: 'HS256',
      shared: true,
      needed_for: ['tokens'],
    },
    'The only algorithm that a token may be signed with.',
  ),
  JWT_PUBLIC_KEY: text(
    { reload: true, several: true, shared: true, needed_for: ['tokens'] },
    'Public key for RS256: PEM, or the path of a PEM file. While the key is being changed, several, one after another (or a list in the configuration file): a token may be signed with any of them.',
  ),
  JWT_JWKS_URL: url(
    { reload: true, shared: true, needed_for: ['tokens'], query: true },
    'Address of the key set for RS256. Unless it is a loopback address, it must be https, and JWT_ISSUER and JWT_AUDIENCE must be set. The key set is fetched when it is needed, and cached. It is fetched again if a key is not in it, at most 5 times a minute.',
  ),
  JWT_VERIFY_SIGNATURE: flag(
    { reload: true, default: true, shared: true, needed_for: ['tokens'] },
    'Checks signatures; false is accepted only under NODE_ENV=development or test, or with `serve --dev`.',
  ),
  JWT_VERIFY_EXP: flag(
    { reload: true, default: true, shared: true, needed_for: ['store', 'tokens'] },
    'Checks expiry; false is accepted only under NODE_ENV=development or test, or with `serve --dev`.',
  ),
  JWT_ISSUER: text(
    { reload: true, shared: true, needed_for: ['tokens'] },
    'Expected `iss`. If unset or `*`, any issuer passes. JWT_JWKS_URL needs this setting, unless its address is a loopback address.',
  ),
  JWT_AUDIENCE: text(
    { reload: true, shared: true, needed_for: ['tokens'] },
    'Expected `aud`. If unset or `*`, any audience passes. JWT_JWKS_URL needs this setting, unless its address is a loopback address. With JWT_ISSUER, it makes `POST /backchannel-logout` available (agentd-service(7)).',
  ),
  JWT_CLOCK_SKEW_SECONDS: integer(
    {
      reload: true,
      min: 0,
      max: 300,
      default: 0,
      unit: 'seconds',
      shared: true,
      needed_for: ['store', 'tokens'],
    },
    'Clock difference that is tolerated for `exp`, `nbf` and `iat`.',
  ),
  JWT_DEBUG: flag(
    { reload: true, default: false, needed_for: ['tokens'] },
    'Logs the claims of each token and the decision, but only 8 characters and a hash of the token itself.',
  ),
  TOKEN_ENCRYPTION_KEY: text(
    { secret: true, shared: true, needed_for: ['seals'] },
    'Key that seals stored tokens: 32 bytes in base64. To change the key, set several, comma-separated: the first one seals tokens, and each of them can unseal tokens (see `agentd keys`). If unset, the first start makes a key in STATE_DIR/encryption-key. `off` stores tokens unsealed, with a warning. When the daemon starts with a key, it seals the tokens that are stored unsealed.',
  ),
  LINK_CODE_SECONDS: integer(
    { min: 1, max: 3600, default: 600, unit: 'seconds', shared: true },
    'How long a link code is valid, with which a person who is signed in on the website connects a chat.',
  ),
  SIGN_IN_URL: url(
    { query: true, fragment: true, example: 'https://www.example.com/account' },
    'Page on which people sign in and connect their chat. Replies on platforms name it when a person must sign in first, and the page `GET /chat` has a button that leads there.',
  ),
  SIGN_IN_WAIT_SECONDS: integer(
    { min: 0, max: 86_400, default: 2400, unit: 'seconds', shared: true },
    'How long a question on a platform that needs sign-in waits for it. If its sender signs in within this time, the question is answered without being asked again. 0 means that questions do not wait.',
  ),

  TOKEN_RENEWAL_URL: url(
    { shared: true, query: true },
    'Token endpoint of the site that renews the tokens of links which were made with a code, by token exchange (RFC 8693): https, or a loopback address. If unset, tokens are not renewed (see agentd-identity(7), "Links that last").',
  ),
  TOKEN_RENEWAL_CLIENT_ID: text({ shared: true }, 'Id of agentd as a client of TOKEN_RENEWAL_URL.'),
  TOKEN_RENEWAL_CLIENT_SECRET: text(
    { secret: true, shared: true },
    'Secret of agentd as a client of TOKEN_RENEWAL_URL.',
  ),
  TOKEN_RENEWAL_IDLE_DAYS: integer(
    { min: 1, max: 30, default: 7, unit: 'days', shared: true },
    'The tokens of links that were not used for this long are renewed only when the next message meets them.',
  ),

  // The company's API
  API_BASE_URL: url({ reload: true, shared: true }, 'Address of the business API.'),
  API_EMAIL: text({ reload: true }, 'E-mail of the default credentials.'),
  API_PASSWORD: text({ reload: true, secret: true }, 'Password of the default credentials.'),
  API_TIMEOUT_SECONDS: integer(
    { reload: true, min: 1, max: 120, default: 10, unit: 'seconds' },
    'Timeout of one call to the business API.',
  ),
  API_PUBLIC_USER_FIELDS: list(
    { reload: true, default: [], example: 'name', shared: true },
    'Fields of a user that the agent may see under default credentials, comma-separated.',
  ),
  GET_USER: flag(
    { reload: true, default: true, shared: true },
    'Offers the tool `get_user`, which looks up a user at `GET /users?userEmail=`. Set it to `off` if the API has no such path.',
  ),
};
