import {
  KEY_SETTING,
  removalCommand,
  type SealingKey,
  sealingKeys,
  unusedKeys,
} from '../../daemon/admin/sealing.ts';
import { defineCommand } from '../command.ts';
import type { Column } from '../output.ts';
import { printStored, withStore } from '../with-store.ts';

export const command = defineCommand({
  description:
    'Lists each key with a short hash (never the key itself), its role, and where it is set. The key with the role `seals` seals new texts; a key with the role `opens` only opens texts that are already sealed. TEXTS is the number of stored tokens, texts of actions, comments and recordings that the key has sealed. If it is 0 for a key that only opens, the key is no longer used and can be removed. A key whose role is `unknown` has sealed texts that no configured key opens; agentd treats those texts as missing. Texts that are `unsealed` were stored while there was no key; the next start seals them. The whole store is read.',
  examples: {
    'agentd keys list': 'Shows whether the key from before a rotation is still used.',
    'agentd keys list --json | jq \'[.[] | select(.role == "opens") | .texts] | add\'':
      'Prints how many texts the earlier keys have sealed, for a script.',
  },
  json: true,
  async run({ options, out }) {
    const read = () =>
      withStore(
        options,
        async (store, settings) => sealingKeys(settings, store && (await store.countSeals())),
        'links',
      );
    const items = await printStored(out, KEY_COLUMNS, { none: 'There is no key.', read });
    for (const unused of unusedKeys(items))
      out.note(`Key ${unused.key} in ${unused.source} is no longer used. ${howToRemove(unused)}`);
  },
});

const KEY_COLUMNS: readonly Column<SealingKey>[] = [
  { title: 'KEY', json: 'key', text: ({ key }) => key ?? '(none)' },
  { title: 'ROLE', json: 'role' },
  { title: 'TEXTS', json: 'texts', align: 'right' },
  { title: 'SOURCE', json: 'source', narrow: 'wrap' },
];

/** How to remove a key: agentd writes into its own key file only. @param source as in `SealingKey` */
export function howToRemove(key: SealingKey): string {
  return key.source === KEY_SETTING
    ? `Take it out of ${KEY_SETTING}, and restart the daemon.`
    : `Remove it with \`${removalCommand(key)}\`.`;
}
