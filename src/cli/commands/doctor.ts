import { styleText } from 'node:util';
import type { EffectiveSetting } from '../../daemon/configuration/configure.ts';
import { printable } from '../../daemon/printable.ts';
import { maskSecrets } from '../../daemon/settings/mask-secrets.ts';
import type { Command } from '../command.ts';
import type { Finding, Outcome } from '../doctor/finding.ts';
import { EXIT } from '../exit-codes.ts';
import type { Output } from '../output.ts';
import { placeOf } from '../settings-place.ts';

export const command: Command = {
  name: 'doctor',
  summary: 'Check whether everything that the daemon needs is there and works.',
  description:
    'The configuration; the strength of the secrets; the state directory, and the room on its disk; the store: that it opens, can be written and is sound; whether stored tokens are sealed, and whether the key opens those that are stored; the business API and its default credentials; the model server; the credentials of each active channel, asked of its platform; the clock, against those that answered. A line each: `ok`, `warning`, `failed`, or `skipped` with the reason, and how to mend it. Others are asked side by side, each within a time-out, and nobody is written to. A platform that is stood in for on this machine (`agentd simulate`) need not be there, but in production. Works with the daemon up or down; run it as the user that the daemon runs as. Exit code 1 when a check failed, 78 when the configuration itself is wrong: then all that is wrong with it is listed, and the rest is skipped. Secrets are not printed. With --json an array of {check, outcome, detail, advice}; advice only where there is one.',
  examples: [
    { line: 'agentd doctor', does: 'Looks at everything.' },
    {
      line: `agentd doctor --json | jq -r '.[] | select(.outcome == "failed") | .detail'`,
      does: 'Prints what failed, for a script.',
    },
  ],
  json: true,
  async run({ options, out }) {
    const { inspectConfiguration, settingsOf } = await import('../../daemon/configuration/configure.ts');
    const found = await inspectConfiguration(placeOf(options));
    const { checkConfiguration } = await import('../doctor/configuration.ts');
    const { findings, problems } = await checkConfiguration(found);
    if (problems.length > 0) findings.push(...REST.map(skipped));
    else {
      const { checkAll } = await import('../doctor/check-all.ts');
      findings.push(...(await checkAll(settingsOf(found.effective), found)));
    }
    const shown = findings.map((finding) => withoutSecrets(finding, found.effective));
    out.data(shown, () => inWords(shown, out));
    if (problems.length > 0) return EXIT.config;
    return shown.some(({ outcome }) => outcome === 'failed') ? EXIT.no : EXIT.ok;
  },
};

/** What is not looked at with a configuration that no daemon starts with. */
const REST = ['secrets', 'state directory', 'store', 'sealing', 'business API', 'model', 'channels', 'clock'];

function skipped(check: string): Finding {
  return { check, outcome: 'skipped', detail: 'the configuration is wrong' };
}

/** Texts of platforms and plugins are among the findings: none of them may show a secret of the settings. */
function withoutSecrets(finding: Finding, effective: readonly EffectiveSetting[]): Finding {
  const values = effective.map(({ value }) => value);
  const { detail, advice, ...rest } = finding;
  return {
    ...rest,
    detail: maskSecrets(detail, values),
    ...(advice === undefined ? {} : { advice: maskSecrets(advice, values) }),
  };
}

const COLOURS = { ok: 'green', warning: 'yellow', failed: 'red', skipped: 'gray' } as const satisfies Record<
  Outcome,
  string
>;

function inWords(findings: readonly Finding[], out: Output): string {
  const widest = Math.max(...findings.map(({ check }) => check.length));
  const lines = findings.flatMap(({ check, outcome, detail, advice }) => {
    const word = outcome.padEnd('skipped'.length);
    const coloured = out.colour ? styleText(COLOURS[outcome], word, { validateStream: false }) : word;
    const line = `${coloured}  ${check.padEnd(widest)}  ${printable(detail)}`;
    const indent = ' '.repeat(word.length + 2 + widest + 2);
    return advice === undefined ? [line] : [line, `${indent}${printable(advice)}`];
  });
  return `${lines.join('\n')}\n`;
}
