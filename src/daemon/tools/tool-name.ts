/** Maximum length of a tool's name that all models accept, in characters. */
export const TOOL_NAME_MAX = 64;

/**
 * The name under which a tool of a source is offered (agentd-agent(7), "Names"). If it is longer than `TOOL_NAME_MAX`,
 * the entry must rename the tool.
 * @param prefix the `name` of the entry.
 * @param own the name that the source uses for the operation or tool.
 * @param as the whole name, if the entry sets one.
 */
export function toolName(prefix: string, own: string, as?: string): string {
  return as ?? `${prefix}_${own}`.replace(/[^A-Za-z0-9_-]/g, '_');
}
