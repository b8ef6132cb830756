import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import type { SettingRecord, SettingValue } from '../../channel/index.ts';
import type { SettingProblem } from './problem.ts';
import { SECRET_SHOWN, shown } from './shown.ts';
import { given, type Place, type Sources, UNREADABLE } from './sources.ts';
import { readValue, rightForm } from './value.ts';

/** The effective value of one setting, and where it comes from. */
export interface EffectiveSetting {
  record: SettingRecord;
  /** Undefined if nothing sets it and it has no default, or if its value is wrong. */
  value: SettingValue | undefined;
  /**
   * Where the value comes from: `environment`, `.env`, the path of the configuration file, `serve --dev`, `default`, or
   * `unset`. For a secret that was read from a file, `, NAME_FILE` is added.
   */
  source: string;
  /** The file, if a secret was read from one. */
  file?: string;
  /** The value as people may see it: secrets as `[secret]`, wrong values as they were given. */
  shown: string;
}

/** The settings of some records, each checked separately. */
export interface Checked {
  /** The settings, in the order of the records. */
  effective: readonly EffectiveSetting[];
  problems: readonly SettingProblem[];
}

/**
 * Settings that name a file or folder that agentd creates. Their values are made absolute here; `~` is the home
 * directory.
 */
const MADE_PATHS: readonly string[] = ['STATE_DIR', 'LOG_FILE'];

/** Validates each setting separately. cross-checks.ts checks whether they fit together. */
export function checkRecords(records: readonly SettingRecord[], sources: Sources, place: Place): Checked {
  const problems: SettingProblem[] = [];
  const effective = records.map((record) => {
    const came = given(sources, record.name);
    if (came === undefined) return byDefault(record, place);
    const { source } = came;
    if (came.value === UNREADABLE) return { record, value: undefined, source, shown: SECRET_SHOWN };
    const reading = readValue(record, came.value);
    if (reading.ok) {
      const value = absolute(record.name, reading.value, place);
      const file = came.file === undefined ? {} : { file: came.file };
      return { record, value, source, ...file, shown: shown(record, value) };
    }
    const asItCame = shown(record, came.value);
    const { problem } = reading;
    problems.push({ setting: record.name, value: asItCame, source, problem, right: rightForm(record) });
    return { record, value: undefined, source, shown: asItCame };
  });
  return { effective, problems };
}

/** The problem that a required value is missing. */
export function notSet(record: SettingRecord, why = 'is not set'): SettingProblem {
  return {
    setting: record.name,
    value: null,
    source: null,
    problem: why,
    right: `${rightForm(record)}. ${record.sentence}`,
  };
}

function byDefault(record: SettingRecord, place: Place): EffectiveSetting {
  const value = defaultOf(record, place);
  return { record, value, source: value === undefined ? 'unset' : 'default', shown: shown(record, value) };
}

function defaultOf(record: SettingRecord, place: Place): SettingValue | undefined {
  // systemd lists the directories of `StateDirectory=` in this variable. The first of them is the default.
  const ofSystemd = place.env.STATE_DIRECTORY?.split(':')[0];
  const value = record.name === 'STATE_DIR' && ofSystemd ? ofSystemd : record.default;
  return value === undefined ? undefined : absolute(record.name, value, place);
}

function absolute(name: string, value: SettingValue, { env, cwd }: Place): SettingValue {
  if (typeof value !== 'string' || !MADE_PATHS.includes(name)) return value;
  return resolve(cwd, /^~(?=\/|$)/.test(value) ? join(env.HOME || homedir(), value.slice(1)) : value);
}
