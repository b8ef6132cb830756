import type { EffectiveSetting } from './check.ts';
import { notSet } from './check.ts';
import type { SettingProblem } from './problem.ts';
import type { Settings } from './settings.ts';
import { shown } from './shown.ts';
import { type Given, given, type Sources } from './sources.ts';

/** Values of `NODE_ENV` under which settings that are meant for development are refused. */
export const GUARDED: readonly string[] = ['production', 'staging'];

/** The settings as the cross-checks see them: typed values and their sources. Also collects the findings. */
export class Examination {
  readonly problems: SettingProblem[] = [];
  readonly warnings: string[] = [];
  readonly environment: string;
  readonly cwd: string;
  /** Whether the generated settings of `serve --dev` are among the sources. */
  readonly #dev: boolean;
  readonly #settings: ReadonlyMap<string, EffectiveSetting>;
  readonly #sources: Sources;

  constructor(
    effective: readonly EffectiveSetting[],
    sources: Sources,
    { environment, cwd, dev }: { environment: string; cwd: string; dev: boolean },
  ) {
    this.#dev = dev;
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
    return this.#dev || this.environment === 'development' || this.environment === 'test';
  }

  refuse(name: keyof Settings, problem: string, right: string): void {
    const record = this.#settings.get(name)?.record;
    const came = this.#came(name);
    this.problems.push({
      setting: name,
      value: came === undefined || record === undefined ? null : shown(record, came.value),
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
    return given(this.#sources, name);
  }
}
