import type { ToolDefinition } from '../../agent/index.ts';
import { importModule, provideContracts } from '../channels/modules/import-module.ts';
import { isPath, type Located, locatePackage, locatePath } from '../channels/modules/locate-module.ts';
import { ConfigurationError, type SettingProblem } from '../settings/problem.ts';
import { checkDefinition } from './check-definition.ts';
import { moduleTool } from './module-tool.ts';
import type { ModuleEntry } from './source-entry.ts';
import type { SourceState, Tool, ToolSource, ToolSourceInfo } from './tool.ts';

const WANTED = 'a tool, or a list of tools, as default export (agentd-agent(7), "Modules")';
const FINE: SourceState = { status: 'ok', detail: null, withheld: [] };

/** The tools of a module that the operator wrote. */
export class ModuleSource implements ToolSource {
  readonly info: ToolSourceInfo;
  readonly #entry: ModuleEntry;
  #tools: readonly Tool[] = [];

  constructor(entry: ModuleEntry, info: ToolSourceInfo) {
    this.#entry = entry;
    this.info = info;
  }

  async start(): Promise<void> {
    this.#tools = await loadModuleTools(this.#entry, this.info);
  }

  list(): readonly Tool[] {
    return this.#tools;
  }

  state(): SourceState {
    return FINE;
  }

  async stop(): Promise<void> {}
}

/** Loads the module and checks all of its tools. @throws ConfigurationError with all problems of the module. */
async function loadModuleTools(entry: ModuleEntry, info: ToolSourceInfo): Promise<readonly Tool[]> {
  const located = await locate(entry);
  if (!located.found) throw new ConfigurationError([problemOf(entry, located.problem, located.right)]);
  provideContracts();
  const imported = await importModule(located.file, WANTED);
  if (!imported.ok)
    throw new ConfigurationError([problemOf(entry, imported.refusal.problem, imported.refusal.right)]);
  const { value } = imported;
  const exported: unknown[] = Array.isArray(value) ? value : [value];
  const problems = exported.flatMap((one, index) => {
    const which = Array.isArray(value) ? `tool ${index + 1} of its list` : 'its tool';
    return checkDefinition(one).map(({ problem, right }) =>
      problemOf(entry, `${which} does not fit: ${problem}`, right),
    );
  });
  if (exported.length === 0) problems.push(problemOf(entry, 'exports an empty list', WANTED));
  if (problems.length > 0) throw new ConfigurationError(problems);
  return (exported as ToolDefinition[]).map((definition) => moduleTool(definition, info));
}

function locate({ module, folder }: ModuleEntry): Promise<Located> {
  return isPath(module) ? locatePath(module, folder, 'tool') : locatePackage(module, [folder], 'tool');
}

function problemOf({ place, module }: ModuleEntry, problem: string, right: string): SettingProblem {
  return { setting: place, value: module, source: null, problem, right };
}
