import { printable } from '../../daemon/printable.ts';
import type { Command } from '../command.ts';
import { daemonAddress, URL_OPTION } from '../daemon-address.ts';
import { askHealth } from '../daemon-health.ts';
import { EXIT } from '../exit-codes.ts';

export const command: Command = {
  name: 'status',
  summary: 'Show the channels of the running daemon and their state.',
  description:
    'Asks the daemon at HOST and PORT of the settings, or at --url. The daemon is `degraded` while one of its channels is, with the reason. Exit code 1 then; 69 when it is out of reach or stopping.',
  options: [URL_OPTION],
  examples: [
    { line: 'agentd status', does: 'Shows the daemon that these settings describe.' },
    {
      line: 'agentd status --json --url https://chat.example.com/',
      does: 'Asks a daemon elsewhere, for a script.',
    },
  ],
  json: true,
  async run({ options, out }) {
    const url = await daemonAddress(options);
    const answered = await askHealth(url);
    const isDegraded = Object.values(answered.adapters).some(({ status }) => status !== 'ok');
    const health = isDegraded ? { ...answered, status: 'degraded' } : answered;
    out.data(health, () => {
      const rows = Object.entries(health.adapters).map(([name, { status, detail }]) => [
        name,
        status,
        String(detail ?? ''),
      ]);
      const table =
        rows.length > 0 ? out.table(['CHANNEL', 'STATE', 'DETAIL'], rows) : 'No channel is active.\n';
      return `agentd at ${url.origin} is ${printable(health.status)}\n\n${table}`;
    });
    return isDegraded ? EXIT.no : EXIT.ok;
  },
};
