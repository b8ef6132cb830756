/** The longest name of a tool that all models accept. */
export const TOOL_NAME_MAX = 64;

/**
 * The name under which a tool of a source is offered (agentd-agent(7), "Names"). If it is longer than `TOOL_NAME_MAX`,
 * the entry must rename it.
 * @param prefix `name` of the entry
 * @param own the operation or tool, as the source names it
 * @param as the whole name, if the entry gives one
 */
export function toolName(prefix: string, own: string, as?: string): string {
  return as ?? `${prefix}_${own}`.replace(/[^A-Za-z0-9_-]/g, '_');
}
