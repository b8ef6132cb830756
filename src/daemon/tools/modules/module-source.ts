import type { ToolDefinition } from '../../../agent/index.ts';
import { type Refusal, unfit } from '../../../channel/fit.ts';
import { isObject } from '../../../channel/json-object.ts';
import { importModule, provideContracts } from '../../channels/modules/import-module.ts';
import { isPath, type Located, locatePackage, locatePath } from '../../channels/modules/locate-module.ts';
import { ConfigurationError, type SettingProblem } from '../../settings/problem.ts';
import { NAME_FORM } from '../../settings/tools-schema.ts';
import {
  isConfirmLabel,
  RIGHT_CONFIRM_LABEL,
  readConfirmPolicy,
  unknownArguments,
} from '../confirmation/confirm-policy.ts';
import { compileSchema } from '../schema/compile-schema.ts';
import type { ModuleEntry } from '../source-entry.ts';
import type { JsonSchema, Tool, ToolSourceInfo } from '../tool.ts';
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

function createProblem({ location, module }: ModuleEntry, problem: string, right: string): SettingProblem {
  return { setting: location, value: module, source: null, problem, right };
}

const CREDENTIALS = ['user-or-default', 'user', 'default', 'none'];

/** What the value of a member must be, or how it is checked. */
type MemberCheck =
  | { right: string; fits(value: unknown): boolean }
  | ((value: unknown, definition: Readonly<Record<string, unknown>>) => Refusal[]);

function optional(right: string, fits: (value: unknown) => boolean): MemberCheck {
  return { right, fits: (value) => value === undefined || fits(value) };
}

const MEMBERS: Readonly<Record<keyof ToolDefinition, MemberCheck>> = {
  name: {
    right: '1 to 64 letters, digits, `_` and `-`',
    fits: (value) => typeof value === 'string' && NAME_FORM.test(value),
  },
  title: optional('a text', isText),
  description: { right: 'a text for the model: what the tool does, and when to use it', fits: isText },
  parameters: checkParameters,
  effect: { right: '`read` or `write`', fits: (value) => value === 'read' || value === 'write' },
  credentials: optional(CREDENTIALS.map((one) => `\`${one}\``).join(', '), (value) =>
    CREDENTIALS.includes(value as string),
  ),
  confirm: checkConfirm,
  summary: optional('a text', isText),
  confirm_label: optional(RIGHT_CONFIRM_LABEL, (value) => typeof value === 'string' && isConfirmLabel(value)),
  public: optional('`all`, or a list of the names of fields', (value) => value === 'all' || isTexts(value)),
  idempotent: optional('`true` or `false`', (value) => typeof value === 'boolean'),
  call: { right: 'a function', fits: (value) => typeof value === 'function' },
};

/** All problems with a value that a module exports as a tool. */
function checkDefinition(exported: unknown): Refusal[] {
  if (!isObject(exported))
    return [unfit('it', 'an object with name, description, parameters, effect, call', exported)];
  const unfitting = Object.entries(MEMBERS).flatMap(([member, check]) => {
    const value = exported[member];
    if (typeof check === 'function') return check(value, exported);
    return check.fits(value) ? [] : [unfit(`\`${member}\``, check.right, value)];
  });
  const right = Object.keys(MEMBERS).join(', ');
  const unknown = Object.keys(exported).filter((member) => !Object.hasOwn(MEMBERS, member));
  return [
    ...unfitting,
    ...unknown.map((member) => ({ problem: `\`${member}\` is not a member of a tool`, right })),
  ];
}

function checkConfirm(confirm: unknown, { parameters }: Readonly<Record<string, unknown>>): Refusal[] {
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

function checkParameters(parameters: unknown): Refusal[] {
  const right = 'a JSON Schema of an object: `{ type: "object", properties: { … } }`';
  if (!isObject(parameters) || parameters.type !== 'object')
    return [{ problem: '`parameters` is not a schema of an object', right }];
  try {
    compileSchema(parameters as JsonSchema);
    return [];
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return [{ problem: `\`parameters\` cannot be used: ${why.slice(0, 200)}`, right }];
  }
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value.trim() !== '';
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((one) => typeof one === 'string');
}
