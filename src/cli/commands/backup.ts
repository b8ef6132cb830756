import { resolve } from 'node:path';
import { printable } from '../../daemon/admin/texts.ts';
import { defineCommand } from '../command.ts';
import { storeOnServer, withStore } from '../with-store.ts';

export const command = defineCommand({
  description:
    'The file must not exist yet; it is created with mode 0600 and contains everything that was committed before the copy began. This includes the messages of people, so protect the file like the store itself. The tokens in it are sealed with the key in TOKEN_ENCRYPTION_KEY or in STATE_DIR/encryption-key. Keep a copy of that key for as long as you keep the backup, because no other key opens the tokens. Do not keep it in the same place as the backup: anybody who has both can read the tokens. `agentd restore` restores the file. With Redis or Postgres, use the tools of the server, such as `pg_dump`.',
  args: { '<file>': 'the file to write' },
  examples: { 'agentd backup "/var/backups/agentd-$(date +%F).db"': 'Writes a backup named after the day.' },
  json: true,
  async run({ args: [file = ''], options, out }) {
    const path = resolve(file);
    const from = await withStore(options, async (store) => {
      const { backup } = store.maintenance ?? {};
      if (!backup) throw storeOnServer(store.description);
      await backup(path);
      return store.description;
    });
    out.data({ file: path, store: from }, () => `wrote ${printable(path)}`);
  },
});
