import type { ConfirmRule, ConfirmWhen } from '../../../agent/index.ts';
import { isObject } from '../../../channel/json-object.ts';
import { readMember } from '../../syntax/json-path.ts';
import { BUTTON_CHARACTERS } from '../../texts/text-records.ts';
import { isSameWord } from '../same-word.ts';
import { isScalar, SchemaReferences } from '../schema/schema-parts.ts';
import type { JsonSchema, Tool, ToolArguments } from '../tool.ts';
import { visible } from './plain-value.ts';

/** When the person must confirm a call (agentd-agent(7), "When to ask"). */
export type ConfirmPolicy = 'always' | 'never' | ConfirmWhen;

/** How long a write counts for the next one, if that one needs a confirmation only under conditions, ms. */
export const LATELY_MS = 10 * 60 * 1000;

/** A problem with a value that is given as the policy. `path` leads to the part of the value that is wrong. */
interface PolicyProblem {
  path: readonly (string | number)[];
  problem: string;
  right: string;
}

const RIGHT = 'always, never, or { when: [{ argument: body.amount, over: 100 }] }';
const CONDITIONS = ['over', 'under', 'in', 'not_in', 'present'] as const;
const RIGHT_CONDITION = `one of ${CONDITIONS.join(', ')}`;
const RIGHT_LIST = 'a list of texts, numbers or booleans, such as [DE, AT]';

/** Reads a policy from the configuration file or from a module. */
export function readConfirmPolicy(value: unknown): { policy: ConfirmPolicy } | { problems: PolicyProblem[] } {
  if (value === 'always' || value === 'never') return { policy: value };
  if (!isObject(value))
    return { problems: [{ path: [], problem: 'is not one of the known values', right: RIGHT }] };
  const problems: PolicyProblem[] = Object.keys(value)
    .filter((key) => key !== 'when')
    .map((key) => ({ path: [key], problem: 'is not a known key', right: 'when' }));
  const { when } = value;
  if (!Array.isArray(when) || when.length === 0)
    problems.push({ path: ['when'], problem: 'is not a list with at least one condition', right: RIGHT });
  else when.forEach((rule, index) => void problems.push(...findProblems(rule, ['when', index])));
  return problems.length > 0 ? { problems } : { policy: { when: when as ConfirmRule[] } };
}

function findProblems(rule: unknown, path: readonly (string | number)[]): PolicyProblem[] {
  if (!isObject(rule))
    return [{ path, problem: 'is not a condition', right: '{ argument: body.amount, over: 100 }' }];
  const problems: PolicyProblem[] = [];
  const refuse = (key: string, problem: string, right: string) =>
    void problems.push({ path: [...path, key], problem, right });
  const { argument } = rule;
  if (typeof argument !== 'string' || argument.trim() === '')
    refuse(
      'argument',
      'is not the name of an argument',
      'an argument, or body.field for a field of the body',
    );
  const given = CONDITIONS.filter((name) => rule[name] !== undefined);
  if (given.length !== 1) {
    const problem = given.length === 0 ? 'has no condition' : `has ${given.length} conditions`;
    problems.push({ path, problem, right: RIGHT_CONDITION });
  }
  for (const name of given) {
    const value = rule[name];
    if (name === 'over' || name === 'under') {
      if (typeof value !== 'number' || !Number.isFinite(value)) refuse(name, 'is not a number', 'a number');
    } else if (name === 'present') {
      if (value !== true) refuse(name, 'is not true', 'true');
    } else if (!Array.isArray(value) || value.length === 0 || !value.every(isScalar))
      refuse(name, 'is not a list of values', RIGHT_LIST);
  }
  for (const key of Object.keys(rule))
    if (key !== 'argument' && !CONDITIONS.some((name) => name === key))
      refuse(key, 'is not a known key', `argument and ${RIGHT_CONDITION}`);
  return problems;
}

/**
 * The arguments that the conditions of a tool name, but that its schema does not have.
 * @param tool with all its arguments: those of the schema that the model fills in, and the bound ones.
 */
