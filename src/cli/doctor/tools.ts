import { isSampleApi } from '../../daemon/admin/probes.ts';
import type { Configuration, Settings } from '../../daemon/admin/settings.ts';
import { type SourceEntry, type SourceState, toolWarnings, withRegistry } from '../../daemon/admin/tools.ts';
import { type Finding, findingsOf } from './finding.ts';
import { describeFailure, type ProbeClient } from './probe-client.ts';

/**
 * Checks whether the tools of each source can be used, and whether its address answers. MCP servers are asked for their
 * tools; no tool is called.
 */
export async function checkTools(
  { settings, tools: entries }: Pick<Configuration, 'settings' | 'tools'>,
  client: ProbeClient,
): Promise<Finding[]> {
  if (entries.length === 0) return [];
  return withRegistry({ settings, tools: entries }, async (registry) => {
    const tools = registry.tools();
    const sources = registry.sources.filter(({ info }) => info.kind !== 'built-in');
    const findings = await Promise.all(
      sources.map(async (source, index) => {
        const names = tools.filter((tool) => tool.source === source.info).map(({ name }) => name);
        const entry = entries[index];
        const found = ofState(source.info.name, source.state(), names);
        return entry ? ofAddress(entry, found, settings, client) : found;
      }),
    );
    const { warning } = findingsOf('tools');
    return [...findings, ...toolWarnings(tools).map((text) => warning(text))];
  });
}

function ofState(
  name: string,
  { detail, advice, withheld }: SourceState,
  offers: readonly string[],
): Finding {
  const { ok, warning } = findingsOf(`tools of ${name}`);
  const offered = offers.length === 0 ? 'no tools' : offers.join(', ');
  if (detail !== null) return warning(detail, advice ?? 'Check that the server of this source runs.');
  if (withheld.length === 0) return ok(offered);
  const reasons = withheld.map(({ name: tool, because }) => `${tool}: ${because}`).join('; ');
  return warning(`${offered}; not offered: ${reasons}`, 'Run `agentd tools list`.');
}

/**
 * The finding about an OpenAPI source, with what its address answers. API_BASE_URL has a check of its own. Any answer
 * below 500 is fine.
 * @param found the finding about its tools
 */
async function ofAddress(
  entry: SourceEntry,
  found: Finding,
  settings: Settings,
  client: ProbeClient,
): Promise<Finding> {
  if (entry.kind !== 'openapi' || entry.base_url === settings.API_BASE_URL) return found;
  const { base_url, name, headers } = entry;
  const { origin } = new URL(base_url);
  const { failed, skipped } = findingsOf(`tools of ${name}`);
  const advice = `Check \`base_url\` of the entry ${name} under \`tools\`, and that this machine can reach it: try curl from here.`;
  try {
    const request = { method: 'HEAD', redirect: 'manual', headers } as const;
    const { status } = await client.fetchFor(`the system of ${name}`)(base_url, request);
    if (status >= 500) return failed(`${origin} answers ${status}`, advice);
    return { ...found, detail: `${origin} answers; ${found.detail}` };
  } catch (error) {
    if (isSampleApi(settings) && settings.API_BASE_URL?.startsWith(origin))
      return skipped('this is the sample API of `serve --dev`, which runs only as long as that command');
    return failed(`${origin}: ${describeFailure(error)}`, advice);
  }
}
