import { environmentAt, type Settings } from '../../daemon/admin/settings.ts';
import { printable } from '../../daemon/admin/texts.ts';
import { demandedClaims, TOKEN_MAX, tokenSigner } from '../../daemon/admin/tokens.ts';
import { type CliError, misconfigured, usageError } from '../cli-error.ts';
import { defineCommand, type OptionValues } from '../command.ts';
import { configLocation, coreSettings } from '../config-location.ts';
import { parseDuration } from '../names/typed-values.ts';
import { jsonText } from '../output.ts';

const YEAR = 31_536_000;

const OPTIONS = {
  '--sub <id>': 'user id (claim sub)',
  '--email <address>': 'e-mail address of the user (claim email)',
  '--name <name>': 'full name',
  '--role <role>': { sentence: 'a role; can be repeated', repeatable: true },
  '--ttl <time>': { sentence: 'lifetime: seconds, or 15m, 24h, 7d', default: '24h' },
  '--claim <name=value>': {
    sentence: 'another claim, as JSON if it parses; can be repeated',
    repeatable: true,
  },
  '--force': 'allow it even if NODE_ENV=production',
} as const;

export const command = defineCommand({
  description:
    'Signs with the configured HS256 secret, the first one if there are several, and prints only the token to standard output; with --json, an object with `token` and `claims`. iat and exp are set, and iss and aud are taken from JWT_ISSUER and JWT_AUDIENCE; --claim replaces any of them, to create tokens that must be refused. Anyone who has the token can act as that person: if NODE_ENV=production, --force is required.',
  options: OPTIONS,
  json: true,
  jsonSentence: 'print one JSON document: the token and its claims',
  examples: {
    'agentd token issue --sub 42 --email alice@example.com --role editor':
      'Prints a token that is valid for 24 hours.',
    'agentd token issue --sub 42 --email alice@example.com --ttl 15m --claim tenant_id=acme --claim \'aud=["a","b"]\'':
      'Adds claims, one of them an array.',
  },
  async run({ options, out }) {
    if (!options.force && (await environmentAt(configLocation(options))) === 'production') {
      throw misconfigured(
        'token issue is refused if NODE_ENV=production',
        'Anyone who has the token can act as that person. If you want that, pass --force.',
      );
    }
    const { sub, email } = options;
    if (!sub) throw missing('--sub');
    if (!email) throw missing('--email');
    // The daemon accepts any text as `email`, so this is only a warning.
    if (!/^[^\s@]+@[^\s@]+$/.test(email))
      out.note(`warning: --email ${printable(email)} is not an e-mail address`);
    const settings = await coreSettings(options, 'tokens');
    const sign = await createSigner(settings);
    const signed = claims({ sub, email }, options, settings);
    const token = await sign(signed);
    if (token.length > TOKEN_MAX) {
      throw usageError(
        `the token would have ${token.length} characters`,
        `Use fewer claims: a token must not have more than ${TOKEN_MAX} characters.`,
      );
    }
    // `data` is not used, because it masks tokens.
    out.write(out.json ? `${jsonText({ token, claims: signed })}\n` : `${token}\n`);
  },
});

async function createSigner(settings: Settings) {
  if (settings.JWT_ALGORITHM !== 'HS256') {
    throw misconfigured(
      `token issue signs with HS256 only, and JWT_ALGORITHM is ${settings.JWT_ALGORITHM}`,
      'Only the issuer has the private key: have the issuer sign the token.',
    );
  }
  if (!settings.JWT_SECRET_KEY) throw misconfigured('JWT_SECRET_KEY is not set');
  return tokenSigner(settings, settings.JWT_SECRET_KEY);
}

function claims(
  required: object,
  { name, role, ttl, claim = [] }: OptionValues<typeof OPTIONS>,
  settings: Settings,
): Record<string, unknown> {
  const iat = Math.floor(Date.now() / 1000);
  return {
    ...required,
    ...(name === undefined ? {} : { name }),
    ...(role === undefined ? {} : { roles: role }),
    iat,
    exp: iat + lifetime(ttl),
    ...demandedClaims(settings),
    ...furtherClaims(claim),
  };
}

function lifetime(ttl: string): number {
  const seconds = parseDuration(ttl);
  if (seconds !== null && seconds >= 1 && seconds <= 10 * YEAR) return seconds;
  throw usageError(
    `--ttl takes a time from 1 second to 10 years, not '${ttl}'`,
    'Write seconds, or a number with s, m, h or d: 900, 15m, 24h, 7d.',
  );
}

function furtherClaims(pairs: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const equals = pair.indexOf('=');
      if (equals < 1) throw usageError(`--claim takes name=value, not '${pair}'`);
      return [pair.slice(0, equals), jsonOrText(pair.slice(equals + 1))];
    }),
  );
}

function jsonOrText(value: string): unknown {
  try {
    return JSON.parse(value);
  } catch {
    // The value is not JSON. Most claims are typed as plain text.
    return value;
  }
}

function missing(option: string): CliError {
  return usageError(`${option} is missing`, 'A token needs --sub and --email.');
}
