import { resolve } from 'node:path';
import { printable } from '../../daemon/printable.ts';
import { failed } from '../cli-error.ts';
import type { Command } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { withStore } from '../with-store.ts';

export const command: Command = {
  name: 'backup',
  summary: 'Copy the embedded store into a file, also while the daemon runs.',
  description:
    'The file must not exist yet; it is made with mode 0600 and holds everything that was committed before. It contains the messages of people, so protect it like the store itself. Stored tokens are sealed in it with the key of TOKEN_ENCRYPTION_KEY or of STATE_DIR/encryption-key: keep that key too, in another place. `agentd restore` puts the file back. With Redis, use the tools of Redis.',
  args: [{ name: 'file', sentence: 'the file to write', required: true }],
  examples: [
    {
      line: 'agentd backup "/var/backups/agentd-$(date +%F).db"',
      does: 'Writes a backup named after the day.',
    },
  ],
  json: true,
  async run({ args: [file = ''], options, out }) {
    const path = resolve(file);
    const from = await withStore(options, async (store) => {
      if (store.maintenance === null) throw failed(`the store ${store.description} has no files to copy`);
      await store.maintenance.backup(path);
      return store.description;
    });
    out.data({ file: path, store: from }, () => `wrote ${printable(path)}`);
    return EXIT.ok;
  },
};
