import { ConfigurationError } from '../../settings/problem.ts';
import type { OpenApiEntry } from '../source-entry.ts';
import type { SourceState, Tool, ToolSource, ToolSourceInfo } from '../tool.ts';
import { readOpenApiTools } from './read-tools.ts';

/**
 * The tools of an OpenAPI document: one for each of its operations that the entry lists (agentd-agent(7), "OpenAPI").
 * The document is read once.
 */
export class OpenApiSource implements ToolSource {
  readonly info: ToolSourceInfo;
  readonly #entry: OpenApiEntry;
  #tools: readonly Tool[] = [];

  constructor(entry: OpenApiEntry, info: ToolSourceInfo) {
    this.#entry = entry;
    this.info = info;
  }

  async start(): Promise<void> {
    const { tools, problems } = await readOpenApiTools(this.#entry, this.info);
    if (problems.length > 0) throw new ConfigurationError(problems);
    this.#tools = tools;
  }

  list(): readonly Tool[] {
    return this.#tools;
  }

  state(): SourceState {
    return { status: 'ok', detail: null, withheld: [] };
  }

  async stop(): Promise<void> {}
}
