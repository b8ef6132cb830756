import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sessionBackend } from '../../../../src/daemon/settings/backends.ts';
import {
  type ConfigLocation,
  ConfigurationError,
  configure,
  configureCore,
  inspectConfiguration,
} from '../../../../src/daemon/settings/configure/configure.ts';
import { findUnknownNames } from '../../../../src/daemon/settings/configure/unknown-names.ts';
import { Secret } from '../../../../src/daemon/settings/secret.ts';
import { readSources } from '../../../../src/daemon/settings/sources.ts';
import { rsaPair } from '../../identity/make-token.ts';
import { placeWith, SECRET, VALID } from '../place.ts';

const rsa = (bits: number) => {
  const { publicKey, privateKey } = rsaPair('first', bits);
  return {
    publicKey: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
    privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
};
const RSA = rsa(2048);

async function refused(place: ConfigLocation): Promise<string[]> {
  const error = await configure(place).then(
    () => expect.unreachable('the configuration was accepted'),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ConfigurationError);
  return (error as ConfigurationError).problems.map(({ setting, problem }) => `${setting} ${problem}`);
}

describe('the configuration', () => {
  it('is complete if the settings of tokens and one channel are set', async () => {
    const place = placeWith({ ...VALID, LOG_LEVEL: 'warning', STATE_DIR: '~/state', NODE_ENV: 'Production' });
    const { settings, channels, available, warnings, environment } = await configure(place);
    expect(settings).toMatchObject({
      PORT: 8080,
      LOG_LEVEL: 'WARN',
      JWT_ALGORITHM: 'HS256',
      JWT_VERIFY_EXP: true,
    });
    expect(settings.STATE_DIR).toBe(join(place.cwd, 'state'));
    expect(settings.JWT_SECRET_KEY?.reveal()).toBe(SECRET);
    expect(settings.JWT_ISSUER).toBeUndefined();
    expect(settings).not.toHaveProperty('WEBCHAT_ENABLED');
    expect(channels).toMatchObject([
      {
        plugin: { name: 'webchat' },
        from: 'bundled',
        settings: { WEBCHAT_ENABLED: true, WEBCHAT_WEBHOOK_PATH: '/webchat/message' },
      },
    ]);
    expect(available).toEqual(expect.arrayContaining(['sse', 'webchat']));
    expect(warnings).toEqual([]);
    expect(environment).toBe('production');
  });

  it.each(['//chat', '/a//b', '/a/../b', '/./a', 'chat'])(
    'refuses %s as the path of webchat',
    async (path) => {
      const place = placeWith({ JWT_SECRET_KEY: SECRET, WEBCHAT_WEBHOOK_PATH: path });
      await expect(configure(place)).rejects.toThrow('WEBCHAT_WEBHOOK_PATH');
    },
  );

  it('reports all problems at once, each with setting, value, source, mistake and a correct value', async () => {
    const place = placeWith(
      { PORT: 'abc', JWT_SECRET_KEY: SECRET, TOKEN_ENCRYPTION_KEY: 'not-to-be-shown' },
      { '.env': 'API_BASE_URL=https://user:pass@example.com', 'agentd.yaml': 'AGENT_MAX_STEPS: 99' },
    );
    const error = await configure(place).catch((reason: unknown) => reason as ConfigurationError);
    expect(error).toBeInstanceOf(ConfigurationError);
    expect((error as ConfigurationError).message).toBe(
      `the configuration has 5 problems:

  PORT=abc (environment)
    wrong: is not a whole number
    right: a whole number from 0 to 65535

  API_BASE_URL=https://[secret]@example.com (.env)
    wrong: contains credentials
    right: an http or https address without credentials, query and fragment

  AGENT_MAX_STEPS=99 (agentd.yaml)
    wrong: is more than 50
    right: a whole number from 1 to 50

  JWT_ALGORITHM
    wrong: is not set
    right: one of HS256, RS256. The only algorithm that a token may be signed with.

  TOKEN_ENCRYPTION_KEY=[secret] (environment)
    wrong: is not 32 bytes in base64
    right: the output of \`openssl rand -base64 32\`; several, separated by commas, while the key is being changed; or \`off\``,
    );
  });

  it('reports both required settings of tokens if neither is set', async () => {
    expect(await refused(placeWith({}))).toEqual([
      'JWT_ALGORITHM is not set',
      'JWT_SECRET_KEY is not set, but tokens cannot be checked without a key',
    ]);
  });

  it('reports no setting as missing while a file cannot be read, because it may be in that file', async () => {
    const unparsed = placeWith({ MESSAGING_PLATFORMS: 'teamchat', PORT: 'x' }, { 'agentd.yaml': '[' });
    expect(await refused(unparsed)).toEqual([
      expect.stringMatching(/^agentd\.yaml cannot be read/),
      'PORT is not a whole number',
    ]);
    await expect(configureCore(unparsed, 'tokens')).rejects.toThrow(/has one problem:\s+agentd\.yaml\n/);
    const directory = placeWith({}, { '.env/not-a-file': '', 'etc/agentd.yaml': '{}' });
    expect(await refused(directory)).toEqual(['.env cannot be read (EISDIR)']);
    await expect(configureCore({ ...directory, configFile: 'etc/agentd.yaml' }, 'tokens')).rejects.toThrow(
      'JWT_ALGORITHM',
    );
  });

  it('says that `serve --dev` does not copy the secret that it was given', async () => {
    const place = { ...placeWith({}), defaults: { JWT_ALGORITHM: 'HS256' } };
    expect(await refused(place)).toEqual([
      'JWT_SECRET_KEY is not set: `serve --dev` was started with a secret of its own, which is not copied',
    ]);
  });

  it('uses the state directory of systemd unless STATE_DIR is set', async () => {
    const env = { ...VALID, STATE_DIRECTORY: '/var/lib/agentd:/var/lib/other' };
    expect((await configure(placeWith(env))).settings.STATE_DIR).toBe('/var/lib/agentd');
    expect((await configure(placeWith({ ...env, STATE_DIR: '/srv' }))).settings.STATE_DIR).toBe('/srv');
  });

  it('shows only whether a secret is set, and its source', async () => {
    const { effective } = await configure(placeWith(VALID));
    const secret = effective.find(({ record }) => record.name === 'JWT_SECRET_KEY');
    expect(secret).toMatchObject({ shown: '[secret]', source: 'environment', value: expect.any(Secret) });
    expect(JSON.stringify(effective)).not.toContain(SECRET);
  });

  it('causes only a warning if no channel is active', async () => {
    const { channels, warnings } = await configure(placeWith({ ...VALID, WEBCHAT_ENABLED: 'false' }));
    expect(channels).toEqual([]);
    expect(warnings).toEqual([expect.stringContaining('no channel is active')]);
  });
});

describe('the settings of tokens', () => {
  it.each<[string, Record<string, string>, string[]]>([
    [
      'HS256 without a secret',
      { JWT_ALGORITHM: 'HS256', JWT_SECRET_KEY: '' },
      ['JWT_SECRET_KEY is not set, but JWT_ALGORITHM is HS256'],
    ],
    [
      'HS256 with a public key as secret',
      { JWT_SECRET_KEY: RSA.publicKey },
      [
        'JWT_SECRET_KEY is a public key, but JWT_ALGORITHM is HS256: anybody who has the public key could sign tokens',
      ],
    ],
    [
      'HS256 with a certificate on one line as secret',
      { JWT_SECRET_KEY: '-----BEGIN CERTIFICATE-----\\nMIIB\\n-----END CERTIFICATE-----' },
      [
        'JWT_SECRET_KEY is a public key, but JWT_ALGORITHM is HS256: anybody who has the public key could sign tokens',
      ],
    ],
    [
      'RS256 without a key',
      { JWT_ALGORITHM: 'RS256', JWT_SECRET_KEY: '' },
      [
        'JWT_PUBLIC_KEY is not set, but JWT_ALGORITHM is RS256: this setting, JWT_JWKS_URL or JWT_SECRET_KEY must name the public key',
      ],
    ],
    [
      'RS256 with a secret that is not PEM',
      { JWT_ALGORITHM: 'RS256' },
      ['JWT_SECRET_KEY contains no readable PEM'],
    ],
    [
      'RS256 with the private key',
      { JWT_ALGORITHM: 'RS256', JWT_PUBLIC_KEY: RSA.privateKey },
      ['JWT_PUBLIC_KEY contains a private key, which only the issuer may have'],
    ],
    [
      'RS256 with a file that does not exist',
      { JWT_ALGORITHM: 'RS256', JWT_PUBLIC_KEY: '/no/such.pem' },
      ['JWT_PUBLIC_KEY is not PEM, and as a path it cannot be read (ENOENT)'],
    ],
    ['an unknown algorithm', { JWT_ALGORITHM: 'ES256' }, ['JWT_ALGORITHM is not one of the known values']],
    [
      'switched-off checks in production',
      { NODE_ENV: 'production', JWT_VERIFY_SIGNATURE: 'false', JWT_VERIFY_EXP: 'false' },
      [
        'JWT_VERIFY_SIGNATURE is refused under NODE_ENV=production: anybody can make a token that is accepted',
        'JWT_VERIFY_EXP is refused under NODE_ENV=production: expired tokens are accepted',
      ],
    ],
    [
      'switched-off checks in staging',
      { NODE_ENV: 'staging', JWT_VERIFY_EXP: 'false' },
      ['JWT_VERIFY_EXP is refused under NODE_ENV=staging: expired tokens are accepted'],
    ],
    [
      'switched-off checks if NODE_ENV is not set',
      { JWT_VERIFY_EXP: 'false' },
      ['JWT_VERIFY_EXP is refused while NODE_ENV is not set: expired tokens are accepted'],
    ],
    [
      'switched-off checks under another name for production',
      { NODE_ENV: 'prod', JWT_VERIFY_SIGNATURE: 'false' },
      ['JWT_VERIFY_SIGNATURE is refused under NODE_ENV=prod: anybody can make a token that is accepted'],
    ],
    [
      'a secret under 128 bits in production',
      { NODE_ENV: 'production', JWT_SECRET_KEY: 'abc' },
      [
        'JWT_SECRET_KEY has 24 bits, and NODE_ENV is production: anybody can find it by brute force and sign tokens',
      ],
    ],
    [
      'a secret of 120 bits in staging',
      { NODE_ENV: 'staging', JWT_SECRET_KEY: 'x'.repeat(15) },
      [
        'JWT_SECRET_KEY has 120 bits, and NODE_ENV is staging: anybody can find it by brute force and sign tokens',
      ],
    ],
    [
      'several secrets, of which some are short, in production',
      { NODE_ENV: 'production', JWT_SECRET_KEY: `${SECRET}\nabc\n${'x'.repeat(15)}` },
      [
        'JWT_SECRET_KEY (key 2 of 3) has 24 bits, and NODE_ENV is production: anybody can find it by brute force and sign tokens',
        'JWT_SECRET_KEY (key 3 of 3) has 120 bits, and NODE_ENV is production: anybody can find it by brute force and sign tokens',
      ],
    ],
    ...['{', '#old', '// December'].map((line): [string, Record<string, string>, string[]] => [
      `the line ${line} among secrets, in any environment`,
      { JWT_SECRET_KEY: `${SECRET}\n${line}` },
      [
        `JWT_SECRET_KEY (key 2 of 2) has ${line.length * 8} bits: anybody who guesses this line can sign tokens`,
      ],
    ]),
    [
      'HS256 with a public key after a secret',
      { JWT_SECRET_KEY: `${SECRET}\n${RSA.publicKey}` },
      [
        'JWT_SECRET_KEY is a public key, but JWT_ALGORITHM is HS256: anybody who has the public key could sign tokens',
      ],
    ],
    [
      'a key set over http, for any issuer and audience',
      { JWT_ALGORITHM: 'RS256', JWT_JWKS_URL: 'http://example.com/keys' },
      [
        'JWT_JWKS_URL is not https: anybody between agentd and the issuer can replace the keys',
        'JWT_ISSUER is not set, but the key set at JWT_JWKS_URL also signs tokens for other applications',
        'JWT_AUDIENCE is not set, but the key set at JWT_JWKS_URL also signs tokens for other applications',
      ],
    ],
    [
      'a key set for any audience, even in development',
      {
        NODE_ENV: 'development',
        JWT_ALGORITHM: 'RS256',
        JWT_JWKS_URL: 'https://example.com/keys',
        JWT_ISSUER: 'https://example.com',
      },
      ['JWT_AUDIENCE is not set, but the key set at JWT_JWKS_URL also signs tokens for other applications'],
    ],
    [
      'a key set at a host name that only begins like a loopback address',
      {
        JWT_ALGORITHM: 'RS256',
        JWT_JWKS_URL: 'http://127.0.0.1.example.com/keys',
        JWT_ISSUER: '*',
        JWT_AUDIENCE: '*',
      },
      ['JWT_JWKS_URL is not https: anybody between agentd and the issuer can replace the keys'],
    ],
    [
      'a renewal of tokens over http, and without a client',
      { TOKEN_RENEWAL_URL: 'http://127.0.0.1.example.com/token' },
      [
        'TOKEN_RENEWAL_CLIENT_ID is not set, but TOKEN_RENEWAL_URL is: tokens cannot be renewed without it',
        'TOKEN_RENEWAL_CLIENT_SECRET is not set, but TOKEN_RENEWAL_URL is: tokens cannot be renewed without it',
        'TOKEN_RENEWAL_URL is not https: the tokens of persons could be read on the way',
      ],
    ],
    [
      'a client that renews tokens, but no address',
      { TOKEN_RENEWAL_CLIENT_ID: 'agentd', TOKEN_RENEWAL_CLIENT_SECRET: 'secret' },
      ['TOKEN_RENEWAL_URL is not set, but TOKEN_RENEWAL_CLIENT_ID is: tokens cannot be renewed without it'],
    ],
    [
      'an empty second encryption key',
      { TOKEN_ENCRYPTION_KEY: `${Buffer.alloc(32).toString('base64')},` },
      ['TOKEN_ENCRYPTION_KEY has a key (number 2) that is not 32 bytes in base64'],
    ],
    [
      'an encryption key of 31 bytes',
      { TOKEN_ENCRYPTION_KEY: Buffer.alloc(31).toString('base64') },
      ['TOKEN_ENCRYPTION_KEY is not 32 bytes in base64'],
    ],
    [
      'recordings that would not be sealed',
      { RECORD_RUNS: 'all', TOKEN_ENCRYPTION_KEY: 'off' },
      ['RECORD_RUNS is all, but recordings are always sealed, and TOKEN_ENCRYPTION_KEY is off'],
    ],
    [
      'recordings in a shared store without a shared key',
      { RECORD_RUNS: 'flagged', REDIS_URL: 'redis://127.0.0.1' },
      [
        'RECORD_RUNS is flagged, but recordings are always sealed, and TOKEN_ENCRYPTION_KEY is not set, and daemons share the store',
      ],
    ],
  ])('are refused: %s', async (_what, env, problems) => {
    expect(await refused(placeWith({ ...VALID, ...env }))).toEqual(problems);
  });

  it.each<[string, Record<string, string>]>([
    [
      'RS256 with a public key',
      { JWT_ALGORITHM: 'RS256', JWT_PUBLIC_KEY: RSA.publicKey, JWT_SECRET_KEY: '' },
    ],
    ['RS256 with a PEM in JWT_SECRET_KEY', { JWT_ALGORITHM: 'rs256', JWT_SECRET_KEY: RSA.publicKey }],
    [
      'RS256 with a key set, for any issuer and audience on purpose',
      {
        JWT_ALGORITHM: 'RS256',
        JWT_JWKS_URL: 'https://example.com/keys',
        JWT_SECRET_KEY: '',
        JWT_ISSUER: '*',
        JWT_AUDIENCE: '*',
      },
    ],
    ...['http://127.0.0.1:9/keys', 'http://localhost/keys', 'http://[::1]/keys'].map(
      (JWT_JWKS_URL): [string, Record<string, string>] => [
        `RS256 with a key set at ${JWT_JWKS_URL}`,
        { JWT_ALGORITHM: 'RS256', JWT_JWKS_URL, JWT_SECRET_KEY: '' },
      ],
    ),
    ['recordings, with the key that the daemon makes', { RECORD_RUNS: 'all' }],
    [
      'two encryption keys',
      { TOKEN_ENCRYPTION_KEY: [1, 2].map((n) => Buffer.alloc(32, n).toString('base64')).join(', ') },
    ],
  ])('are accepted: %s', async (_what, env) => {
    expect((await configure(placeWith({ ...VALID, ...env }))).warnings).toEqual([]);
  });

  const LAX = { ...VALID, JWT_SECRET_KEY: 'short', JWT_VERIFY_EXP: 'false' };

  it.each<[string, Record<string, string>, Record<string, string> | undefined]>([
    ['NODE_ENV=development', { ...LAX, NODE_ENV: 'development' }, undefined],
    ['NODE_ENV=test', { ...LAX, NODE_ENV: 'test' }, undefined],
    ['serve --dev', LAX, {}],
  ])('cause warnings if the secret is short and a check is off: %s', async (_where, env, defaults) => {
    const place = { ...placeWith(env), ...(defaults ? { defaults } : {}) };
    expect((await configure(place)).warnings).toEqual([
      'JWT_SECRET_KEY has 40 bits; HS256 should have a secret of 256 bits or more',
      'JWT_VERIFY_EXP=false: expired tokens are accepted; for development only',
    ]);
  });

  it.each(['Development', 'TEST', 'dev'])('are refused if a check is off under NODE_ENV=%s', async (name) => {
    expect(await refused(placeWith({ ...LAX, NODE_ENV: name }))).toEqual([
      expect.stringContaining(`is refused under NODE_ENV=${name}`),
    ]);
  });

  it('are refused if a check is off under `serve --dev` in staging', async () => {
    const place = placeWith({ ...VALID, NODE_ENV: 'staging', JWT_VERIFY_EXP: 'false' });
    expect(await refused({ ...place, defaults: {} })).toEqual([
      'JWT_VERIFY_EXP is refused under NODE_ENV=staging: expired tokens are accepted',
    ]);
  });

  it('cause a warning in production if a secret has between 128 and 256 bits', async () => {
    const two = placeWith({ ...VALID, JWT_SECRET_KEY: `${SECRET}\n${'y'.repeat(16)}` });
    expect((await configure(two)).warnings).toContain(
      'JWT_SECRET_KEY (key 2 of 2) has 128 bits; HS256 should have a secret of 256 bits or more',
    );
    const place = placeWith({ ...VALID, NODE_ENV: 'production', JWT_SECRET_KEY: 'x'.repeat(16) });
    expect((await configure(place)).warnings).toEqual([
      'JWT_SECRET_KEY has 128 bits; HS256 should have a secret of 256 bits or more',
    ]);
  });
});

describe('limits', () => {
  it.each([
    'RATE_LIMIT_TOKEN_MAX',
    'RATE_LIMIT_ANONYMOUS_MAX',
    'LOOP_GUARD_MAX_MESSAGES',
    'LOOP_GUARD_MAX_TURNS_PER_SESSION',
    'LOOP_GUARD_REPEAT_THRESHOLD',
  ] as const)('%s can be so high that it affects nobody', async (name) => {
    const { settings } = await configure(placeWith({ ...VALID, [name]: '1000000000' }));
    expect(settings[name]).toBe(1_000_000_000);
    expect(await refused(placeWith({ ...VALID, [name]: '1000000001' }))).toHaveLength(1);
  });

  it('BODY_LIMIT_BYTES can be very small', async () => {
    expect(
      (await configure(placeWith({ ...VALID, BODY_LIMIT_BYTES: '100' }))).settings.BODY_LIMIT_BYTES,
    ).toBe(100);
  });
});

describe('settings that depend on each other', () => {
  it.each<[Record<string, string>, string]>([
    [{ API_EMAIL: 'a@example.com', API_BASE_URL: 'http://x' }, 'API_PASSWORD is not set, but API_EMAIL is'],
    [{ API_PASSWORD: 'p', API_BASE_URL: 'http://x' }, 'API_EMAIL is not set, but API_PASSWORD is'],
    [{ AGENT_RUNTIME: 'llm' }, 'AGENT_MODEL is not set, but AGENT_RUNTIME is llm'],
    [{ AGENT_MODEL: 'small' }, 'AGENT_MODEL does not say where the model runs'],
    [
      { AGENT_MODEL: 'openai:large', AGENT_FALLBACK_MODEL: 'small' },
      'AGENT_FALLBACK_MODEL does not say where the model runs',
    ],
    [
      { AGENT_MODEL: 'openai:large', AGENT_DAILY_TOKENS: '1000', AGENT_MAX_OUTPUT_TOKENS: '1000' },
      'AGENT_DAILY_TOKENS is not more than AGENT_MAX_OUTPUT_TOKENS (1000), which each model call reserves: no call could be made',
    ],
    [{ AGENT_RUNTIME: 'openai' }, 'AGENT_RUNTIME is neither a known runtime nor the path of a file'],
    [{ ADMIN_LISTEN: '9464' }, 'ADMIN_LISTEN is not an address with a port'],
    [{ ADMIN_LISTEN: 'http://127.0.0.1:9464' }, 'ADMIN_LISTEN is not an address with a port'],
    [{ ADMIN_LISTEN: '127.0.0.1:65536' }, 'ADMIN_LISTEN is not an address with a port'],
    [{ ADMIN_LISTEN: ':8080' }, 'ADMIN_LISTEN has the same port as the public listener (PORT)'],
    [
      { ADMIN_LISTEN: '[::1]:80', PORT: '80' },
      'ADMIN_LISTEN has the same port as the public listener (PORT)',
    ],
    [
      { WEBCHAT_ALLOWED_ORIGINS: 'https://example.com/' },
      'WEBCHAT_ALLOWED_ORIGINS contains `https://example.com/`, which no browser sends as an origin',
    ],
    [
      { WEBCHAT_ALLOWED_ORIGINS: 'https://EXAMPLE.com' },
      'WEBCHAT_ALLOWED_ORIGINS contains `https://EXAMPLE.com`, which no browser sends as an origin',
    ],
    [
      { WEBCHAT_ALLOWED_ORIGINS: 'https://*.example.com' },
      'WEBCHAT_ALLOWED_ORIGINS contains `https://*.example.com`, which no browser sends as an origin',
    ],
  ])('are refused: %o', async (env, problem) => {
    expect(await refused(placeWith({ ...VALID, ...env }))).toEqual([problem]);
  });

  it.each<Record<string, string>>([
    { AGENT_MODEL: 'small', AGENT_BASE_URL: 'http://127.0.0.1:1/v1' },
    { AGENT_MODEL: 'openai:small' },
    { AGENT_MODEL: 'openai:large', AGENT_FALLBACK_MODEL: 'builtin', AGENT_DAILY_TOKENS: '1000' },
    { AGENT_MODEL: 'large', AGENT_BASE_URL: 'http://127.0.0.1:1/v1', AGENT_FALLBACK_MODEL: 'small' },
    {
      AGENT_MODEL: 'openai:large',
      AGENT_FALLBACK_MODEL: 'small',
      AGENT_FALLBACK_BASE_URL: 'http://127.0.0.1:1/v1',
    },
    { AGENT_MODEL: 'small', AGENT_RUNTIME: 'builtin' },
    { WEBCHAT_ALLOWED_ORIGINS: 'https://example.com, http://localhost:3000' },
    { WEBCHAT_ALLOWED_ORIGINS: '*' },
    { ADMIN_LISTEN: '127.0.0.1:9464', SHUTDOWN_DELAY_SECONDS: '24' },
    { ADMIN_LISTEN: ':0', PORT: '0', ADMIN_TOKEN: 'x'.repeat(16) },
    { AGENT_TIMEOUT_SECONDS: '20' },
    { SHUTDOWN_GRACE_SECONDS: '60' },
    { SHUTDOWN_GRACE_SECONDS: '65', ADMIN_LISTEN: '127.0.0.1:0', SHUTDOWN_DELAY_SECONDS: '5' },
  ])('are accepted: %o', async (env) => {
    expect((await configure(placeWith({ ...VALID, ...env }))).warnings).toEqual([]);
  });

  it('cause a warning if a setting has no effect', async () => {
    const env = { ...VALID, API_EMAIL: 'a@example.com', API_PASSWORD: 'p' };
    expect((await configure(placeWith(env))).warnings).toEqual([
      'API_EMAIL has no effect while API_BASE_URL is not set: no business API is called',
    ]);
    const without = {
      ...VALID,
      API_BASE_URL: 'http://127.0.0.1:1',
      API_PUBLIC_USER_FIELDS: 'name',
      GET_USER: 'off',
    };
    expect((await configure(placeWith(without))).warnings).toContain(
      'API_PUBLIC_USER_FIELDS has no effect while GET_USER is off: no user is looked up',
    );
  });

  it.each<[Record<string, string>, string[]]>([
    [
      { JWT_PUBLIC_KEY: RSA.publicKey, JWT_JWKS_URL: 'http://127.0.0.1:1/keys' },
      [
        'JWT_PUBLIC_KEY has no effect: JWT_ALGORITHM is HS256',
        'JWT_JWKS_URL has no effect: JWT_ALGORITHM is HS256',
      ],
    ],
    [
      { JWT_ALGORITHM: 'RS256', JWT_PUBLIC_KEY: RSA.publicKey, JWT_JWKS_URL: 'http://127.0.0.1:1/keys' },
      ['JWT_JWKS_URL has no effect: JWT_PUBLIC_KEY is set'],
    ],
  ])('cause a warning if other keys check tokens: %o', async (env, warnings) => {
    expect((await configure(placeWith({ ...VALID, ...env }))).warnings).toEqual(warnings);
  });

  it.each<Record<string, string>>([
    { AGENT_BASE_URL: 'http://127.0.0.1:1/v1' },
    { AGENT_BASE_URL: 'http://127.0.0.1:1/v1', AGENT_RUNTIME: 'builtin' },
  ])('cause a warning if AGENT_MODEL is missing: %o', async (env) => {
    expect((await configure(placeWith({ ...VALID, ...env }))).warnings).toEqual([
      'AGENT_BASE_URL has no effect: AGENT_MODEL is not set, so the builtin agent answers',
    ]);
  });

  it.each<[Record<string, string>, string]>([
    [
      { AGENT_FALLBACK_MODEL: 'builtin' },
      'AGENT_FALLBACK_MODEL has no effect: the builtin agent answers, which needs no model',
    ],
    [
      { AGENT_MODEL: 'openai:large', AGENT_FALLBACK_BASE_URL: 'http://127.0.0.1:1/v1' },
      'AGENT_FALLBACK_BASE_URL has no effect: AGENT_FALLBACK_MODEL is not set',
    ],
  ])(
    'cause a warning about a fallback setting without a model or a fallback model: %o',
    async (env, warning) => {
      expect((await configure(placeWith({ ...VALID, ...env }))).warnings).toEqual([warning]);
    },
  );

  it.each<[Record<string, string>, string]>([
    [
      { ADMIN_LISTEN: ':9464' },
      'ADMIN_LISTEN (:9464) is not a loopback address, and ADMIN_TOKEN is not set: anybody who reaches it can read /metrics',
    ],
    [
      { ADMIN_LISTEN: '[::1]:9464', ADMIN_TOKEN: 'x'.repeat(15) },
      'ADMIN_TOKEN has fewer than 16 characters and can be guessed: use a random one, for example from `openssl rand -base64 24`',
    ],
    [
      { API_BASE_URL: 'http://api.internal', NODE_ENV: 'production' },
      'API_BASE_URL is reached at api.internal without TLS: anybody who can read the network between them sees tokens and conversations. Use https://, or a network that only these hosts can read',
    ],
    ...['redis://cache:6379', 'redis+sentinel://127.0.0.1:1,cache:2/m', 'redis+cluster://cache:1'].map(
      (REDIS_URL): [Record<string, string>, string] => [
        { REDIS_URL, NODE_ENV: 'production', TOKEN_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64') },
        'REDIS_URL is reached at cache without TLS: anybody who can read the network between them sees tokens and conversations. Use rediss://, or a network that only these hosts can read',
      ],
    ),
  ])('cause a warning if they expose something on the network: %o', async (env, warning) => {
    expect((await configure(placeWith({ ...VALID, ...env }))).warnings).toEqual([warning]);
  });

  it.each<Record<string, string>>([
    { API_BASE_URL: 'http://127.0.0.1:1' },
    { API_BASE_URL: 'https://api.example.com' },
    { REDIS_URL: 'redis://localhost' },
    { REDIS_URL: 'redis://[::1]:6379' },
    { REDIS_URL: 'rediss://cache' },
    { REDIS_URL: 'unix:/run/redis.sock' },
  ])('cause no warning in production if nothing leaves the host unencrypted: %o', async (env) => {
    const TOKEN_ENCRYPTION_KEY = Buffer.alloc(32, 7).toString('base64');
    const place = placeWith({ ...VALID, NODE_ENV: 'production', TOKEN_ENCRYPTION_KEY, ...env });
    expect((await configure(place)).warnings).toEqual([]);
  });

  it.each<[Record<string, string>, string, string]>([
    [{ SHUTDOWN_GRACE_SECONDS: '59' }, 'SHUTDOWN_GRACE_SECONDS (59)', 'more than 59 s'],
    [{ AGENT_TIMEOUT_SECONDS: '26' }, 'SHUTDOWN_GRACE_SECONDS (25)', 'more than 25 s'],
    [
      { SHUTDOWN_GRACE_SECONDS: '62', ADMIN_LISTEN: '127.0.0.1:0', SHUTDOWN_DELAY_SECONDS: '4' },
      'SHUTDOWN_GRACE_SECONDS (62) without SHUTDOWN_DELAY_SECONDS (4)',
      'more than 58 s',
    ],
  ])('cause a warning if a stop cuts runs that are within their time limit: %o', async (env, grace, cut) => {
    const { warnings } = await configure(placeWith({ ...VALID, ...env }));
    const limit = env.AGENT_TIMEOUT_SECONDS ?? 60;
    expect(warnings).toEqual([
      `${grace} is less than AGENT_TIMEOUT_SECONDS (${limit}): a stop cuts runs that take ${cut}. Their requests get 503, and messages of platforms are run again after the next start`,
    ]);
  });

  it('are refused if WEBCHAT_ALLOWED_ORIGINS is * while a channel streams to browsers', async () => {
    const plugin = `export default { name: 'flow', apiVersion: 1, summary: 'Streams.', settings: [],
      detect: () => true, create: () => ({ routes: [] }),
      delivery: 'stream', capabilities: { textLimit: null, markdown: 'none', typing: false } };`;
    const files = { 'flow.mjs': plugin, 'agentd.yaml': 'plugins: [./flow.mjs]' };
    expect(await refused(placeWith({ ...VALID, WEBCHAT_ALLOWED_ORIGINS: '*' }, files))).toEqual([
      'WEBCHAT_ALLOWED_ORIGINS contains * although the channel flow is active, which browsers call with credentials',
    ]);
  });
});

it('what is right for a string is shown by its example', async () => {
  const { problems } = await inspectConfiguration(placeWith(VALID, { 'agentd.yaml': 'ADMIN_LISTEN: 9464' }));
  expect(problems).toMatchObject([
    { problem: 'is a number; put it in quotes', right: 'a string, such as 127.0.0.1:9464' },
  ]);
});

describe('unknown names of settings', () => {
  it('are problems in the configuration file, each with the most similar known name', async () => {
    const { problems } = await inspectConfiguration(
      placeWith(VALID, { 'agentd.yaml': 'PROT: 1\nlogLevel: INFO\nQUITE_DIFFERENT: 1' }),
    );
    expect(problems.map(({ setting, problem, right }) => [setting, problem, right])).toEqual([
      ['PROT', 'is not a setting', 'PORT, perhaps'],
      ['logLevel', 'is not a setting', 'LOG_LEVEL, perhaps'],
      ['QUITE_DIFFERENT', 'is not a setting', 'a name that `agentd config reference` lists'],
    ]);
  });

  it.each(['AGENT_MODL', 'WEBCHAT_ALLOWED_ORGIINS', 'SESSION_TLT_SECONDS', 'LOG_FILES'])(
    'are problems in the environment if they look misspelled: %s',
    async (name) => {
      expect(await refused(placeWith({ ...VALID, [name]: 'x' }))).toEqual([
        expect.stringMatching(new RegExp(`^${name} is not a setting, but looks like `)),
      ]);
    },
  );

  it.each([
    ['of a different program', 'APP_HOME'],
    ['of a different program, and similar to a short name', 'HOSTS'],
    ['similar to a name that is set', 'JWT_SECRET_KEYS'],
  ])('are ignored in the environment: %s', async (_what, name) => {
    expect((await configure(placeWith({ ...VALID, [name]: 'x' }))).warnings).toEqual([]);
  });

  /** The problems and warnings if only these channels are installed. */
  const withOnly = async (channels: string[], env: Record<string, string>) =>
    findUnknownNames(await readSources(placeWith(env)), { known: [], channels, complete: true });

  it('cause a warning if they belong to a documented channel that is not installed', async () => {
    const { problems, warnings } = await withOnly(['webchat'], { TEAMCHAT_BOT_TOKEN: 'x' });
    expect(problems).toEqual([]);
    expect(warnings).toEqual([
      'TEAMCHAT_BOT_TOKEN (environment) has no effect: this version does not have the channel teamchat',
    ]);
  });

  it('cause a warning if Node.js would have needed them in its environment, but they are in `.env`', async () => {
    const file = 'NODE_EXTRA_CA_CERTS=/ca.pem\nNODE_ENV=test\nNODE_USE_SYSTEM_CA=1';
    const place = placeWith({ ...VALID, NODE_USE_SYSTEM_CA: '1' }, { '.env': file });
    expect((await configure(place)).warnings).toEqual([
      'NODE_EXTRA_CA_CERTS (.env) has no effect: Node.js reads it from the environment of the process only',
    ]);
  });

  it('are a problem if they enable a channel that is not installed: the error lists the known channels', async () => {
    const { problems } = await withOnly(['sse', 'webchat'], { MSGBOT_ENABLED: 'true' });
    expect(problems).toEqual([
      {
        setting: 'MSGBOT_ENABLED',
        value: 'true',
        source: 'environment',
        problem: 'turns on a channel that this version does not have',
        right: 'one of sse, webchat',
      },
    ]);
    expect(await withOnly(['webchat'], { MSGBOT_ENABLED: 'false' })).toEqual({ problems: [], warnings: [] });
  });
});

describe('the configuration of the store', () => {
  const sealed = { ...VALID, TOKEN_ENCRYPTION_KEY: Buffer.alloc(32).toString('base64') };
  const backendOf = async (env: Record<string, string>) =>
    sessionBackend((await configure(placeWith(env))).settings);

  it('is the embedded database, or Redis if REDIS_URL is set', async () => {
    expect(await backendOf(VALID)).toBe('sqlite');
    expect(await backendOf({ ...VALID, REDIS_URL: '' })).toBe('sqlite');
    expect(await backendOf({ ...sealed, REDIS_URL: 'redis://r' })).toBe('redis');
    expect(await backendOf({ ...sealed, REDIS_URL: 'redis://r', SESSION_BACKEND: 'redis' })).toBe('redis');
    expect(await backendOf({ ...VALID, REDIS_URL: 'redis://r', SESSION_BACKEND: 'sqlite' })).toBe('sqlite');
  });

  it('needs a valid REDIS_URL for Redis', async () => {
    expect(await refused(placeWith({ ...sealed, SESSION_BACKEND: 'redis' }))).toEqual([
      'REDIS_URL is not set, but SESSION_BACKEND is redis',
    ]);
    const [problem, ...others] = await refused(
      placeWith({ ...sealed, REDIS_URL: 'redis://:pass@word@host' }),
    );
    expect(problem).toBe('REDIS_URL cannot be read: one of its hosts is not a host and a port');
    expect(others).toEqual([]);
  });

  it('causes a warning if replicas on Redis share no key, or if a setting has no effect', async () => {
    const warningsOf = async (env: Record<string, string>) => (await configure(placeWith(env))).warnings;
    expect(await warningsOf({ ...VALID, REDIS_URL: 'redis://r' })).toEqual([
      expect.stringMatching(/^TOKEN_ENCRYPTION_KEY is not set: tokens are stored unsealed/),
    ]);
    expect(await warningsOf({ ...sealed, REDIS_URL: 'redis://r' })).toEqual([]);
    const postgres = { SESSION_BACKEND: 'postgres', DATABASE_URL: 'postgres://127.0.0.1/agentd' };
    expect(await warningsOf({ ...VALID, ...postgres })).toEqual([
      expect.stringMatching(/^TOKEN_ENCRYPTION_KEY is not set: tokens are stored unsealed/),
    ]);
    expect(await warningsOf({ ...sealed, ...postgres, MEMORY_BACKEND: 'none' })).toEqual([]);
    expect(await refused(placeWith({ ...VALID, SESSION_BACKEND: 'postgres' }))).toEqual([
      'DATABASE_URL is not set, but SESSION_BACKEND is postgres',
    ]);
    expect(
      await warningsOf({
        ...VALID,
        SESSION_BACKEND: 'sqlite',
        REDIS_URL: 'redis://r',
        REDIS_DURABILITY: 'always',
      }),
    ).toEqual([
      'REDIS_URL has no effect: SESSION_BACKEND is sqlite',
      'REDIS_DURABILITY has no effect: SESSION_BACKEND is sqlite',
    ]);
  });
});

describe('the active channels', () => {
  const telex = `export default { name: 'telex', apiVersion: 1, summary: 'By telex.',
    settings: [
      { name: 'TELEX_TOKEN', kind: 'string', secret: true, required: true, sentence: 'Token.' },
      { name: 'TELEX_NUMBER', kind: 'integer', min: 1, max: 9, required: true, sentence: 'Number.' },
    ],
    detect: (settings) => settings.TELEX_TOKEN !== undefined,
    create: () => ({ routes: [], send: async () => {} }),
    delivery: 'push', capabilities: { textLimit: 80, markdown: 'none', typing: false } };`;
  const files = {
    'channels/telex.mjs': telex,
    'agentd.yaml': 'plugins: [{ path: ./channels/telex.mjs, name: telex }]',
  };
  const names = async (place: ConfigLocation) =>
    (await configure(place)).channels.map(({ plugin }) => plugin.name);

  it('are detected from their settings if MESSAGING_PLATFORMS is not set', async () => {
    expect(await names(placeWith(VALID, files))).toEqual(['webchat']);
    expect(await names(placeWith({ ...VALID, TELEX_TOKEN: 't', TELEX_NUMBER: '1' }, files))).toEqual([
      'webchat',
      'telex',
    ]);
  });

  it('are exactly the channels that MESSAGING_PLATFORMS lists, in its order, if it is set', async () => {
    const env = { ...VALID, TELEX_TOKEN: 't', TELEX_NUMBER: '1' };
    expect(await names(placeWith({ ...env, MESSAGING_PLATFORMS: 'telex, webchat,telex' }, files))).toEqual([
      'telex',
      'webchat',
    ]);
    expect(await names(placeWith({ ...env, MESSAGING_PLATFORMS: 'telex' }, files))).toEqual(['telex']);
  });

  it('may be listed by their titles in lower case, unless several have the title', async () => {
    const titled = telex.replace("name: 'telex',", "name: 'telex', title: 'Telex Two',");
    expect(titled).not.toBe(telex);
    const given = { ...files, 'channels/telex.mjs': titled };
    const env = { ...VALID, TELEX_TOKEN: 't', TELEX_NUMBER: '1' };
    const place = placeWith({ ...env, MESSAGING_PLATFORMS: 'telex-two,website,webchat' }, given);
    expect(await names(place)).toEqual(['telex', 'webchat']);
    const twice = { ...files, 'channels/telex.mjs': titled.replace('Telex Two', 'Website') };
    expect(await refused(placeWith({ ...env, MESSAGING_PLATFORMS: 'website' }, twice))).toEqual([
      'MESSAGING_PLATFORMS there is no channel of this name',
    ]);
  });

  it('need no setting that enables them if MESSAGING_PLATFORMS lists them', async () => {
    const { WEBCHAT_ENABLED: _, ...env } = VALID;
    expect(await names(placeWith({ ...env, MESSAGING_PLATFORMS: 'webchat' }))).toEqual(['webchat']);
  });

  it('get their secret settings as Secret objects', async () => {
    const [channel] = (
      await configure(
        placeWith({ ...VALID, MESSAGING_PLATFORMS: 'telex', TELEX_TOKEN: 't', TELEX_NUMBER: '1' }, files),
      )
    ).channels;
    expect(channel?.settings.TELEX_TOKEN).toBeInstanceOf(Secret);
    expect(channel?.settings.TELEX_NUMBER).toBe(1);
    expect(channel?.from).toBe('./channels/telex.mjs');
  });

  it('are refused if a listed channel lacks settings, and each missing setting is named', async () => {
    expect(await refused(placeWith({ ...VALID, MESSAGING_PLATFORMS: 'telex' }, files))).toEqual([
      'TELEX_TOKEN is not set, so the platform telex is not configured',
      'TELEX_NUMBER is not set, so the platform telex is not configured',
    ]);
  });

  it('are refused if a channel that is detected lacks a required setting', async () => {
    expect(await refused(placeWith({ ...VALID, TELEX_TOKEN: 't' }, files))).toEqual([
      'TELEX_NUMBER is not set, so the platform telex is not configured',
    ]);
  });

  it('do not include a channel if only some of the settings that detect it are set: a warning says so', async () => {
    const half = telex.replace(
      'settings.TELEX_TOKEN !==',
      'settings.TELEX_NUMBER && settings.TELEX_TOKEN !==',
    );
    const given = { ...files, 'channels/telex.mjs': half };
    const { channels, warnings } = await configure(placeWith({ ...VALID, TELEX_TOKEN: 't' }, given));
    expect(channels.map(({ plugin }) => plugin.name)).toEqual(['webchat']);
    expect(warnings).toEqual(['the channel telex is off: TELEX_TOKEN is set, but not TELEX_NUMBER']);
    expect((await configure(placeWith(VALID, given))).warnings).toEqual([]);
    const listed = { ...VALID, TELEX_TOKEN: 't', MESSAGING_PLATFORMS: 'webchat' };
    expect((await configure(placeWith(listed, given))).warnings).toEqual([]);
  });

  it('include a channel that MESSAGING_PLATFORMS names even if it is switched off: a warning says so', async () => {
    const env = { ...VALID, MESSAGING_PLATFORMS: 'webchat', WEBCHAT_ENABLED: 'false' };
    const { channels, warnings } = await configure(placeWith(env));
    expect(channels.map(({ plugin }) => plugin.name)).toEqual(['webchat']);
    expect(warnings).toEqual([
      'the channel webchat is on: MESSAGING_PLATFORMS names it, so WEBCHAT_ENABLED=false has no effect',
    ]);
    const { WEBCHAT_ENABLED: _, ...without } = env;
    expect((await configure(placeWith(without))).warnings).toEqual([]);
  });

  it('leave out a channel that MESSAGING_PLATFORMS does not name even if it is switched on: a warning says so', async () => {
    const env = { ...VALID, MESSAGING_PLATFORMS: 'sse', WEBCHAT_ENABLED: 'true' };
    const { channels, warnings } = await configure(placeWith(env));
    expect(channels.map(({ plugin }) => plugin.name)).toEqual(['sse']);
    expect(warnings).toEqual([
      'the channel webchat is off: MESSAGING_PLATFORMS does not name it, so WEBCHAT_ENABLED=true has no effect',
    ]);
  });

  it.each(['teamchat', 'phonechat', 'msgbot'])(
    'do not include %s if a required setting is missing, which is a problem only if the channel is listed',
    async (name) => {
      const { plugins } = await inspectConfiguration(placeWith(VALID));
      const plugin = plugins.find((one) => one.name === name);
      const needed = plugin?.settings.flatMap((record) => (record.required ? [record.name] : [])) ?? [];
      expect(needed.length).toBeGreaterThan(1);
      for (const missing of needed) {
        const set = needed.filter((setting) => setting !== missing);
        const env = { ...VALID, ...Object.fromEntries(set.map((setting) => [setting, 'a-value'])) };
        const { channels, warnings } = await configure(placeWith(env));
        expect(channels.map((channel) => channel.plugin.name)).toEqual(['webchat']);
        expect(warnings).toEqual([
          `the channel ${name} is off: ${set.join(', ')} ${set.length === 1 ? 'is' : 'are'} set, but not ${missing}`,
        ]);
        expect(await refused(placeWith({ ...env, MESSAGING_PLATFORMS: name }))).toEqual([
          `${missing} is not set, so the platform ${name} is not configured`,
        ]);
      }
    },
  );

  it('are refused if an unknown channel is listed, and the error names the known channels', async () => {
    const { problems } = await inspectConfiguration(
      placeWith({ ...VALID, MESSAGING_PLATFORMS: 'carrier-pigeon,webchta' }, files),
    );
    expect(problems).toMatchObject([
      {
        setting: 'MESSAGING_PLATFORMS',
        value: 'carrier-pigeon',
        source: 'environment',
        problem: 'there is no channel of this name',
        right: expect.stringMatching(/^one of .*sse, .*webchat, telex,/),
      },
      {
        setting: 'MESSAGING_PLATFORMS',
        value: 'webchta',
        right: expect.stringMatching(/^webchat, perhaps;/),
      },
    ]);
  });
});

describe('the configuration of a command', () => {
  it('ignores problems of settings that the command does not need', async () => {
    const env = { PORT: 'abc', STATE_DIR: '/srv', JWT_VERIFY_SIGNATURE: 'maybe' };
    const settings = await configureCore(placeWith(env, { 'agentd.yaml': 'NONSENSE: 1' }), 'store');
    expect(settings).toMatchObject({ STATE_DIR: '/srv', PORT: 8080, JWT_VERIFY_SIGNATURE: true });
    expect(settings.JWT_ALGORITHM).toBeUndefined();
  });

  it.each([
    ['address', ['PORT is not a whole number']],
    [
      'tokens',
      [
        'JWT_VERIFY_SIGNATURE is neither true nor false',
        'JWT_ALGORITHM is not set',
        'JWT_SECRET_KEY is not set, but tokens cannot be checked without a key',
      ],
    ],
  ] as const)('is refused if a setting for this purpose is wrong: %s', async (purpose, expected) => {
    const place = placeWith({ PORT: 'abc', JWT_VERIFY_SIGNATURE: 'maybe' });
    const error = await configureCore(place, purpose).catch(
      (reason: unknown) => reason as ConfigurationError,
    );
    expect(error).toBeInstanceOf(ConfigurationError);
    expect(
      (error as ConfigurationError).problems.map(({ setting, problem }) => `${setting} ${problem}`),
    ).toEqual(expected);
  });

  it('is refused if the configuration file cannot be parsed', async () => {
    const place = placeWith({}, { 'agentd.yaml': '[' });
    await expect(configureCore(place, 'log')).rejects.toThrow('agentd.yaml');
  });

  it('is read even if .env cannot be read, as long as the configuration file is in another directory', async () => {
    const files = {
      '.env/not-a-file': '',
      'etc/agentd.yaml': 'LOG_FILE: /var/log/agentd.log',
      'agentd.yaml': '{}',
    };
    const place = placeWith({}, files);
    const log = (configFile: string) => configureCore({ ...place, configFile }, 'log');
    expect(await log('etc/agentd.yaml')).toMatchObject({ LOG_FILE: '/var/log/agentd.log' });
    await expect(log('agentd.yaml')).rejects.toThrow('cannot be read (EISDIR)');
    await expect(configure({ ...place, configFile: 'etc/agentd.yaml' })).rejects.toThrow('EISDIR');
  });
});

describe('the configuration of long-term memory', () => {
  const DATABASE_URL = 'postgres://agentd:secret@db.example.com/agentd?sslmode=verify-full';

  it.each(['sqlite', 'none', undefined])('needs no database with MEMORY_BACKEND %s', async (backend) => {
    const env = backend === undefined ? VALID : { ...VALID, MEMORY_BACKEND: backend };
    expect((await configure(placeWith(env))).warnings).toEqual([]);
  });

  it.each(['postgres', 'cloudsql'])('needs DATABASE_URL with MEMORY_BACKEND %s', async (backend) => {
    const env = { ...VALID, MEMORY_BACKEND: backend };
    expect(await refused(placeWith(env))).toEqual([
      `DATABASE_URL is not set, but MEMORY_BACKEND is ${backend}`,
    ]);
    expect((await configure(placeWith({ ...env, DATABASE_URL }))).warnings).toEqual([]);
    const socket = 'postgresql://agentd@/agentd?host=/cloudsql/project:region:name';
    expect((await configure(placeWith({ ...env, DATABASE_URL: socket }))).warnings).toEqual([]);
  });

  it.each(['mysql://db/agentd', 'db.example.com', 'postgres://db.example.com', 'postgres://'])(
    'is refused with DATABASE_URL %s, which the error does not contain',
    async (url) => {
      const refusals = await refused(placeWith({ ...VALID, MEMORY_BACKEND: 'postgres', DATABASE_URL: url }));
      expect(refusals).toEqual(['DATABASE_URL is not the address of a Postgres database']);
    },
  );

  it.each(['sqlite', 'none', undefined])(
    'causes a warning if DATABASE_URL is set with MEMORY_BACKEND %s',
    async (backend) => {
      const env = { ...VALID, DATABASE_URL, ...(backend === undefined ? {} : { MEMORY_BACKEND: backend }) };
      const { warnings } = await configure(placeWith(env));
      expect(warnings).toEqual([expect.stringContaining('DATABASE_URL has no effect')]);
      expect(warnings.join()).not.toContain('secret');
    },
  );

  it('may not name the embedded database if other state is in Redis', async () => {
    const env = { ...VALID, REDIS_URL: 'redis://127.0.0.1:6379' };
    expect(await refused(placeWith({ ...env, MEMORY_BACKEND: 'sqlite' }))).toEqual([
      'MEMORY_BACKEND would keep memory in a separate file for each daemon, while all other state is shared',
    ]);
    for (const more of [
      {},
      { DATABASE_URL },
      { MEMORY_BACKEND: 'none' },
      { MEMORY_BACKEND: 'postgres', DATABASE_URL },
    ]) {
      const { warnings } = await configure(placeWith({ ...env, ...more }));
      expect(warnings.filter((text) => /MEMORY|DATABASE/.test(text))).toEqual([]);
    }
  });

  it('causes a warning in production if another machine is reached without TLS', async () => {
    const env = { ...VALID, NODE_ENV: 'production', MEMORY_BACKEND: 'postgres' };
    const warningsOf = async (url: string) =>
      (await configure(placeWith({ ...env, DATABASE_URL: url }))).warnings.filter((text) =>
        text.includes('DATABASE_URL'),
      );
    expect(await warningsOf('postgres://a:secret@db.example.com/agentd')).toEqual([
      'DATABASE_URL has no sslmode: memories are sent to db.example.com unencrypted',
    ]);
    expect(await warningsOf(DATABASE_URL)).toEqual([]);
    expect(await warningsOf('postgres://a:secret@127.0.0.1/agentd')).toEqual([]);
    expect(await warningsOf('postgres://a@/agentd?host=/run/postgresql')).toEqual([]);
  });
});
