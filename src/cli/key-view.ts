import { KEY_SETTING, type SealingKey } from '../daemon/admin/sealing.ts';
import type { Column } from './column.ts';

export const KEY_COLUMNS: readonly Column<SealingKey>[] = [
  { title: 'KEY', json: 'key', text: ({ key }) => key ?? '(none)' },
  { title: 'ROLE', json: 'role' },
  { title: 'TEXTS', json: 'texts', align: 'right' },
  { title: 'SOURCE', json: 'source', narrow: 'wrap' },
];

/** How to remove a key: agentd writes into its own key file only. @param source as in `SealingKey` */
export function howToRemove({ key, source }: SealingKey): string {
  return source === KEY_SETTING
    ? `Take it out of ${KEY_SETTING}, and restart the daemon.`
    : `Remove it with \`agentd keys remove ${key}\`.`;
}
