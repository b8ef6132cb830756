import { isObject } from '../../channel/json-object.ts';
import { type Refusal, unfit } from '../channels/modules/import-module.ts';
import { validatorOf } from './compile-schema.ts';
import type { JsonSchema } from './tool.ts';

const NAME = /^[A-Za-z0-9_-]{1,64}$/;
const CREDENTIALS = ['user-or-default', 'user', 'default', 'none'];
const MEMBERS = [
  'name',
  'title',
  'description',
  'parameters',
  'effect',
  'credentials',
  'confirm',
  'summary',
  'public',
  'idempotent',
  'call',
];

/** All problems with a value that a module exports as a tool. */
export function checkDefinition(exported: unknown): Refusal[] {
  if (!isObject(exported))
    return [unfit('it', 'an object with name, description, parameters, effect, call', exported)];
  const { name, title, description, parameters, effect, credentials, confirm, summary, idempotent, call } =
    exported;
  const shown = exported.public;
  const found: (Refusal | null)[] = [
    expects(
      typeof name === 'string' && NAME.test(name),
      '`name`',
      '1 to 64 letters, digits, `_` and `-`',
      name,
    ),
    expects(
      typeof description === 'string' && description.trim() !== '',
      '`description`',
      'a text for the model: what the tool does, and when to use it',
      description,
    ),
    checkParameters(parameters),
    expects(effect === 'read' || effect === 'write', '`effect`', '`read` or `write`', effect),
    expects(isTextOrAbsent(title), '`title`', 'a text', title),
    expects(
      credentials === undefined || CREDENTIALS.includes(credentials as string),
      '`credentials`',
      CREDENTIALS.map((one) => `\`${one}\``).join(', '),
      credentials,
    ),
    expects(
      confirm === undefined || confirm === 'always' || confirm === 'never',
      '`confirm`',
      '`always` or `never`',
      confirm,
    ),
    expects(isTextOrAbsent(summary), '`summary`', 'a text', summary),
    expects(
      shown === undefined || shown === 'all' || isTexts(shown),
      '`public`',
      '`all`, or a list of the names of fields',
      shown,
    ),
    expects(
      idempotent === undefined || typeof idempotent === 'boolean',
      '`idempotent`',
      '`true` or `false`',
      idempotent,
    ),
    expects(typeof call === 'function', '`call`', 'a function', call),
    ...Object.keys(exported)
      .filter((member) => !MEMBERS.includes(member))
      .map((member) => ({ problem: `\`${member}\` is not a member of a tool`, right: MEMBERS.join(', ') })),
  ];
  return found.filter((refusal) => refusal !== null);
}

function checkParameters(parameters: unknown): Refusal | null {
  const right = 'a JSON Schema of an object: `{ type: "object", properties: { … } }`';
  if (!isObject(parameters) || parameters.type !== 'object')
    return { problem: '`parameters` is not a schema of an object', right };
  try {
    validatorOf(parameters as JsonSchema);
    return null;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { problem: `\`parameters\` cannot be used: ${why.slice(0, 200)}`, right };
  }
}

function expects(fits: boolean, member: string, right: string, came: unknown): Refusal | null {
  return fits ? null : unfit(member, right, came);
}

function isTextOrAbsent(value: unknown): boolean {
  return value === undefined || (typeof value === 'string' && value.trim() !== '');
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((one) => typeof one === 'string');
}
