import { vi } from 'vitest';

/** Far longer than it takes on a busy machine: only a condition that never holds fails a test. */
const PATIENCE_MS = 60_000;

/** Resolves when the condition holds. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  await vi.waitUntil(condition, { timeout: PATIENCE_MS });
}
