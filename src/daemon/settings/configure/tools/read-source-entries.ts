import type { SourceEntry } from '../../../tools/source-entry.ts';
import type { SettingProblem } from '../../problem.ts';
import type { StructuredValue } from '../../sources.ts';
import { ConfigNode } from '../config-node.ts';
import { readMcpEntry, readStdioEntry } from './mcp-entry.ts';
import { readModuleEntry } from './module-entry.ts';
import { readOpenApiEntry } from './openapi-entry.ts';
import type { SourceSecrets } from './source-secrets.ts';

/** The values that entries refer to. */
export interface EntryContext {
  /** `API_BASE_URL`. Null if it is not set; undefined if it is wrong, which is reported. */
  readonly api_base_url: string | null | undefined;
  readonly secrets: SourceSecrets;
}

const RIGHT_LIST = 'a list of entries, each with the key openapi, mcp, command or module';

/** The reader for each kind of entry, by the key that every entry of the kind has. */
const READERS: Readonly<
  Record<string, (node: ConfigNode, context: EntryContext) => SourceEntry | undefined>
> = {
  openapi: readOpenApiEntry,
  mcp: readMcpEntry,
  command: readStdioEntry,
  module: readModuleEntry,
};

/** Checks the key `tools` of the configuration file (agentd-agent(7), "Sources"), and reports all problems together. */
export function readSourceEntries(
  file: StructuredValue | undefined,
  context: EntryContext,
): { entries: SourceEntry[]; problems: SettingProblem[] } {
  const problems: SettingProblem[] = [];
  if (file === undefined || file.value === null) return { entries: [], problems };
  const nodes = ConfigNode.of(file, problems).items(RIGHT_LIST);
  const entries = nodes.flatMap((node) => readEntry(node, context) ?? []);
  refuseRepeatedNames(nodes);
  return { entries, problems };
}

function readEntry(node: ConfigNode, context: EntryContext): SourceEntry | undefined {
  const kinds = Object.keys(READERS).filter((key) => !node.child(key).isAbsent);
  const [kind = ''] = kinds;
  const read = READERS[kind];
  if (read !== undefined && kinds.length === 1) return read(node, context);
  const problem =
    kinds.length === 0
      ? 'has no key that says what kind of source it is'
      : `has the keys ${kinds.join(' and ')}`;
  return node.refuse(problem, `an object with one of ${Object.keys(READERS).join(', ')}`);
}

function refuseRepeatedNames(nodes: readonly ConfigNode[]): void {
  const seen = new Map<unknown, ConfigNode>();
  for (const node of nodes) {
    const name = node.child('name');
    if (typeof name.value !== 'string' || name.value.trim() === '') continue;
    const first = seen.get(name.value.trim());
    if (first !== undefined)
      name.refuseValue(`is also the name of ${first.setting}`, 'another name for one of the two');
    else seen.set(name.value.trim(), node);
  }
}
