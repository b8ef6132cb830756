import { printable } from '../../daemon/admin/texts.ts';
import type { Tool, ToolRegistry } from '../../daemon/admin/tools.ts';
import { failed } from '../cli-error.ts';

/** The tool with this name. @throws CliError if there is none, with the reason if it is withheld */
export function findTool(name: string, registry: ToolRegistry): Tool {
  const found = registry.tools().find((tool) => tool.name === name);
  if (found) return found;
  const withheld = registry.sources
    .flatMap((source) => source.state().withheld)
    .find((tool) => tool.name === name);
  if (withheld) throw failed(`the tool ${printable(name)} is not offered: ${withheld.because}`);
  throw failed(`there is no tool ${printable(name)}`, 'List the tools with `agentd tools list`.');
}
