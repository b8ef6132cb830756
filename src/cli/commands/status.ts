import { printable } from '../../daemon/printable.ts';
import type { Column } from '../column.ts';
import type { Command } from '../command.ts';
import { daemonAddress, URL_OPTION } from '../daemon-address.ts';
import { fetchHealth, type Health } from '../daemon-health.ts';
import { EXIT } from '../exit-codes.ts';

type Adapter = [name: string, health: Health['adapters'][string]];

const ADAPTER_COLUMNS: readonly Column<Adapter>[] = [
  { title: 'CHANNEL', text: ([name]) => name },
  { title: 'STATE', text: ([, { status }]) => status },
  { title: 'DETAIL', text: ([, { detail }]) => detail && String(detail), narrow: 'wrap' },
];

export const command: Command = {
  name: 'status',
  summary: 'Show the channels of the running daemon and their state.',
  description:
    'Asks the daemon at HOST and PORT of the settings, or at --url. The daemon is `degraded` while one of its channels is, and the reason is shown. Exit code 1 if it is degraded, 69 if it cannot be reached or is stopping.',
  options: [URL_OPTION],
  examples: [
    { line: 'agentd status', does: 'Shows the daemon of these settings.' },
    {
      line: 'agentd status --json --url https://chat.example.com/',
      does: 'Asks a remote daemon, for a script.',
    },
  ],
  json: true,
  async run({ options, out }) {
    const url = await daemonAddress(options);
    const answer = await fetchHealth(url);
    const adapters = Object.entries(answer.adapters);
    const isDegraded = adapters.some(([, { status }]) => status !== 'ok');
    const health = isDegraded ? { ...answer, status: 'degraded' } : answer;
    out.data(health, () => {
      const table = adapters.length > 0 ? out.table(ADAPTER_COLUMNS, adapters) : 'No channel is active.\n';
      return `agentd at ${url.origin} is ${printable(health.status)}\n\n${table}`;
    });
    return isDegraded ? EXIT.no : EXIT.ok;
  },
};
