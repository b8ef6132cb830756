import { resolve } from 'node:path';
import { restoreStore, sessionBackend } from '../../daemon/admin/store.ts';
import { printable } from '../../daemon/admin/texts.ts';
import { noteAudit } from '../../daemon/admin/who.ts';
import { defineCommand } from '../command.ts';
import { coreSettings } from '../config-location.ts';
import { storeOnServer, withStore } from '../with-store.ts';

export const command = defineCommand({
  description:
    'Works only while no daemon runs on the store. The file is verified as a whole before anything is changed. The store that it replaces is kept next to it as `agentd.db.before-restore`, or `agentd.db.before-restore-2` and so on if that exists, until you delete it or `agentd person erase` does. Messages that were waiting when the backup was made are answered again after the next start. Questions that waited for a confirmation are withdrawn, because their actions may have been carried out after the backup was made; of actions that were confirmed and not yet sent, the outcome counts as unknown. Links, sign-ins, erased persons and other data that was removed after the backup was made are in the store again: remove them once more. Exit code 1 if the file is not a backup of agentd or is damaged, 69 while a daemon runs. With Redis or Postgres, nothing is restored (exit code 1): use the tools of the server, such as `pg_restore`.',
  args: { '<file>': 'a file that `agentd backup` has written' },
  examples: { 'agentd restore /var/backups/agentd-2026-11-20.db': 'Restores that backup.' },
  json: true,
  async run({ args: [file = ''], options, out }) {
    const settings = await coreSettings(options, 'store');
    const backend = sessionBackend(settings);
    if (backend !== 'sqlite') throw storeOnServer(backend);
    const path = resolve(file);
    const replaced = await restoreStore(settings, path);
    const description = await withStore(options, async (store) => {
      await noteAudit(store, { command: 'restore', about: path });
      return store.description;
    });
    out.data({ file: path, store: description, replaced }, () =>
      [
        `restored ${printable(path)} to ${printable(description)}`,
        ...(replaced === null ? [] : [`the previous store is kept as ${printable(replaced)}`]),
      ].join('\n'),
    );
  },
});
