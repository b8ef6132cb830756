import { resolve } from 'node:path';
import { namesMeant } from '../../../../plugins/names.ts';
import type { ChannelPlugin } from '../../../channel/index.ts';
import { looksLikePath } from '../../agent/instructions.ts';
import {
  type AgentCondition,
  type AgentEntry,
  type ListedTool,
  ONLY_AGENT,
} from '../../agents/agent-entry.ts';
import { AGENTS_SCHEMA } from '../agents-schema.ts';
import type { SettingProblem } from '../problem.ts';
import type { StructuredValue } from '../sources.ts';
import { NAME_FORM } from '../tools-schema.ts';
import { ConfigNode, refuseRepeatedNames, withoutAbsent } from './config-node.ts';

type Channel = Pick<ChannelPlugin, 'name' | 'title'>;

const { properties } = AGENTS_SCHEMA.items;
const CONDITIONS = Object.keys(properties.when.properties);
/** Maximum number of agents. Each message is compared with them one by one. */
const AGENTS_MAX = 100;

/**
 * Checks the key `agents` of the configuration file (agentd-agent(7), "Several agents"), and reports all problems
 * together.
 * @param channels all channels, active or not
 */
export function readAgentEntries(
  file: StructuredValue | undefined,
  channels: readonly Channel[],
): {
  entries: AgentEntry[];
  problems: SettingProblem[];
} {
  const problems: SettingProblem[] = [];
  if (file === undefined || file.value === null) return { entries: [ONLY_AGENT], problems };
  const list = ConfigNode.of(file, problems);
  const nodes = list.items('a list of agents, each with a `name`');
  if (nodes.length > AGENTS_MAX) list.refuse(`has more than ${AGENTS_MAX} agents`, 'fewer agents');
  const entries = nodes.flatMap((node) => readAgent(node, channels) ?? []);
  refuseRepeatedNames(nodes);
  checkOrder(list, nodes);
  return { entries: entries.length === 0 ? [ONLY_AGENT] : entries, problems };
}

function readAgent(node: ConfigNode, channels: readonly Channel[]): AgentEntry | undefined {
  if (!node.isObject('an object with the `name` of the agent')) return undefined;
  node.onlyKeys(Object.keys(properties));
  return withoutAbsent<AgentEntry>({
    name: node.child('name').textThat(isName, 'is not a name', RIGHT_NAME) ?? '',
    instructions: node.optional('instructions', readInstructions),
    model: node.optional('model', (child) => child.text('the name of a model, as in AGENT_MODEL')),
    tools: node.optional('tools', readTools),
    memory: node.optional('memory', (child) => child.boolean()) ?? true,
    when: node.optional('when', (child) => readCondition(child, channels)) ?? null,
    canary_percent: node.optional('canary', readShare) ?? null,
    location: node.location,
  });
}

const RIGHT_NAME = '1 to 64 letters, digits, `_` and `-`';
const isName = (text: string) => NAME_FORM.test(text);

/** Paths are relative to the file, as those of tools are; a text stays as it is. */
function readInstructions(node: ConfigNode): string | undefined {
  const text = node.text('a text, or the path of a text file');
  return text !== undefined && looksLikePath(text) ? resolve(node.folder, text) : text;
}

function readTools(node: ConfigNode): ListedTool[] {
  return node.items('a list of names of tools').flatMap((item) => {
    const name = item.text('the name of a tool');
    return name === undefined ? [] : [{ name, location: item.location }];
  });
}

function readCondition(node: ConfigNode, channels: readonly Channel[]): AgentCondition {
  const right = `an object with ${CONDITIONS.join(', ')}`;
  node.members(right, 'names no condition');
  node.onlyKeys(CONDITIONS);
  const read = Object.fromEntries(
    CONDITIONS.map((name) => [name, node.child(name)] as const)
      .filter(([, child]) => !child.isAbsent)
      .map(([name, child]) => [name, readTexts(child)]),
  );
  const channel = node.optional('channel', (child) => readChannels(child, channels));
  return channel === undefined ? read : { ...read, channel };
}

/** The names of the channels, which may also be given by their titles in lower case. */
function readChannels(node: ConfigNode, channels: readonly Channel[]): string[] {
  return textNodes(node).flatMap((channel) => {
    if (typeof channel.value !== 'string') return [];
    const named = namesMeant(channel.value, channels);
    if (named.length !== 1)
      channel.refuseValue(
        'is not the name of a channel',
        `one of ${channels.map(({ name }) => name).join(', ')}`,
      );
    return named;
  });
}

function readTexts(node: ConfigNode): string[] {
  const items = textNodes(node);
  if (items.length === 0) node.refuse('is empty', 'a text, or a list of texts');
  return items.flatMap((item) => item.text('a text, or a list of texts') ?? []);
}

function textNodes(node: ConfigNode): ConfigNode[] {
  return Array.isArray(node.value) ? node.items('a text, or a list of texts') : [node];
}

function readShare(node: ConfigNode): number | undefined {
  const right = '{ percent: 10 }, with a number from 0 to 100';
  if (!node.isObject(right)) return undefined;
  node.onlyKeys(['percent']);
  const percent = node.child('percent');
  const { value } = percent;
  if (typeof value === 'number' && value >= 0 && value <= 100) return value;
  return percent.refuse(percent.isAbsent ? 'is not set' : 'is not a number from 0 to 100', right);
}

/** The last agent must answer every message, and no other one may: those after it would never answer. */
function checkOrder(list: ConfigNode, nodes: readonly ConfigNode[]): void {
  const isForAll = (node: ConfigNode) => node.child('when').isAbsent && node.child('canary').isAbsent;
  const last = nodes.at(-1);
  if (last === undefined) {
    list.refuse('is empty', 'at least one agent, the last one without `when`');
    return;
  }
  if (!isForAll(last))
    last.refuse(
      'is the last agent, but does not answer every message',
      'a last agent without `when` and `canary`',
    );
  for (const node of nodes.slice(0, -1))
    if (isForAll(node))
      node.refuse(
        'answers every message, so the agents after it never answer',
        '`when` or `canary`, or the last place',
      );
}
