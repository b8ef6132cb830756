import type { SettingValue } from '../../../channel/index.ts';
import type { EffectiveSetting } from '../check.ts';
import type { KnownRecord } from '../records/record.ts';
import { Secret } from '../secret.ts';
import type { ConfigurationFiles } from './files.ts';

/** The configuration with which a daemon runs, for a reload. */
export interface RunningConfiguration {
  effective: readonly EffectiveSetting[];
  /** The value of `NODE_ENV`. It does not change while the daemon runs. */
  environment: string;
  files: Pick<ConfigurationFiles, 'setting'>;
}

/** What a reload makes of the settings. */
export interface Merged {
  /** The new values of the settings that a reload takes over, and the running values of all others. */
  effective: readonly EffectiveSetting[];
  /** The settings that have a new value, and that a reload takes over. */
  changed: readonly string[];
  /** The settings that have a new value for which the daemon must be restarted. */
  fixed: readonly string[];
}

/** Compares the settings of a running daemon with new ones. Secrets are compared, but never shown. */
export function mergeRunning(
  next: readonly EffectiveSetting[],
  running: readonly EffectiveSetting[],
): Merged {
  const before = new Map(running.map((setting) => [setting.record.name, setting]));
  const after = new Set(next.map(({ record }) => record.name));
  const changed: string[] = [];
  const fixed: string[] = [];
  const effective = next.map((setting) => {
    const { record } = setting;
    const old = before.get(record.name);
    if (old !== undefined && comparable(old.value) === comparable(setting.value)) return setting;
    if (old === undefined && setting.value === record.default) return setting;
    (isReloaded(record) ? changed : fixed).push(record.name);
    return isReloaded(record) || old === undefined ? setting : old;
  });
  const gone = running.filter(({ record, value }) => !after.has(record.name) && value !== record.default);
  for (const { record } of gone) (isReloaded(record) ? changed : fixed).push(record.name);
  return { effective, changed, fixed };
}

function isReloaded(record: KnownRecord): boolean {
  return record.reload === true;
}

/** A value as a text, so that equal values have equal texts. It may contain a secret. */
function comparable(value: SettingValue | undefined): string {
  return JSON.stringify(value instanceof Secret ? { secret: value.reveal() } : (value ?? null));
}
