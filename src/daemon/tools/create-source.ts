import { describeSource } from './describe-source.ts';
import { McpSource, type McpSourceParts } from './mcp/mcp-source.ts';
import { ModuleSource } from './module-source.ts';
import { OpenApiSource } from './openapi/openapi-source.ts';
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
    case 'openapi':
      return new OpenApiSource(entry, info);
    case 'module':
      return new ModuleSource(entry, info);
    case 'mcp':
      return new McpSource(entry, info, parts);
  }
}
