import type { Memory } from '../../daemon/admin/store.ts';
import { printable } from '../../daemon/admin/texts.ts';
import type { Column } from '../output.ts';

export interface ListedMemory extends Memory {
  /** How a table shows the id, if not in full. */
  short_id?: string | undefined;
}

export const MEMORY_COLUMNS: readonly Column<ListedMemory>[] = [
  { title: 'ID', json: 'memory_id', short: ({ short_id, memory_id }) => short_id ?? memory_id },
  { title: 'STORED', json: 'created_at', isTime: true },
  { json: 'used_at', isTime: true },
  { title: 'FROM', json: 'tainted', text: ({ tainted }) => (tainted ? 'elsewhere' : '') },
  { title: 'TEXT', json: 'text', text: ({ text }) => printable(text), narrow: 'wrap' },
  { json: 'turn_id' },
];
