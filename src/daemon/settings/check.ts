import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import type { SettingRecord, SettingValue } from '../../channel/index.ts';
import { createProblem, type SettingProblem } from './problem.ts';
import type { KnownRecord } from './records/record.ts';
import type { Settings } from './settings.ts';
import { type ConfigLocation, findGiven, type Given, type Sources, UNREADABLE } from './sources.ts';
import { readValue, rightForm, SECRET_SHOWN, show } from './value.ts';

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
interface Checked {
  /** The settings, in the order of the records. */
  effective: readonly EffectiveSetting[];
  problems: readonly SettingProblem[];
}

/** Validates each setting separately. `configure/` checks whether they fit together. */
export function checkRecords(
  records: readonly SettingRecord[],
  sources: Sources,
  location: ConfigLocation,
): Checked {
  const problems: SettingProblem[] = [];
  const effective = records.map((record) => {
    const came = findGiven(sources, record.name);
    if (came === undefined) return byDefault(record, location);
    const { source } = came;
    if (came.value === UNREADABLE) return { record, value: undefined, source, shown: SECRET_SHOWN };
    const reading = readValue(record, came.value);
    if (reading.ok) {
      const value = absolute(record, reading.value, location);
      const file = came.file === undefined ? {} : { file: came.file };
      return { record, value, source, ...file, shown: show(record, value) };
    }
    const asItCame = show(record, came.value);
    const { problem } = reading;
    problems.push({
      setting: record.name,
      value: asItCame,
      source,
      problem,
      right: rightWithExample(record),
    });
    return { record, value: undefined, source, shown: asItCame };
  });
  return { effective, problems };
}

/** The problem that a required value is missing. Of the setting, only the first sentence is said. */
export function notSet(record: SettingRecord, why = 'is not set'): SettingProblem {
  const [first] = /^.*?\.(?= [A-Z]|$)/.exec(record.sentence) ?? [record.sentence];
  return createProblem(record.name, why, `${rightForm(record)}. ${first}`);
}

/** What a string looks like is clear only with its example; any other form says it by itself. */
function rightWithExample(record: SettingRecord): string {
  const hasExample = record.kind === 'string' && record.example !== undefined;
  return `${rightForm(record)}${hasExample ? `, such as ${record.example}` : ''}`;
}

function byDefault(record: SettingRecord, location: ConfigLocation): EffectiveSetting {
  const value = resolveDefault(record, location);
  return { record, value, source: value === undefined ? 'unset' : 'default', shown: show(record, value) };
}

function resolveDefault(record: SettingRecord, location: ConfigLocation): SettingValue | undefined {
  // systemd lists the directories of `StateDirectory=` in this variable. The first of them is the default.
  const ofSystemd = location.env.STATE_DIRECTORY?.split(':')[0];
  const value = record.name === 'STATE_DIR' && ofSystemd ? ofSystemd : record.default;
  return value === undefined ? undefined : absolute(record, value, location);
}

function absolute({ made }: KnownRecord, value: SettingValue, { env, cwd }: ConfigLocation): SettingValue {
  if (typeof value !== 'string' || !made) return value;
  return resolve(cwd, /^~(?=\/|$)/.test(value) ? join(env.HOME || homedir(), value.slice(1)) : value);
}

/** Values of `NODE_ENV` under which settings that are meant for development are refused. */
export const GUARDED: readonly string[] = ['production', 'staging'];

/** The settings as the cross-checks see them: typed values and their sources. Also collects the findings. */
export class Validation {
  readonly problems: SettingProblem[] = [];
  readonly warnings: string[] = [];
  readonly environment: string;
  readonly cwd: string;
  /** Whether the generated settings of `serve --dev` are among the sources. */
  readonly dev: boolean;
  readonly #settings: ReadonlyMap<string, EffectiveSetting>;
  readonly #sources: Sources;

  constructor(
    effective: readonly EffectiveSetting[],
    sources: Sources,
    { environment, cwd, dev }: { environment: string; cwd: string; dev: boolean },
  ) {
    this.dev = dev;
    this.#settings = new Map(effective.map((setting) => [setting.record.name, setting]));
    this.#sources = sources;
    this.environment = environment;
    this.cwd = cwd;
  }

  /**
   * The value of a setting. Undefined if the setting is not set, or if its value is wrong. A wrong value has been
   * reported.
   */
  value<K extends keyof Settings>(name: K): Settings[K] | undefined {
    return this.#settings.get(name)?.value as Settings[K] | undefined;
  }

  /** Whether a value was given, right or wrong. */
  isGiven(name: keyof Settings): boolean {
    return this.#came(name) !== undefined;
  }

  /** The settings of kind `url` that have a valid value. */
  addresses(): { name: string; value: string }[] {
    return [...this.#settings.values()].flatMap(({ record: { name, kind }, value }) =>
      kind === 'url' && typeof value === 'string' ? [{ name, value }] : [],
    );
  }

  get guarded(): boolean {
    return GUARDED.includes(this.environment);
  }

  /**
   * Whether token checks may be switched off: only if NODE_ENV is `development` or `test`, so that they stay on with a
   * misspelled NODE_ENV, or without any. With `serve --dev`, any NODE_ENV except `production` and `staging` is enough.
   */
  get developing(): boolean {
    if (this.guarded) return false;
    return this.dev || this.environment === 'development' || this.environment === 'test';
  }

  refuse(name: keyof Settings, problem: string, right: string): void {
    const record = this.#settings.get(name)?.record;
    const came = this.#came(name);
    this.problems.push({
      setting: name,
      value: came === undefined || record === undefined ? null : show(record, came.value),
      source: came?.source ?? null,
      problem,
      right,
    });
  }

  /** Reports that a setting is missing although another setting needs it. */
  demand(name: keyof Settings, why: string): void {
    const record = this.#settings.get(name)?.record;
    if (record !== undefined && !this.isGiven(name)) this.problems.push(notSet(record, why));
  }

  warn(text: string): void {
    this.warnings.push(text);
  }

  #came(name: string): Given | undefined {
    return findGiven(this.#sources, name);
  }
}
