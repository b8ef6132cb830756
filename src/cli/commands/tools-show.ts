import { readConfiguration } from '../../daemon/admin/settings.ts';
import { printable, printableLines } from '../../daemon/admin/texts.ts';
import {
  type DescribedTool,
  describeTool,
  type Tool,
  type ToolRegistry,
  withRegistry,
} from '../../daemon/admin/tools.ts';
import { failed } from '../cli-error.ts';
import { defineCommand } from '../command.ts';
import { configLocation } from '../config-location.ts';
import { type Column, jsonText, toJson } from '../output.ts';

export const command = defineCommand({
  description: [
    'Shows a tool as a daemon with these settings would have it: what the model reads (name, description and the schema of the arguments), the policy of its calls, and about how many tokens of the model its definition takes.',
    'The digest identifies the definition. For a tool of an MCP server it covers the title, description and schema as the server sent them, as in `agentd tools trust`; for any other tool, what the model reads.',
    '`confirm` is `always`, `never`, or the conditions under which the person must confirm a call.',
    'Exit code 1 if there is no such tool, or if it is not offered now.',
    'With --json, {name, title, source, kind, origin, effect, credentials, confirm, summary, confirm_label, public, bind, idempotent, timeout_seconds, tokens, digest, description, parameters}.',
  ].join('\n\n'),
  args: { '<name>': 'name of the tool, as `agentd tools list` shows it' },
  examples: {
    'agentd tools show get_user': 'Shows the schema and the policy of a tool.',
    'agentd tools show shop_listOrders --json | jq .parameters': 'Prints the schema that the model fills in.',
  },
  json: true,
  async run({ args: [name = ''], options, out }) {
    const configuration = await readConfiguration(configLocation(options));
    const tool = await withRegistry(configuration, async (registry) =>
      describeTool(findTool(name, registry)),
    );
    const { description, parameters } = tool;
    out.data({ ...toJson(DETAILS, tool), description, parameters }, () =>
      [
        out.details(DETAILS, tool).trimEnd(),
        `description:\n${indentLines(printableLines(description))}`,
        `parameters:\n${indentLines(jsonText(parameters))}`,
      ].join('\n'),
    );
  },
});

const DETAILS: readonly Column<DescribedTool>[] = [
  { title: 'name', json: 'name' },
  { title: 'title', json: 'title' },
  { title: 'source', json: 'source', value: ({ source }) => source.name },
  { title: 'kind', json: 'kind', value: ({ source }) => source.kind },
  { title: 'origin', json: 'origin', value: ({ source }) => source.origin },
  { title: 'effect', json: 'effect' },
  { title: 'credentials', json: 'credentials' },
  { title: 'confirm', json: 'confirm', text: ({ confirm_words }) => confirm_words },
  { title: 'summary', json: 'summary' },
  { title: 'confirm label', json: 'confirm_label', value: ({ confirm_label = null }) => confirm_label },
  { title: 'public', json: 'public', text: (tool) => [tool.public].flat().join(', ') },
  { title: 'bind', json: 'bind', text: ({ bind }) => bound(bind) },
  { title: 'idempotent', json: 'idempotent' },
  {
    title: 'timeout',
    json: 'timeout_seconds',
    value: ({ timeout_ms }) => timeout_ms / 1000,
    text: ({ timeout_ms }) => `${timeout_ms / 1000} s`,
  },
  { title: 'tokens', json: 'tokens', text: ({ tokens }) => `about ${tokens}` },
  { title: 'digest', json: 'digest' },
];

function bound(bind: Tool['bind']): string {
  return Object.entries(bind)
    .map(([parameter, claim]) => `${parameter} from the claim ${claim}`)
    .join(', ');
}

function indentLines(text: string): string {
  return text.replace(/^(?=.)/gm, '  ');
}

/** The tool with this name. @throws CliError if there is none, with the reason if it is withheld */
export function findTool(name: string, registry: ToolRegistry): Tool {
  const found = registry.tools().find((tool) => tool.name === name);
  if (found) return found;
  const withheld = registry.sources
    .flatMap((source) => source.state().withheld)
    .find((tool) => tool.name === name);
  if (withheld) throw failed(`the tool ${printable(name)} is not offered: ${withheld.because}`);
  throw failed(`there is no tool ${printable(name)}`, 'List the tools with `agentd tools list`.');
}
