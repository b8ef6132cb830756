import type { Configuration } from '../../daemon/configuration/configure.ts';
import { type Finding, findingsOf } from './finding.ts';

/** Checks whether the tools of each source can be used. Servers are asked for their tools; no tool is called. */
export async function checkTools(
  configuration: Pick<Configuration, 'settings' | 'tools'>,
): Promise<Finding[]> {
  if (configuration.tools.length === 0) return [];
  const { withRegistry } = await import('../tools/open-registry.ts');
  return withRegistry(configuration, async (registry) => {
    const tools = registry.tools();
    return registry.sources
      .filter(({ info }) => info.kind !== 'built-in')
      .map((source) => {
        const { ok, warning } = findingsOf(`tools of ${source.info.name}`);
        const names = tools.filter((tool) => tool.source === source.info).map(({ name }) => name);
        const { detail, withheld } = source.state();
        const offered = names.length === 0 ? 'no tools' : names.join(', ');
        if (detail !== null) return warning(detail, 'Check that the server of this source runs.');
        if (withheld.length === 0) return ok(offered);
        const reasons = withheld.map(({ name, because }) => `${name}: ${because}`).join('; ');
        return warning(`${offered}; not offered: ${reasons}`, 'Run `agentd tools list`.');
      });
  });
}
