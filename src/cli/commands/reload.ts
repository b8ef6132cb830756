import type { ReloadAnswer, ReloadReport } from '../../daemon/admin/reloads.ts';
import { printable } from '../../daemon/admin/texts.ts';
import { noteAudit } from '../../daemon/admin/who.ts';
import { EXIT, unavailable } from '../cli-error.ts';
import { defineCommand } from '../command.ts';
import { wholeNumber } from '../names/typed-values.ts';
import { withExistingStore } from '../with-store.ts';

export const command = defineCommand({
  description: [
    'Each daemon on the store reads its configuration again: the environment file, the configuration file, and the files that they name. The configuration is checked as a whole, as `agentd config check` does. Then it is taken over between two turns, or, if it has a problem, not at all. It is a problem, too, if the environment file or the configuration file has become missing or empty: the daemon would go on without what it set. Turns that have begun end with what they began with, so no message is lost.',
    'Taken over are the instructions and the model, the tools and their policies, the texts, the limits, the log level, the settings of tokens with their keys, and the secrets of tool sources. A changed module of tools is loaded again, but not the modules that it imports, nor a configuration file that is a program. All other settings keep their values until a restart, and are named. The environment of the daemon itself cannot change while it runs. agentd-settings(5) says of each setting whether a reload takes it over.',
    'An action that waits for confirmation is withdrawn if the record of its tool has changed: the description, the schema, the policy, or where its calls go.',
    'A daemon also reads its configuration again after the signal SIGHUP and, with AGENT_WATCH=true, when one of its files changes. It then writes the result to its log. The command reaches the daemons through the store, so it works from any machine that reaches the store. It prints what each daemon has taken over, or why it has taken over nothing. Exit code 78 if a daemon has refused its configuration; 69 if no daemon uses the store, or if one has not answered; 1 if nothing was taken over because everything that has changed needs a restart.',
  ].join('\n\n'),
  options: {
    '--wait <seconds>': { sentence: 'how long to wait for the answers, 1 to 600', default: 60 },
  },
  examples: {
    'agentd reload': 'Takes over a changed configuration without a restart.',
    'agentd reload --json': 'Prints the result of each daemon for a script.',
  },
  json: true,
  async run({ options, out }) {
    const wait_ms = 1000 * wholeNumber('--wait', options.wait, { min: 1, max: 600 });
    const { requestReload } = await import('../../daemon/admin/reloads.ts');
    const reloaded = await withExistingStore(options, async (store, settings) => {
      await noteAudit(store, { command: 'reload' });
      return requestReload(store, settings, wait_ms);
    });
    if (!reloaded) {
      throw unavailable(
        'no daemon uses this store',
        'Start the daemon with `agentd serve`. A daemon that starts reads its configuration anyway.',
      );
    }
    const { answers, silent } = reloaded;
    const views = [
      ...answers.map(({ host, pid, report }) => ({ host, pid, ...report })),
      ...silent.map(({ host, pid }) => ({ host, pid, outcome: 'no answer' as const })),
    ];
    out.data({ daemons: views }, () => answers.map(formatAnswer).join('\n'));
    for (const { host, pid } of silent)
      out.note(
        `${describeDaemon(host, pid)} has not answered within ${wait_ms / 1000} seconds; see its log.`,
      );
    return exitCode(
      answers.map(({ report }) => report),
      silent.length > 0,
    );
  },
});

function exitCode(reports: readonly ReloadReport[], isSilent: boolean): number {
  const has = (outcome: ReloadReport['outcome']) => reports.some((report) => report.outcome === outcome);
  if (has('refused')) return EXIT.config;
  if (has('failed') || isSilent) return EXIT.unavailable;
  const onlyRestart = !has('changed') && reports.some(({ restart }) => restart.length > 0);
  return onlyRestart ? EXIT.no : EXIT.ok;
}

function describeDaemon(host: string, pid: number): string {
  return pid === 0 ? `the daemon on ${host}` : `the daemon ${printable(host)} ${pid}`;
}

/** One answer: a line with the outcome, and a line for each thing that has changed or is wrong. */
function formatAnswer({ host, pid, report }: ReloadAnswer): string {
  const { changes, restart, warnings, problems, reason, agent_digest } = report;
  const { added, removed, changed } = changes.tools;
  const heads = {
    changed: `has taken over the new configuration (agent ${agent_digest})`,
    unchanged: 'has nothing to take over',
    refused: 'has refused the new configuration, and changed nothing',
    failed: `could not read the configuration again, and changed nothing: ${reason}`,
  };
  const lines = [
    ...changes.settings.map((name) => `changed: ${name}`),
    ...changes.files.map((path) => `changed: ${path}`),
    ...added.map((name) => `tool added: ${name}`),
    ...changed.map((name) => `tool changed: ${name}`),
    ...removed.map((name) => `tool removed: ${name}`),
    ...restart.map((name) => `needs a restart: ${name}`),
    ...problems.map(problemInWords),
    ...warnings.map((warning) => `warning: ${warning}`),
  ];
  const head = `${describeDaemon(host, pid)} ${heads[report.outcome]}`;
  return [head, ...lines.map((line) => `  ${line}`)].map((line) => `${printable(line)}\n`).join('');
}

function problemInWords({
  setting,
  value,
  source,
  problem,
  right,
}: ReloadReport['problems'][number]): string {
  const came = [value === null ? '' : ` '${value}'`, source === null ? '' : ` (${source})`].join('');
  return `${setting}${came} ${problem}; right: ${right}`;
}
