import type { ToolRegistry } from '../../daemon/tools/registry.ts';
import type { Column } from '../column.ts';
import type { Command } from '../command.ts';
import { configLocation } from '../config-location.ts';
import { EXIT } from '../exit-codes.ts';
import { withRegistry } from '../tools/open-registry.ts';

export const command: Command = {
  name: 'tools list',
  summary: 'List the tools of the agent.',
  description: [
    'Lists the tools as a daemon with these settings would have them: the built-in ones and those of the sources under `tools:` in the configuration file. For each tool it shows its source, its effect (`read` or `write`), whose credentials its calls use, whether the person must confirm a call, and its state: `ok`, or `withheld`, with the reason, if it is configured but not offered now.',
    'Modules are loaded and MCP servers are asked for their tools; no tool is called.',
    'With --json, an array of {name, source, effect, credentials, confirm, state, detail}; effect, credentials and confirm are null for a tool that is withheld.',
  ].join('\n\n'),
  examples: [
    { line: 'agentd tools list', does: 'Shows all tools with their policies.' },
    {
      line: `agentd tools list --json | jq -r '.[] | select(.effect == "write") | .name'`,
      does: 'Prints the names of the tools that change something.',
    },
  ],
  json: true,
  async run({ options, out }) {
    const { configure } = await import('../../daemon/configuration/configure.ts');
    const configuration = await configure(configLocation(options));
    const { tools, degraded } = await withRegistry(configuration, async (registry) => ({
      tools: listed(registry),
      degraded: registry.sources.flatMap((source) => {
        const { detail } = source.state();
        return detail === null ? [] : [`${source.info.name}: ${detail}`];
      }),
    }));
    out.list(COLUMNS, tools, 'There are no tools: neither API_BASE_URL nor `tools:` is set.');
    for (const line of degraded) out.note(line);
    return EXIT.ok;
  },
};

interface ListedTool {
  name: string;
  source: string;
  effect: string | null;
  credentials: string | null;
  confirm: string | null;
  state: 'ok' | 'withheld';
  detail: string | null;
}

const COLUMNS: readonly Column<ListedTool>[] = [
  { title: 'NAME', json: 'name' },
  { title: 'SOURCE', json: 'source' },
  { title: 'EFFECT', json: 'effect' },
  { title: 'CREDENTIALS', json: 'credentials' },
  { title: 'CONFIRM', json: 'confirm' },
  { title: 'STATE', json: 'state' },
  { title: 'DETAIL', json: 'detail', narrow: 'wrap' },
];

function listed(registry: ToolRegistry): ListedTool[] {
  const offered = registry.tools().map(({ name, source, effect, credentials, confirm }): ListedTool => {
    return { name, source: source.name, effect, credentials, confirm, state: 'ok', detail: null };
  });
  const withheld = registry.sources.flatMap((source) =>
    source.state().withheld.map(({ name, because }): ListedTool => {
      const policy = { effect: null, credentials: null, confirm: null };
      return { name, source: source.info.name, ...policy, state: 'withheld', detail: because };
    }),
  );
  return [...offered, ...withheld];
}
