import type { SettingRecord } from '../../channel/index.ts';
import { AGENT_RECORDS } from './records/agent-records.ts';
import { IDENTITY_RECORDS } from './records/identity-records.ts';
import { SERVER_RECORDS } from './records/server-records.ts';
import { LIMIT_RECORDS, STORE_RECORDS } from './records/store-records.ts';
import { TELEMETRY_RECORDS } from './records/telemetry-records.ts';
import type { Secret } from './secret.ts';

/**
 * The daemon's own settings, one record each (agentd-settings(5)), in the order of the manual page. The settings of a
 * channel are in its plugin.
 */
export const SETTINGS = [
  ...SERVER_RECORDS,
  ...IDENTITY_RECORDS,
  ...STORE_RECORDS,
  ...LIMIT_RECORDS,
  ...AGENT_RECORDS,
  ...TELEMETRY_RECORDS,
] as const satisfies readonly SettingRecord[];

type ValueOf<R> = R extends { secret: true }
  ? Secret
  : R extends { kind: 'integer' | 'number' }
    ? number
    : R extends { kind: 'boolean' }
      ? boolean
      : R extends { kind: 'list' }
        ? readonly string[]
        : R extends { kind: 'choice'; choices: readonly (infer C)[] }
          ? C
          : string;

type Always<R> = R extends { default: unknown } | { required: true } ? true : false;

/** The daemon's settings after validation. A setting without a default may be undefined. */
export type Settings = {
  readonly [R in (typeof SETTINGS)[number] as R['name']]: Always<R> extends true
    ? ValueOf<R>
    : ValueOf<R> | undefined;
};
