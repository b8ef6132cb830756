import { shortName } from './safe-names.ts';

/**
 * The name under which a tool of a source is offered (agentd-agent(7), "Names"). It has at most 64 characters, which all
 * models accept: a longer one is cut, and gets a hash, so that it is always the same.
 * @param prefix the `name` of the entry.
 * @param own the name that the source uses for the operation or tool.
 * @param as the whole name, if the entry sets one.
 */
export function toolName(prefix: string, own: string, as?: string): string {
  const whole = `${prefix}_${own}`;
  return as ?? shortName(whole.replace(/[^A-Za-z0-9_-]/g, '_'), whole);
}
