import { ConfigurationError } from '../settings/problem.ts';
import { describeSource } from './describe-source.ts';
import { McpSource, type McpSourceParts } from './mcp/mcp-source.ts';
import { ModuleSource } from './module-source.ts';
import type { SourceEntry } from './source-entry.ts';
import type { ToolSource } from './tool.ts';

/** The source of an entry under `tools:`; it is not started. */
export function createSource(
  entry: SourceEntry,
  api_base_url: string | undefined,
  parts: McpSourceParts,
): ToolSource {
  const info = describeSource(entry, api_base_url);
  switch (entry.kind) {
    case 'module':
      return new ModuleSource(entry, info);
    case 'mcp':
      return new McpSource(entry, info, parts);
    default:
      throw new ConfigurationError([
        {
          setting: entry.place,
          value: null,
          source: null,
          problem: `is of the kind ${entry.kind}, which this version cannot load`,
          right: 'a module or an MCP server',
        },
      ]);
  }
}
