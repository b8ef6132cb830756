import { systemClock } from '../../daemon/clock.ts';
import { importKeys } from '../../daemon/identity/keys.ts';
import type { Step } from '../../daemon/identity/token-checks.ts';
import { printable } from '../../daemon/printable.ts';
import { Secret } from '../../daemon/secret.ts';
import type { Command } from '../command.ts';
import { coreSettings } from '../core-settings.ts';
import { durationInWords } from '../duration.ts';
import { EXIT } from '../exit-codes.ts';
import type { Output } from '../output.ts';
import { readToken } from '../read-token.ts';
import { examineToken, type TokenReport } from '../token-report.ts';

export const command: Command = {
  name: 'token verify',
  summary: 'Check a user token step by step.',
  description:
    'Walks the checks that the daemon makes, in its order: the first that fails is the reason. Then it shows the claims, the expiry, and whom the token speaks for. Exit code 1 when the token is invalid. The token itself is never printed.',
  args: [{ name: 'token', sentence: '`-` reads it from standard input; none asks for it without echo' }],
  examples: [
    { line: 'agentd token verify - < token.txt', does: 'Checks the token in a file.' },
    { line: 'agentd token verify', does: 'Asks for the token; what is typed or pasted is not shown.' },
    { line: 'agentd token verify - --json < token.txt', does: 'Prints the outcome as one JSON document.' },
  ],
  json: true,
  async run({ args: [argument], options, out }) {
    const settings = await coreSettings(options, 'tokens');
    const keys = await importKeys(settings);
    const token = await readToken(argument, out.note);
    const now = systemClock.now();
    const { report, steps } = await examineToken(token, settings, keys, now);
    out.data(report, () => inWords(report, steps, new Secret(token).hint(), now, out));
    return report.valid ? EXIT.ok : EXIT.no;
  },
};

function inWords(
  report: TokenReport,
  steps: readonly Step[],
  hint: string,
  now: number,
  out: Output,
): string {
  const paragraphs = [
    out.table(
      ['CHECK', 'OUTCOME'],
      steps.map((step) => [step.check, outcomeInWords(step)]),
    ),
    report.valid ? 'The token is valid.\n' : `The token is invalid: ${report.reason}\n`,
    claimsInWords(report, out),
    expiryInWords(report, now),
    userInWords(report, hint, out),
  ];
  return paragraphs.filter((paragraph) => paragraph !== '').join('\n');
}

function outcomeInWords(step: Step): string {
  switch (step.outcome) {
    case 'ok':
      return 'ok';
    case 'off':
      return `not checked: ${step.setting}=false`;
    case 'not reached':
      return 'not reached';
    case 'failed':
      return step.cause === undefined ? step.reason : `${step.reason}: ${causesInWords(step.cause)}`;
  }
}

/** The whole chain: only the innermost cause says what is to be mended (`connect ECONNREFUSED …`). */
function causesInWords(cause: unknown): string {
  const messages: string[] = [];
  for (let next = cause; next instanceof Error && messages.length < 5; next = next.cause)
    messages.push(next.message);
  return messages.join(' ');
}

function claimsInWords({ claims, valid }: TokenReport, out: Output): string {
  if (!claims) return '';
  const head = valid ? 'CLAIM' : 'CLAIM (not to be trusted)';
  const rows = Object.entries(claims).map(([name, value]) => [
    name,
    typeof value === 'string' ? value : JSON.stringify(value),
  ]);
  return out.table([head, 'VALUE'], rows);
}

function expiryInWords({ expires_at }: TokenReport, now: number): string {
  if (expires_at === null) return '';
  const left = (Date.parse(expires_at) - now) / 1000;
  return left > 0
    ? `Expires ${expires_at}, ${durationInWords(left)} left.\n`
    : `Expired ${expires_at}, ${durationInWords(-left)} ago.\n`;
}

function userInWords({ user }: TokenReport, hint: string, out: Output): string {
  if (!user) return '';
  const rows = [
    ['user_id', user.user_id],
    ['email', user.email],
    ['roles', user.roles.join(', ')],
    ['token', hint],
  ];
  return out.table(
    ['USER CONTEXT', ''],
    rows.map((row) => row.map(printable)),
  );
}
