import type { Volume } from '../../disk/volume.ts';
import type { StoreCondition } from '../../store.ts';
import { isBusy, isOutOfSpace } from './unavailable.ts';

const MIB = 1024 * 1024;

/**
 * Whether the store can be written and, if not, why. @param failure why the last write failed; null if it succeeded.
 */
export function describeCondition(failure: unknown, volume: Volume): StoreCondition {
  if (failure !== null) return { writable: false, detail: describeFailure(failure) };
  if (volume.hasRoom()) return { writable: true, detail: null };
  const { free_bytes = 0, low_water_bytes = 0 } = volume.space() ?? {};
  const [free, needed] = [Math.floor(free_bytes / MIB), Math.ceil(low_water_bytes / MIB)];
  return {
    writable: false,
    detail: `The volume of STATE_DIR has ${free} MiB left; new messages are refused below ${needed} MiB.`,
  };
}

function describeFailure(failure: unknown): string {
  if (isBusy(failure)) return 'Another process holds the lock of the database.';
  if (isOutOfSpace(failure)) return 'The volume of STATE_DIR is full.';
  return `The last write failed: ${failure instanceof Error ? failure.message : String(failure)}.`;
}
