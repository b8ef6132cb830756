import { type Memory, type MemoryStore, StoreMissing } from '../daemon/admin/store.ts';
import type { OptionValues } from './command.ts';
import { withMemories } from './with-memories.ts';

/**
 * Like `withMemories`, for lists: if no daemon has stored anything yet, the list is empty, which is not a failure.
 * @param none the text to show if the list is empty. If there is no store, its path is added to this text.
 */
export async function listMemories(
  options: OptionValues,
  none: string,
  work: (memories: MemoryStore) => Promise<Memory[]>,
): Promise<{ items: Memory[]; none: string }> {
  try {
    return { items: await withMemories(options, work), none };
  } catch (error) {
    if (error instanceof StoreMissing) return { items: [], none: `${none} ${error.message}` };
    throw error;
  }
}
