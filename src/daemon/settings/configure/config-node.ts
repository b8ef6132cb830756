import { isObject } from '../../../channel/json-object.ts';
import { readMember } from '../../syntax/json-path.ts';
import type { DocumentPath } from '../../syntax/yaml-lines.ts';
import { nearest } from '../nearest.ts';
import type { SettingProblem } from '../problem.ts';
import type { StructuredValue } from '../sources.ts';
import { show } from '../value.ts';

/** A value below a structured key of the configuration file. It knows its name and its line, and reports problems. */
export class ConfigNode {
  readonly value: unknown;
  readonly #path: DocumentPath;
  readonly #file: StructuredValue;
  readonly #problems: SettingProblem[];

  private constructor(value: unknown, path: DocumentPath, file: StructuredValue, problems: SettingProblem[]) {
    this.value = value;
    this.#path = path;
    this.#file = file;
    this.#problems = problems;
  }

  /** The node of the whole value. Its problems, and those of all nodes below it, are added to `problems`. */
  static of(file: StructuredValue, problems: SettingProblem[]): ConfigNode {
    return new ConfigNode(file.value, [file.key], file, problems);
  }

  /** `tools[0].operations["GET /orders/{id}"].bind` */
  get setting(): string {
    return this.#path.map(formatStep).join('');
  }

  /** `agentd.yaml, line 12` */
  get source(): string {
    const line = this.#file.findLine(this.#path);
    return line === null ? this.#file.source : `${this.#file.source}, line ${line}`;
  }

  get location(): { setting: string; source: string } {
    const { setting, source } = this;
    return { setting, source };
  }

  /** The folder that relative paths are relative to. */
  get folder(): string {
    return this.#file.folder;
  }

  /** Whether there is no value. A key without a value counts as absent, too. */
  get isAbsent(): boolean {
    return this.value === undefined || this.value === null;
  }

  /** Reports a problem without the value, which may be a secret. */
  refuse(problem: string, right: string): undefined {
    this.#problems.push({ setting: this.setting, value: null, source: this.source, problem, right });
  }

  /** Reports a problem with the value. Not for values that may be secrets. */
  refuseValue(problem: string, right: string): undefined {
    const { setting, source } = this;
    this.#problems.push({ setting, value: show({}, this.value), source, problem, right });
  }

  child(key: string | number): ConfigNode {
    return new ConfigNode(readMember(this.value, key), [...this.#path, key], this.#file, this.#problems);
  }

  /** What `read` makes of a member; undefined if it is absent. */
  optional<T>(key: string, read: (child: ConfigNode) => T | undefined): T | undefined {
    const child = this.child(key);
    return child.isAbsent ? undefined : read(child);
  }

  /** The items of a list; reports anything else. */
  items(right: string): ConfigNode[] {
    if (!Array.isArray(this.value)) {
      this.refuse(this.isAbsent ? 'is not set' : 'is not a list', right);
      return [];
    }
    return this.value.map((_item, index) => this.child(index));
  }

  /** Whether it is an object; reports anything else. */
  isObject(right: string): boolean {
    if (!isObject(this.value)) this.refuse(this.isAbsent ? 'is not set' : 'is not an object', right);
    return isObject(this.value);
  }

  /** The members of an object, by name; reports anything else. @param empty the problem if it has none */
  members(right: string, empty?: string): [name: string, node: ConfigNode][] {
    if (!this.isObject(right)) return [];
    const names = Object.keys(this.value as object);
    if (names.length === 0 && empty !== undefined) this.refuse(empty, right);
    return names.map((name) => [name, this.child(name)]);
  }

  /** Reports each member that is not one of these names. */
  onlyKeys(known: readonly string[]): void {
    if (!isObject(this.value)) return;
    for (const name of Object.keys(this.value)) {
      if (known.includes(name)) continue;
      const meant = nearest(name, known, 2)?.name;
      const right = `one of ${known.join(', ')}`;
      this.child(name).refuse('is not a known key', meant === undefined ? right : `${meant}? ${right}`);
    }
  }

  /** A text that is not blank, trimmed; reports anything else. */
  text(right: string): string | undefined {
    const { value } = this;
    if (typeof value === 'number' || typeof value === 'boolean')
      return this.refuse(`is a ${typeof value}; put it in quotes`, right);
    if (typeof value !== 'string') return this.refuse(this.isAbsent ? 'is not set' : 'is not a text', right);
    if (value.trim() === '') return this.refuse('is empty', right);
    return value.trim();
  }

  /** A text that fits; reports anything else with its value. */
  textThat(fits: (text: string) => boolean, problem: string, right: string): string | undefined {
    const text = this.text(right);
    return text === undefined || fits(text) ? text : this.refuseValue(problem, right);
  }

  /** A whole number between the two; reports anything else. */
  integer(min: number, max: number): number | undefined {
    const { value } = this;
    if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) return value;
    return this.refuseValue('is not one of the possible numbers', `a whole number from ${min} to ${max}`);
  }

  boolean(): boolean | undefined {
    return typeof this.value === 'boolean'
      ? this.value
      : this.refuseValue('is not a boolean', 'true or false');
  }

  /** One of these words; reports anything else. */
  choice<T extends string>(words: readonly T[]): T | undefined {
    const word = words.find((candidate) => candidate === this.value);
    return word ?? this.refuseValue('is not one of the known values', `one of ${words.join(', ')}`);
  }
}

export function withoutAbsent<T extends object>(entry: { [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(entry).filter(([, value]) => value !== undefined)) as T;
}

/** Reports each entry that has the `name` of an earlier one. */
export function refuseRepeatedNames(nodes: readonly ConfigNode[]): void {
  const seen = new Map<string, ConfigNode>();
  for (const node of nodes) {
    const name = node.child('name');
    if (typeof name.value !== 'string' || name.value.trim() === '') continue;
    const first = seen.get(name.value.trim());
    if (first !== undefined)
      name.refuseValue(`is also the name of ${first.setting}`, 'another name for one of the two');
    else seen.set(name.value.trim(), node);
  }
}

function formatStep(segment: string | number, index: number): string {
  if (typeof segment === 'number') return `[${segment}]`;
  if (!/^[\w-]+$/.test(segment)) return `[${JSON.stringify(segment)}]`;
  return index === 0 ? segment : `.${segment}`;
}
