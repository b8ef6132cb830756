import type { Settings } from '../../daemon/admin/settings.ts';
import { printable, Secret, wrapText } from '../../daemon/admin/texts.ts';
import {
  type ExaminedToken,
  tokenExaminer,
  type UserContext,
  type WalkedCheck,
} from '../../daemon/admin/tokens.ts';
import { adviceFor } from '../advice/advice.ts';
import { causesInWords, EXIT } from '../cli-error.ts';
import { defineCommand, type OptionValues } from '../command.ts';
import { coreSettings } from '../config-location.ts';
import { durationInWords, isoTime, isoTimeOrNull } from '../names/typed-values.ts';
import type { CellColor, Column, Output } from '../output.ts';
import { readToken } from '../terminal.ts';
import { withStore } from '../with-store.ts';

export const command = defineCommand({
  description:
    'Runs the checks of the daemon, in the same order; the first check that fails is the reason why the token is invalid. Then it shows the claims, the expiry, and the person of the token. Exit code 1 if the token is invalid. A sign-out at the site is not one of the checks: if the store of the daemon can be opened and has one that ended the token, a note on stderr says so. The token itself is never printed.',
  args: {
    '[token]':
      '`-` reads the token from standard input; without this argument, the command asks for it without echo',
  },
  examples: {
    'agentd token verify - < token.txt': 'Checks the token in a file.',
    'agentd token verify': 'Asks for the token, which is not shown.',
    'agentd token verify - --json < token.txt': 'Prints the result as one JSON document.',
  },
  json: true,
  async run({ args: [argument], options, out }) {
    const settings = await coreSettings(options, 'tokens');
    const examine = await tokenExaminer(settings);
    const token = await readToken(argument, out.note);
    const now = Date.now();
    const examined = await examine(token);
    const report = tokenReport(examined);
    const hint = new Secret(token).hint();
    out.data(report, () => formatReport(report, examined.steps, { hint, now, out, settings }));
    if (examined.claims !== null && report.valid && (await isSignedOut(examined.claims, options)))
      out.note(
        'note: the person has signed out at the site since this token was issued; the daemon refuses it (Signed Out)',
      );
    return report.valid ? EXIT.ok : EXIT.no;
  },
});

/**
 * Whether a sign-out at the site covers a token. The documented checks need no store, so without one that can be opened,
 * they are all that there is.
 */
async function isSignedOut(
  claims: NonNullable<ExaminedToken['claims']>,
  options: OptionValues,
): Promise<boolean> {
  try {
    return await withStore(options, (store) => store.signOutMarks.covers(claims));
  } catch {
    return false;
  }
}

const STEP_COLUMNS: readonly Column<WalkedCheck>[] = [
  { title: 'CHECK', text: ({ check }) => check },
  { title: 'OUTCOME', text: outcomeInWords, color: ({ outcome }) => STEP_COLORS[outcome], narrow: 'wrap' },
];

const STEP_COLORS = {
  ok: 'green',
  off: 'yellow',
  'not reached': 'gray',
  failed: 'red',
} as const satisfies Record<WalkedCheck['outcome'], CellColor>;

function formatReport(
  report: TokenReport,
  steps: readonly WalkedCheck[],
  { hint, now, out, settings }: { hint: string; now: number; out: Output; settings: Settings },
): string {
  const { valid, reason, claims, user } = report;
  const paragraphs = [
    out.table(STEP_COLUMNS, steps),
    reason === null ? 'The token is valid.\n' : refusalInWords(reason, settings, out.width),
    claims ? out.table(claimColumns(valid), Object.entries(claims)) : '',
    expiryInWords(report, now),
    user ? `User context\n${out.details(USER_COLUMNS, { ...user, hint })}` : '',
  ];
  return paragraphs.filter((paragraph) => paragraph !== '').join('\n');
}

/** The settings that a claim must fit, by the reason that it does not. */
const EXPECTED: Readonly<Record<string, 'JWT_ISSUER' | 'JWT_AUDIENCE'>> = {
  'Invalid Issuer': 'JWT_ISSUER',
  'Invalid Audience': 'JWT_AUDIENCE',
};

function refusalInWords(reason: string, settings: Settings, width: number): string {
  const setting = EXPECTED[reason];
  const expected = setting === undefined ? [] : [`${setting} is ${printable(settings[setting] ?? '')}`];
  const todo = adviceFor(reason)?.todo;
  const advice = todo === undefined ? [] : wrapText(todo, width);
  return `${[`The token is invalid: ${reason}`, ...expected, ...advice].join('\n')}\n`;
}

function claimColumns(isValid: boolean): Column<[name: string, value: unknown]>[] {
  return [
    { title: isValid ? 'CLAIM' : 'CLAIM (not to be trusted)', text: ([name]) => name },
    { title: 'VALUE', text: ([name, value]) => claimInWords(name, value), narrow: 'wrap' },
  ];
}

/** The claims that are seconds since the epoch. */
const TIMES = ['exp', 'iat', 'nbf', 'auth_time'];
/** The last second that a date can hold. */
const LAST_SECOND = 8.64e12;

function claimInWords(name: string, value: unknown): string {
  if (typeof value === 'string') return value;
  const isTime = TIMES.includes(name) && typeof value === 'number' && Math.abs(value) <= LAST_SECOND;
  return isTime ? `${value} (${isoTime(value * 1000)})` : JSON.stringify(value);
}

const USER_COLUMNS: readonly Column<Omit<UserContext, 'token'> & { hint: string }>[] = [
  { title: 'user_id', text: ({ user_id }) => user_id },
  { title: 'email', text: ({ email }) => email },
  { title: 'roles', text: ({ roles }) => roles.join(', ') },
  { title: 'token', text: ({ hint }) => hint },
];

function outcomeInWords(step: WalkedCheck): string {
  switch (step.outcome) {
    case 'ok':
      return step.key === undefined ? 'ok' : `ok, with key ${step.key} of the configured ones`;
    case 'off':
      return `not checked: ${step.setting}=false`;
    case 'not reached':
      return 'not reached';
    case 'failed':
      return step.cause === undefined ? step.reason : `${step.reason}: ${causesInWords(step.cause)}`;
  }
}

function expiryInWords({ expires_at }: TokenReport, now: number): string {
  if (expires_at === null) return '';
  const left = (Date.parse(expires_at) - now) / 1000;
  return left > 0
    ? `Expires ${expires_at}, ${durationInWords(left)} left.\n`
    : `Expired ${expires_at}, ${durationInWords(-left)} ago.\n`;
}

/** The output of `token verify --json`. */
type TokenReport = ReturnType<typeof tokenReport>;

function tokenReport({ steps, failed, claims, payload, expires_at }: ExaminedToken) {
  const key = steps.reduce<number | null>(
    (found, step) => (step.outcome === 'ok' ? (step.key ?? found) : found),
    null,
  );
  return {
    valid: !failed,
    reason: failed?.reason ?? null,
    // The position of the key that the token is signed with, from 1. Only if there are several.
    ...(key === null ? {} : { key }),
    steps: steps.map(({ check, outcome }) => ({ check, ok: isOk(outcome) })),
    // The claims of an invalid token are not to be trusted.
    claims: payload,
    user: failed || !claims ? null : { user_id: claims.sub, email: claims.email, roles: claims.roles ?? [] },
    expires_at: isoTimeOrNull(expires_at),
  };
}

function isOk(outcome: WalkedCheck['outcome']): boolean | null {
  if (outcome === 'ok') return true;
  return outcome === 'failed' ? false : null;
}
