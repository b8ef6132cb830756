import { describeSource } from './describe-source.ts';
import type { McpSourceParts } from './mcp/mcp-source.ts';
import type { SourceEntry } from './source-entry.ts';
import type { ToolSource } from './tool.ts';

/**
 * Creates the source of an entry under `tools:`, without starting it. Only the modules that its kind needs are loaded.
 */
export async function createSource(
  entry: SourceEntry,
  api_base_url: string | undefined,
  parts: McpSourceParts,
): Promise<ToolSource> {
  const info = describeSource(entry, api_base_url);
  switch (entry.kind) {
    case 'openapi': {
      const { OpenApiSource } = await import('./openapi/openapi-source.ts');
      return new OpenApiSource(entry, info);
    }
    case 'module': {
      const { ModuleSource } = await import('./module-source.ts');
      return new ModuleSource(entry, info);
    }
    case 'mcp': {
      const { McpSource } = await import('./mcp/mcp-source.ts');
      return new McpSource(entry, info, parts);
    }
  }
}
