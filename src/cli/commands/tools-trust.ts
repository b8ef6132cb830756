import { diff } from 'node:util';
import { readConfiguration } from '../../daemon/admin/settings.ts';
import type { ServerDefinition, ToolDigest, ToolDigestStore } from '../../daemon/admin/store.ts';
import { printable, withoutControls } from '../../daemon/admin/texts.ts';
import { knownDigests, withRegistry } from '../../daemon/admin/tools.ts';
import { noteAudit } from '../../daemon/admin/who.ts';
import { failed } from '../cli-error.ts';
import { type CommandCall, defineCommand } from '../command.ts';
import { configLocation } from '../config-location.ts';
import { jsonText } from '../output.ts';
import { withStore } from '../with-store.ts';

export const command = defineCommand({
  description: [
    'A tool of an MCP server is offered only as it was when the daemon first saw it. If the server changes its title, description or schema, the tool is withheld until this command accepts the change.',
    'The command shows what changed, line by line, and accepts exactly what it shows. A running daemon offers the tool again within seconds. If no change is known, the command asks the server, so it also works while no daemon runs.',
    'Check the new description for instructions: a server can hide some there, and the model reads them.',
    'NAME is the name of the tool, as in `agentd tools list`. Exit code 1 if no MCP server has listed such a tool. A tool that has not changed is not affected.',
  ].join('\n\n'),
  args: { '<name>': 'name of the tool' },
  examples: { 'agentd tools trust docs_search': 'Shows what changed in a tool, and accepts it.' },
  json: true,
  async run({ args: [name = ''], options, out }) {
    const tool = await withStore(options, async (store) => {
      const { toolDigests } = store;
      const found = await currentRecord(name, toolDigests, { options, out });
      if (!found) {
        throw failed(
          `no MCP server has listed a tool with the name ${printable(name)}`,
          'List the tools with `agentd tools list`. The daemon must have connected to the server once.',
        );
      }
      if (found.changed) await noteAudit(store, { command: 'tools trust', about: name });
      if (found.changed && !(await toolDigests.trust(name, found.changed.digest)))
        throw failed('the server has changed the tool again', 'Run the command again to see the new change.');
      return found;
    });
    const { source, trusted, changed } = tool;
    const view = {
      name,
      source,
      changed: changed !== null,
      before: toView(trusted),
      trusted: toView(changed ?? trusted),
    };
    out.data(view, () => formatTool(tool));
  },
});

/**
 * The record of the tool; null if no server has listed it yet. If the record shows no change, the server is asked,
 * because perhaps no daemon was running to see a change.
 */
async function currentRecord(
  name: string,
  stored: ToolDigestStore,
  { options, out }: Pick<CommandCall, 'options' | 'out'>,
): Promise<ToolDigest | null> {
  const found = await stored.find(name);
  if (found === null || found.changed !== null) return found;
  const { settings, tools } = await readConfiguration(configLocation(options));
  const entries = tools.filter((entry) => entry.kind === 'mcp' && entry.name === found.source);
  const known = knownDigests(await stored.list());
  const digests: ToolDigestStore = {
    ...known,
    // Only this tool is stored. Otherwise the first definition of another tool would be trusted without being shown.
    observe: (seen, ...rest) => (seen === name ? stored : known).observe(seen, ...rest),
  };
  const problems = await withRegistry(
    { settings, tools: entries },
    async ({ sources }) => sources.flatMap((source) => source.state().detail ?? []),
    { digests },
  );
  for (const problem of problems) out.note(`${found.source}: ${problem}`);
  return stored.find(name);
}

function toView({ digest, title, description, schema }: ServerDefinition) {
  return { digest, title, description, schema: JSON.parse(schema) as unknown };
}

function formatTool({ name, source, trusted, changed }: ToolDigest): string {
  if (!changed) return `${name} has not changed. Its digest is ${trusted.digest}.`;
  const parts: [string, string, string][] = [
    ['title', trusted.title ?? '(none)', changed.title ?? '(none)'],
    ['description', trusted.description, changed.description],
    ['schema', jsonText(JSON.parse(trusted.schema)), jsonText(JSON.parse(changed.schema))],
  ];
  const differences = parts
    .filter(([, before, after]) => before !== after)
    .flatMap(([part, before, after]) => [
      `${part}:`,
      ...lineDiff(before, after).map((line) => `  ${withoutControls(line)}`),
    ]);
  const unseen = 'The change is in a part that is neither stored nor shown to the model.';
  return [
    `${name} of ${printable(source)} is trusted.`,
    `  old digest: ${trusted.digest}`,
    `  new digest: ${changed.digest}`,
    ...(differences.length > 0 ? differences : [unseen]),
  ].join('\n');
}

/** Maximum number of lines to compare. If more lines may differ, all old ones are shown, and then all new ones. */
const MAX_COMPARED = 1_000;

/**
 * The lines of two texts, old and new, with `-` before removed lines, `+` before added lines, and two spaces before
 * others.
 */
export function lineDiff(before: string, after: string): string[] {
  const [old, now] = [before.split('\n'), after.split('\n')];
  const begin = commonLength(old, now);
  const end = commonLength(old.slice(begin).reverse(), now.slice(begin).reverse());
  const kept = (line: string) => `  ${line}`;
  return [
    ...old.slice(0, begin).map(kept),
    ...compare(old.slice(begin, old.length - end), now.slice(begin, now.length - end)),
    ...old.slice(old.length - end).map(kept),
  ];
}

function commonLength(one: readonly string[], other: readonly string[]): number {
  const differs = one.findIndex((line, at) => line !== other[at]);
  return differs < 0 ? Math.min(one.length, other.length) : differs;
}

function compare(old: readonly string[], now: readonly string[]): string[] {
  const lengths = [old.length, now.length];
  if (Math.min(...lengths) === 0 || Math.max(...lengths) > MAX_COMPARED)
    return [...old.map((line) => `- ${line}`), ...now.map((line) => `+ ${line}`)];
  // 1: the line is in the first text only. -1: it is in the second text only.
  return diff(old, now).map(([side, line]) => `${side === 0 ? ' ' : side === 1 ? '-' : '+'} ${line}`);
}
