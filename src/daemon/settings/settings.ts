import { AGENT_RECORDS } from './records/agent-records.ts';
import { IDENTITY_RECORDS } from './records/identity-records.ts';
import type { KnownRecord } from './records/record.ts';
import { SERVER_RECORDS } from './records/server-records.ts';
import { LIMIT_RECORDS, STORE_RECORDS } from './records/store-records.ts';
import { TELEMETRY_RECORDS } from './records/telemetry-records.ts';
import type { Secret } from './secret.ts';

const RECORDS = {
  ...SERVER_RECORDS,
  ...IDENTITY_RECORDS,
  ...STORE_RECORDS,
  ...LIMIT_RECORDS,
  ...AGENT_RECORDS,
  ...TELEMETRY_RECORDS,
};

/**
 * The daemon's own settings, one record each (agentd-settings(5)), in the order of the manual page. The settings of a
 * channel are in its plugin.
 */
export const SETTINGS = Object.entries<RecordBody>(RECORDS).map(([name, record]) => ({
  ...record,
  name: name as keyof Settings,
}));

type RecordBody = KnownRecord extends infer R ? (R extends KnownRecord ? Omit<R, 'name'> : never) : never;

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
  readonly [Name in keyof typeof RECORDS]: Always<(typeof RECORDS)[Name]> extends true
    ? ValueOf<(typeof RECORDS)[Name]>
    : ValueOf<(typeof RECORDS)[Name]> | undefined;
};
