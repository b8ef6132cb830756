import {
  changeKeyFile,
  hashOfKey,
  isSealingOff,
  KeyFileUnchanged,
  keyFilePath,
  keyList,
  keysInFile,
  newKey,
} from '../../daemon/admin/sealing.ts';
import type { Settings } from '../../daemon/admin/settings.ts';
import { type Store, sharesStore } from '../../daemon/admin/store.ts';
import { noteAudit } from '../../daemon/admin/who.ts';
import { EXIT, failed } from '../cli-error.ts';
import { type CommandCall, defineCommand } from '../command.ts';
import { jsonText } from '../output.ts';
import { withStore } from '../with-store.ts';

/** Maximum number of keys. With more keys, the key file would exceed its maximum size. */
const KEYS_MAX = 64;

const FOLLOW = 'Run `agentd keys list` until the earlier key is no longer used, then remove it.';

export const command = defineCommand({
  description: [
    'Makes a new key that seals from now on. Earlier keys are still used to open what they have sealed.',
    'If the keys are in STATE_DIR/encryption-key, the command writes the new key into that file, before the others, in one step: after a crash, the file is either the old or the new one. A running daemon seals with the new key from then on and, in the background, reseals what earlier keys have sealed. A stopped daemon does so after its next start.',
    'If TOKEN_ENCRYPTION_KEY is set, the command does not change it. It prints the line to set instead, with the new key first. The line contains the keys, so keep it out of logs.',
    'Daemons that share a store must all have a key before one of them seals with it. This takes two rounds. First move the new key to the end of the printed line, and set that line on one daemon after the other. Then set the line as it was printed. While their keys differ, the daemons reseal nothing.',
    '`agentd keys list` shows when an earlier key is no longer used. Keep a copy of an earlier key for as long as you keep backups that were made while it was used, but not in the same place: anybody who has both can read the stored tokens. Exit code 1 if sealing is off.',
  ].join('\n\n'),
  examples: { 'agentd keys rotate': 'Adds a key.' },
  json: true,
  run: (call) => withStore(call.options, (store, settings) => rotate(call, store, settings), 'links'),
});

async function rotate(
  { out }: CommandCall,
  store: Pick<Store, 'audit'>,
  settings: Settings,
): Promise<number> {
  const { TOKEN_ENCRYPTION_KEY: set, STATE_DIR } = settings;
  if (isSealingOff(set))
    throw failed(
      'sealing is off (TOKEN_ENCRYPTION_KEY=off), so there is no key to rotate',
      'Remove TOKEN_ENCRYPTION_KEY=off: the next start makes a key and seals what is stored.',
    );
  const key = newKey();
  const id = hashOfKey(key);
  const isShared = sharesStore(settings);
  if (set !== undefined || isShared) {
    await noteAudit(store, { command: 'keys rotate', about: `${id}, to be set in TOKEN_ENCRYPTION_KEY` });
    const earlier = set === undefined ? [] : keyList(set);
    const value = [key, ...earlier].join(',');
    const before = [...earlier, key].join(',');
    const steps = { TOKEN_ENCRYPTION_KEY: value, ...(isShared && earlier.length > 0 && { first: before }) };
    if (out.json) out.write(`${jsonText({ key: id, file: null, ...steps })}\n`);
    else out.write(`TOKEN_ENCRYPTION_KEY=${value}\n`);
    out.note(
      'Set this line where TOKEN_ENCRYPTION_KEY is set now, or write what follows the first = into the file that TOKEN_ENCRYPTION_KEY_FILE names. Then restart the daemon. The line contains the keys: keep it secret.',
    );
    if (isShared && earlier.length > 0)
      out.note(
        'If several daemons share the store, first set the line with the new key moved to its end, and restart the daemons one after the other; then set it as printed.',
      );
    out.note(FOLLOW);
    return EXIT.ok;
  }
  const path = keyFilePath(STATE_DIR);
  const keys = await keysInFile(settings);
  if (keys === null)
    throw failed(
      `there is no key yet: ${path} does not exist`,
      'The daemon creates it when it first starts.',
    );
  if (keys.length >= KEYS_MAX)
    throw failed(
      `${path} already contains ${KEYS_MAX} keys, the maximum`,
      'Remove unused keys with `agentd keys remove`.',
    );
  await noteAudit(store, { command: 'keys rotate', about: id });
  try {
    await changeKeyFile(STATE_DIR, (present) => [key, ...present]);
  } catch (error) {
    if (error instanceof KeyFileUnchanged) throw failed(error.message);
    throw error;
  }
  out.data({ key: id, file: path }, () => `added key ${id} to ${path}; it seals from now on`);
  out.note(FOLLOW);
  return EXIT.ok;
}
