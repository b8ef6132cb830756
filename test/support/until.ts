import { vi } from 'vitest';

/** Long enough even for a busy machine: only a condition that never becomes true fails a test. */
const PATIENCE_MS = 60_000;

/** Resolves when the condition is true. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  await vi.waitUntil(condition, { timeout: PATIENCE_MS });
}
