import { readConfiguration } from '../../daemon/admin/settings.ts';
import {
  type Tool,
  type ToolRegistry,
  toolTokens,
  toolWarnings,
  withRegistry,
} from '../../daemon/admin/tools.ts';
import { defineCommand } from '../command.ts';
import { configLocation } from '../config-location.ts';
import type { Column } from '../output.ts';

export const command = defineCommand({
  description: [
    'Lists the tools as a daemon with these settings would have them: the built-in ones and those of the sources under `tools:` in the configuration file. For each tool it shows its source, its effect (`read` or `write`), whose credentials its calls use, whether the person must confirm a call (`when`: under conditions, which `agentd tools show` lists), about how many tokens of the model its definition takes, and its state: `ok`, or `withheld`, with the reason, if it is configured but not offered now.',
    'Every call of the model contains the definitions of all tools. The command prints how many tokens they have in all, and warns of more than 128 tools, more than 16,000 tokens in all, and more than 4,000 tokens in one.',
    'Modules are loaded and MCP servers are asked for their tools; no tool is called.',
    'With --json, an array of {name, source, effect, credentials, confirm, tokens, state, detail}; effect, credentials, confirm and tokens are null for a tool that is withheld.',
  ].join('\n\n'),
  examples: {
    'agentd tools list': 'Shows all tools with their policies.',
    'agentd tools list --json | jq -r \'.[] | select(.effect == "write") | .name\'':
      'Prints the names of the tools that change something.',
  },
  json: true,
  async run({ options, out }) {
    const configuration = await readConfiguration(configLocation(options));
    const { tools, degraded, warnings } = await withRegistry(configuration, async (registry) => ({
      tools: listTools(registry),
      warnings: toolWarnings(registry.tools()),
      degraded: registry.sources.flatMap((source) => {
        const { detail } = source.state();
        return detail === null ? [] : [`${source.info.name}: ${detail}`];
      }),
    }));
    out.list(COLUMNS, tools, 'There are no tools: neither API_BASE_URL nor `tools:` is set.');
    const tokens = tools.reduce((sum, tool) => sum + (tool.tokens ?? 0), 0);
    if (!out.json && tools.length > 0) out.note(`about ${tokens} tokens in all`);
    for (const line of [...degraded, ...warnings.map((warning) => `warning: ${warning}`)]) out.note(line);
  },
});

interface ListedTool {
  name: string;
  source: string;
  effect: string | null;
  credentials: string | null;
  confirm: Tool['confirm'] | null;
  /** About how many tokens of the model the definition takes. */
  tokens: number | null;
  state: 'ok' | 'withheld';
  detail: string | null;
}

const COLUMNS: readonly Column<ListedTool>[] = [
  { title: 'NAME', json: 'name' },
  { title: 'SOURCE', json: 'source' },
  { title: 'EFFECT', json: 'effect' },
  { title: 'CREDENTIALS', json: 'credentials' },
  {
    title: 'CONFIRM',
    json: 'confirm',
    text: ({ confirm }) => (typeof confirm === 'object' ? confirm && 'when' : confirm),
  },
  { title: 'TOKENS', json: 'tokens', align: 'right' },
  { title: 'STATE', json: 'state' },
  { title: 'DETAIL', json: 'detail', narrow: 'wrap' },
];

function listTools(registry: ToolRegistry): ListedTool[] {
  const offered = registry.tools().map((tool): ListedTool => {
    const { name, source, effect, credentials, confirm } = tool;
    const policy = { effect, credentials, confirm, tokens: toolTokens(tool) };
    return { name, source: source.name, ...policy, state: 'ok', detail: null };
  });
  const withheld = registry.sources.flatMap((source) =>
    source.state().withheld.map(({ name, because }): ListedTool => {
      const policy = { effect: null, credentials: null, confirm: null, tokens: null };
      return { name, source: source.info.name, ...policy, state: 'withheld', detail: because };
    }),
  );
  return [...offered, ...withheld];
}