export function unknownArguments({
  confirm,
  parameters,
  bind,
}: Pick<Tool, 'confirm' | 'parameters' | 'bind'>): string[] {
  if (typeof confirm === 'string') return [];
  const names = confirm.when.map(({ argument }) => argument);
  return [...new Set(names)].filter(
    (name) =>
      !Object.hasOwn(bind, name) && !argumentPaths(name).some((path) => hasArgument(parameters, path)),
  );
}

/** The paths that a name denotes: to an argument with this name, and to the member that a dotted name leads to. */
export function argumentPaths(name: string): string[][] {
  return name.includes('.') ? [[name], name.split('.')] : [[name]];
}

/** Whether a schema has this property, in itself or in one of the schemas that it combines or refers to. */
function hasArgument(root: JsonSchema, path: readonly string[]): boolean {
  const references = new SchemaReferences(root);
  let found: readonly unknown[] = [root];
  for (const name of path)
    found = [...references.appliedTo(found.filter(isObject))].flatMap(
      ({ properties }) => readMember(properties, name) ?? [],
    );
  return found.length > 0;
}

/**
 * Whether one of the conditions holds. An argument that is missing or has another type counts as holding, because
 * nobody knows what the API makes of it. So does a second argument that an API may read as the one that is meant.
 */
export function holds({ when }: ConfirmWhen, args: ToolArguments): boolean {
  return when.some((rule) => {
    const found = findValues(args, rule.argument);
    if ('present' in rule) return found.values.length > 0 || found.hasAlias;
    return found.values.length === 0 || found.hasAlias || found.values.some((value) => isMet(rule, value));
  });
}

type Compared = Exclude<ConfirmRule, { present: true }>;

function isMet(rule: Compared, value: unknown): boolean {
  if ('over' in rule) return typeof value !== 'number' || value > rule.over;
  if ('under' in rule) return typeof value !== 'number' || value < rule.under;
  const listed = 'in' in rule ? rule.in : rule.not_in;
  const isKnownType = listed.some((one) => typeof one === typeof value);
  const isListed = listed.some((one) => one === value);
  return !isKnownType || ('in' in rule ? isListed : !isListed);
}

/** The values that a name denotes. `hasAlias`: beside one of them there is a name with the same letters. */
function findValues(args: ToolArguments, name: string): { values: unknown[]; hasAlias: boolean } {
  const values: unknown[] = [];
  let hasAlias = false;
  for (const path of argumentPaths(name)) {
    let value: unknown = args;
    for (const step of path) {
      if (!isObject(value)) {
        // The API may find the member in a form that is not known here, such as a list or a text of JSON.
        if (value !== undefined) values.push(value);
        value = undefined;
        break;
      }
      hasAlias ||= Object.keys(value).some((key) => key !== step && isSameWord(key, step));
      value = Object.hasOwn(value, step) ? value[step] : undefined;
    }
    if (value !== undefined) values.push(value);
  }
  return { values, hasAlias };
}

export function confirmInWords(confirm: ConfirmPolicy): string {
  if (typeof confirm === 'string') return confirm;
  const rules = confirm.when.map((rule) => {
    if ('over' in rule) return `${rule.argument} over ${rule.over}`;
    if ('under' in rule) return `${rule.argument} under ${rule.under}`;
    if ('in' in rule) return `${rule.argument} in ${rule.in.join(', ')}`;
    return 'not_in' in rule
      ? `${rule.argument} not in ${rule.not_in.join(', ')}`
      : `${rule.argument} present`;
  });
  return `when ${rules.join('; ')}; or written in the last ${LATELY_MS / 60_000} minutes`;
}

/** What the label of a button must be, for operators. */
export const RIGHT_CONFIRM_LABEL = `a verb on one line, of at most ${BUTTON_CHARACTERS} characters, such as "Cancel order"`;

/** Whether a text can be the label of the button that confirms an action (`confirm_label`). */
export function isConfirmLabel(text: string): boolean {
  return text.trim() !== '' && text.length <= BUTTON_CHARACTERS && visible(text) === text;
}
