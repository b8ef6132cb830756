import { styleText } from 'node:util';
import { inspectConfiguration, knownSecrets, maskSecrets, toSettings } from '../../daemon/admin/settings.ts';
import { printable, type Secret, wrapText } from '../../daemon/admin/texts.ts';
import { EXIT } from '../cli-error.ts';
import { defineCommand } from '../command.ts';
import { configLocation } from '../config-location.ts';
import { type CheckOutcome, createFindings, type Finding } from '../doctor/finding.ts';
import type { Output } from '../output.ts';
import { configurationAdvice } from '../report-error.ts';

export const command = defineCommand({
  description:
    'Checks the configuration and its secrets, the state directory, the store, the sealing of tokens, the key set of the issuer, long-term memory, the business API, the tools, the model server, the credentials and the webhook of each channel, and the clock. Says what to do about each problem. Exit code 1 if a check failed, 78 if the configuration is wrong.',
  manual: [
    'These are the checks:',
    [
      '- the configuration, and the strength of the secrets',
      '- the state directory, and the free space of its disk',
      '- the store: that it opens, can be written and is intact; with Redis, how many keys of each kind there are, and whether some never expire',
      '- whether stored tokens are sealed, and whether the key opens them',
      '- the key set at JWT_JWKS_URL: that it can be fetched, and has a key that can check tokens',
      '- the database of long-term memory',
      '- the business API and its default credentials, the address of each source of tools, the tools of each MCP server, whether the tools are too many or too large for many models, and the model server',
      "- the credentials of each active channel, by asking its platform, and whether the platform delivers messages to the channel: the registered webhook, the scopes of the channel's token, the messages that wait at the platform",
      '- the clock, by comparing it with those of the machines that answered',
    ].join('\n'),
    'Each check prints a line: `failed`, `warning`, `ok` or `skipped`, with the reason and what to do. Checks that were skipped for the same reason share a line. With --json, the command prints an array of {check, outcome, detail, advice}, in the order of the checks; advice is present only if something needs to be done. Secrets are not printed.',
    'The command works whether the daemon is running or not; run it as the user that the daemon runs as. The command contacts other machines in parallel, each with a timeout, and sends no message to anyone. Outside production, the check of a channel does not fail if its platform is simulated on this machine (`agentd simulate`) and the simulator is not running.',
    'If the configuration itself is wrong, all its problems are listed, and the other checks are skipped.',
  ].join('\n\n'),
  examples: {
    'agentd doctor': 'Runs all checks.',
    'agentd doctor --json | jq -r \'.[] | select(.outcome == "failed") | .detail\'':
      'Prints what failed, for a script.',
  },
  json: true,
  async run({ options, out }) {
    const found = await inspectConfiguration(configLocation(options));
    const { checkAll, checkConfiguration } = await import('../doctor/check-all.ts');
    const { findings, problems } = await checkConfiguration(found);
    if (problems.length > 0)
      findings.push(
        ...OTHER_CHECKS.map((check) => createFindings(check).skipped('the configuration is wrong')),
      );
    else findings.push(...(await checkAll(await toSettings(found.effective), found)));
    const secrets = knownSecrets(found.effective.map(({ value }) => value));
    const shown = findings.map((finding) => withoutSecrets(finding, secrets));
    out.data(shown, () => formatFindings(inOrder(shown), out));
    if (problems.length > 0) {
      if (!out.json) out.note(configurationAdvice(problems));
      return EXIT.config;
    }
    return shown.some(({ outcome }) => outcome === 'failed') ? EXIT.no : EXIT.ok;
  },
});

/** The checks that are skipped if the configuration is wrong. */
const OTHER_CHECKS = [
  'secrets',
  'state directory',
  'store',
  'sealing',
  'business API',
  'memory',
  'tools',
  'model',
  'channels',
  'clock',
];

/** Masks the secrets of the settings in a finding, because texts of platforms and plugins might contain one. */
function withoutSecrets(finding: Finding, secrets: readonly Secret[]): Finding {
  const { detail, advice, ...rest } = finding;
  return {
    ...rest,
    detail: maskSecrets(detail, secrets),
    ...(advice === undefined ? {} : { advice: maskSecrets(advice, secrets) }),
  };
}

const COLORS = { ok: 'green', warning: 'yellow', failed: 'red', skipped: 'gray' } as const satisfies Record<
  CheckOutcome,
  string
>;

/** What needs attention comes first. Checks that were skipped for the same reason share a line. */
function inOrder(findings: readonly Finding[]): Finding[] {
  const of = (outcome: CheckOutcome) => findings.filter((finding) => finding.outcome === outcome);
  const byReason = Map.groupBy(of('skipped'), ({ detail }) => detail);
  return [...of('failed'), ...of('warning'), ...of('ok'), ...[...byReason.values()].map(inShort)];
}

function inShort(skipped: readonly Finding[]): Finding {
  const [first, ...others] = skipped as readonly [Finding, ...Finding[]];
  if (others.length === 0) return first;
  const names = skipped.map(({ check }) => check).join(', ');
  return { ...first, check: `${skipped.length} checks`, detail: `${names}: ${first.detail}` };
}

function formatFindings(findings: readonly Finding[], { color, width }: Output): string {
  const widest = Math.max(...findings.map(({ check }) => check.length));
  const margin = 'skipped'.length + 2 + widest + 2;
  return findings
    .map(({ check, outcome, detail, advice }) => {
      const word = outcome.padEnd('skipped'.length);
      const colored = color ? styleText(COLORS[outcome], word, { validateStream: false }) : word;
      const lines = [detail, ...(advice === undefined ? [] : [`→ ${advice}`])].flatMap((text) =>
        wrapText(printable(text), Math.max(width - margin, 30)),
      );
      return `${colored}  ${check.padEnd(widest)}  ${lines.join(`\n${' '.repeat(margin)}`)}\n`;
    })
    .join('');
}
