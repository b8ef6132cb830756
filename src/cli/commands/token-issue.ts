import { systemClock } from '../../daemon/clock.ts';
import { TOKEN_MAX } from '../../daemon/identity/decode-token.ts';
import { importKeys } from '../../daemon/identity/keys.ts';
import { signToken } from '../../daemon/identity/sign-token.ts';
import { isAny } from '../../daemon/identity/token-checks.ts';
import type { Settings } from '../../daemon/settings/settings.ts';
import type { Command } from '../command.ts';
import { coreSettings } from '../core-settings.ts';
import { parseDuration } from '../duration.ts';
import { CliError } from '../errors.ts';
import { EXIT } from '../exit-codes.ts';
import { placeOf } from '../settings-place.ts';

const YEAR = 31_536_000;

type Options = Readonly<Record<string, unknown>>;

export const command: Command = {
  name: 'token issue',
  summary: 'Sign a user token for debugging.',
  description:
    'Signs with the configured HS256 secret and prints the token, and nothing else, to standard output. iat and exp are set, iss and aud taken from JWT_ISSUER and JWT_AUDIENCE; --claim replaces any of them, so that tokens can be made that must be refused. Whoever holds the token is that person to this service: under NODE_ENV=production it takes --force.',
  options: [
    { flags: '--sub <id>', sentence: 'the user id (claim sub)' },
    { flags: '--email <address>', sentence: "the user's e-mail (claim email)" },
    { flags: '--name <name>', sentence: 'full name' },
    { flags: '--role <role>', sentence: 'a role; may be given several times', repeatable: true },
    { flags: '--ttl <time>', sentence: 'how long it lives: seconds, or 15m, 24h, 7d', default: '24h' },
    {
      flags: '--claim <name=value>',
      sentence: 'a further claim, as JSON where it parses; may be given several times',
      repeatable: true,
    },
    { flags: '--force', sentence: 'also under NODE_ENV=production' },
  ],
  examples: [
    {
      line: 'agentd token issue --sub 42 --email alice@example.com --role editor',
      does: 'Prints a token that lives 24 hours.',
    },
    {
      line: 'agentd token issue --sub 42 --email alice@example.com --ttl 15m --claim tenant_id=acme --claim \'aud=["a","b"]\'',
      does: 'Adds claims of its own, one of them an array.',
    },
  ],
  async run({ options, out }) {
    const { environmentAt } = await import('../../daemon/configuration/configure.ts');
    if (options.force !== true && (await environmentAt(placeOf(options))) === 'production') {
      throw new CliError(
        EXIT.config,
        'token issue is refused under NODE_ENV=production',
        'Who holds the token is that person to this service. If that is meant, give --force.',
      );
    }
    const required = { sub: text(options, 'sub'), email: text(options, 'email') };
    const settings = await coreSettings(options, 'tokens');
    const secret = await signingSecret(settings);
    const token = await signToken(claims(required, options, settings), secret);
    if (token.length > TOKEN_MAX) {
      throw new CliError(
        EXIT.usage,
        `the token would have ${token.length} characters`,
        `Leave claims out: tokens of more than ${TOKEN_MAX} characters are not accepted.`,
      );
    }
    out.write(`${token}\n`);
    return EXIT.ok;
  },
};

async function signingSecret(settings: Settings) {
  if (settings.JWT_ALGORITHM !== 'HS256') {
    throw new CliError(
      EXIT.config,
      `token issue signs with HS256 only, and JWT_ALGORITHM is ${settings.JWT_ALGORITHM}`,
      'The private key belongs to the issuer alone: have the issuer make the token.',
    );
  }
  // The daemon's own check of the secret, so that nothing is signed that it would not take.
  await importKeys({ ...settings, JWT_VERIFY_SIGNATURE: true });
  if (!settings.JWT_SECRET_KEY) throw new CliError(EXIT.config, 'JWT_SECRET_KEY is not set');
  return settings.JWT_SECRET_KEY;
}

function claims(required: object, options: Options, settings: Settings): Record<string, unknown> {
  const iat = Math.floor(systemClock.now() / 1000);
  const { name, role } = options;
  const { JWT_ISSUER: iss, JWT_AUDIENCE: aud } = settings;
  return {
    ...required,
    ...(name === undefined ? {} : { name }),
    ...(role === undefined ? {} : { roles: role }),
    iat,
    exp: iat + lifetime(options.ttl),
    ...(isAny(iss) ? {} : { iss }),
    ...(isAny(aud) ? {} : { aud }),
    ...furtherClaims(options.claim),
  };
}

function lifetime(ttl: unknown): number {
  const seconds = parseDuration(String(ttl ?? '24h'));
  if (seconds !== null && seconds >= 1 && seconds <= 10 * YEAR) return seconds;
  throw new CliError(
    EXIT.usage,
    `--ttl takes a time from 1 second to 10 years, not '${String(ttl)}'`,
    'Write seconds, or a number with s, m, h or d: 900, 15m, 24h, 7d.',
  );
}

function furtherClaims(given: unknown): Record<string, unknown> {
  const pairs = (given as readonly string[] | undefined) ?? [];
  return Object.fromEntries(
    pairs.map((pair) => {
      const equals = pair.indexOf('=');
      if (equals < 1) throw new CliError(EXIT.usage, `--claim takes name=value, not '${pair}'`);
      return [pair.slice(0, equals), jsonOrText(pair.slice(equals + 1))];
    }),
  );
}

function jsonOrText(value: string): unknown {
  try {
    return JSON.parse(value);
  } catch {
    // No JSON: a plain text, as it is typed most of the time.
    return value;
  }
}

function text(options: Options, name: string): string {
  const value = options[name];
  if (typeof value === 'string' && value !== '') return value;
  throw new CliError(EXIT.usage, `--${name} is missing`, 'A token needs --sub and --email.');
}
