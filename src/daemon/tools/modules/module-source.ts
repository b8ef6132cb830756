import type { ToolDefinition } from '../../../agent/index.ts';
import { isObject } from '../../../channel/json-object.ts';
import { importModule, provideContracts, type Refusal, unfit } from '../../channels/modules/import-module.ts';
import { isPath, type Located, locatePackage, locatePath } from '../../channels/modules/locate-module.ts';
import { ConfigurationError, type SettingProblem } from '../../settings/problem.ts';
import { isConfirmLabel, RIGHT_CONFIRM_LABEL } from '../confirmation/confirm-label.ts';
import { readConfirmPolicy, unknownArguments } from '../confirmation/confirm-policy.ts';
import { compileSchema } from '../schema/compile-schema.ts';
import type { ModuleEntry } from '../source-entry.ts';
import type { JsonSchema, Tool, ToolSourceInfo } from '../tool.ts';
import { TOOL_NAME } from '../tool-names.ts';
import { createModuleTool } from './module-tool.ts';

const WANTED = 'a tool, or a list of tools, as default export (agentd-agent(7), "Modules")';
/**
 * The tools of a module that the operator wrote, all of them checked.
 * @throws ConfigurationError with all problems of the module.
 */
export async function loadModuleTools(entry: ModuleEntry, info: ToolSourceInfo): Promise<readonly Tool[]> {
  const located = await locate(entry);
  if (!located.found) throw new ConfigurationError([createProblem(entry, located.problem, located.right)]);
  provideContracts();
  const imported = await importModule(located.file, WANTED, { fresh: true });
  if (!imported.ok)
    throw new ConfigurationError([createProblem(entry, imported.refusal.problem, imported.refusal.right)]);
  const { value } = imported;
  const exported: unknown[] = Array.isArray(value) ? value : [value];
  const problems = exported.flatMap((one, index) => {
    const which = Array.isArray(value) ? `tool ${index + 1} of its list` : 'its tool';
    return checkDefinition(one).map(({ problem, right }) =>
      createProblem(entry, `${which} does not fit: ${problem}`, right),
    );
  });
  if (exported.length === 0) problems.push(createProblem(entry, 'exports an empty list', WANTED));
  if (problems.length > 0) throw new ConfigurationError(problems);
  return (exported as ToolDefinition[]).map((definition) => createModuleTool(definition, info));
}

function locate({ module, folder }: ModuleEntry): Promise<Located> {
  return isPath(module) ? locatePath(module, folder, 'tool') : locatePackage(module, [folder], 'tool');
}

function createProblem({ place, module }: ModuleEntry, problem: string, right: string): SettingProblem {
  return { setting: place, value: module, source: null, problem, right };
}

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
  'confirm_label',
  'public',
  'idempotent',
  'call',
];

/** All problems with a value that a module exports as a tool. */
function checkDefinition(exported: unknown): Refusal[] {
  if (!isObject(exported))
    return [unfit('it', 'an object with name, description, parameters, effect, call', exported)];
  const { name, title, description, parameters, effect, credentials, confirm, summary, idempotent, call } =
    exported;
  const { public: shown, confirm_label } = exported;
  const found: (Refusal | null)[] = [
    expects(
      typeof name === 'string' && TOOL_NAME.test(name),
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
    ...checkConfirm(confirm, parameters),
    expects(isTextOrAbsent(summary), '`summary`', 'a text', summary),
    expects(
      confirm_label === undefined || (typeof confirm_label === 'string' && isConfirmLabel(confirm_label)),
      '`confirm_label`',
      RIGHT_CONFIRM_LABEL,
      confirm_label,
    ),
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

function checkConfirm(confirm: unknown, parameters: unknown): Refusal[] {
  if (confirm === undefined) return [];
  const read = readConfirmPolicy(confirm);
  if ('problems' in read)
    return read.problems.map(({ path, problem, right }) => ({
      problem: `\`${['confirm', ...path].join('.')}\` ${problem}`,
      right,
    }));
  if (!isObject(parameters)) return [];
  return unknownArguments({ confirm: read.policy, parameters, bind: {} }).map((name) => ({
    problem: `\`confirm\` names \`${name}\`, which is not an argument of the tool`,
    right: 'an argument under `parameters`',
  }));
}

function checkParameters(parameters: unknown): Refusal | null {
  const right = 'a JSON Schema of an object: `{ type: "object", properties: { … } }`';
  if (!isObject(parameters) || parameters.type !== 'object')
    return { problem: '`parameters` is not a schema of an object', right };
  try {
    compileSchema(parameters as JsonSchema);
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
