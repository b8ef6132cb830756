import {
  changeKeyFile,
  hashOfKey,
  KEY_SETTING,
  KeyFileUnchanged,
  keyFilePath,
  sealingKeys,
} from '../../daemon/admin/sealing.ts';
import { printable } from '../../daemon/admin/texts.ts';
import { noteAudit } from '../../daemon/admin/who.ts';
import { failed } from '../cli-error.ts';
import { defineCommand } from '../command.ts';
import { withStore } from '../with-store.ts';
import { howToRemove } from './keys-list.ts';

export const command = defineCommand({
  description:
    'Removes a key from STATE_DIR/encryption-key, in one step, if the key does not seal new tokens and nothing in the store is sealed with it. KEY is the hash that `agentd keys list` shows. First make a copy of the key, and keep it for as long as you keep backups that were made while it was used, because no other key opens the tokens in them. Do not keep it in the same place as the backups: anybody who has both can read the stored tokens. If the key is in TOKEN_ENCRYPTION_KEY, take it out of that setting yourself. Exit code 1 if the key is used, or if the file has no such key.',
  args: { '<key>': 'the hash of the key' },
  examples: { 'agentd keys remove "$KEY"': 'Removes a key that is no longer used.' },
  json: true,
  async run({ args: [id = ''], options, out }) {
    const file = await withStore(
      options,
      async (store, settings) => {
        const path = keyFilePath(settings.STATE_DIR);
        const keys = await sealingKeys(settings, store && (await store.countSeals()));
        const found = keys.find(({ key }) => key === id);
        if (found?.source === KEY_SETTING)
          throw failed(`key ${id} is in ${KEY_SETTING}, which agentd does not change`, howToRemove(found));
        if (found?.source !== path) {
          const places = new Set(keys.flatMap(({ source }) => source ?? []));
          const where = places.size === 0 ? '' : ` in ${[...places].join(' or ')}`;
          throw failed(`there is no key ${printable(id)}${where}`, LIST);
        }
        if (found.role === 'seals')
          throw failed(`key ${id} cannot be removed, because it seals new tokens`, ROTATE);
        if (found.texts > 0)
          throw failed(
            `${found.texts} stored ${found.texts === 1 ? 'text is' : 'texts are'} sealed with key ${id}`,
            'A running daemon seals them again with the current key within a minute. Try again then.',
          );
        await noteAudit(store, { command: 'keys remove', about: id });
        await changeKeyFile(settings.STATE_DIR, (keys) => keys.filter((key) => hashOfKey(key) !== id));
        return path;
      },
      'links',
    ).catch((error: unknown) => {
      if (error instanceof KeyFileUnchanged) throw failed(error.message);
      throw error;
    });
    out.data({ key: id, file }, () => `removed key ${id} from ${file}`);
  },
});

const LIST = 'List the keys with `agentd keys list`.';
const ROTATE = 'First add another key with `agentd keys rotate`.';
