import { createHash } from 'node:crypto';
import type { AgentTool } from '../../agent/index.ts';
import type { Settings } from '../settings/settings.ts';
import { loadInstructions } from './instructions.ts';
import { runtimeName } from './load.ts';

/** Length of a digest, in characters. It is compared by eye. */
const LENGTH = 12;

/** Short hashes of what decides how a run answers, apart from the conversation. They contain no secret. */
export interface AgentDigests {
  instructions: string;
  /** Of the tools that the run was offered, with their descriptions and schemas. */
  tools: string;
  /** Of the runtime, the model and its settings. */
  model: string;
}

type DigestSettings = Pick<
  Settings,
  | 'AGENT_RUNTIME'
  | 'AGENT_MODEL'
  | 'AGENT_BASE_URL'
  | 'AGENT_TEMPERATURE'
  | 'AGENT_MAX_OUTPUT_TOKENS'
  | 'AGENT_HISTORY_TOKENS'
  | 'AGENT_MAX_STEPS'
  | 'AGENT_INSTRUCTIONS'
>;

/** @param tools from `toolsDigest` */
export async function agentDigests(settings: DigestSettings, tools: string): Promise<AgentDigests> {
  const { AGENT_MODEL, AGENT_BASE_URL, AGENT_TEMPERATURE, AGENT_MAX_OUTPUT_TOKENS } = settings;
  const { AGENT_HISTORY_TOKENS, AGENT_MAX_STEPS } = settings;
  return {
    instructions: digestOf((await loadInstructions(settings.AGENT_INSTRUCTIONS)) ?? null),
    tools,
    model: digestOf([
      ...[runtimeName(settings), AGENT_MODEL, AGENT_BASE_URL, AGENT_TEMPERATURE, AGENT_MAX_OUTPUT_TOKENS],
      ...[AGENT_HISTORY_TOKENS, AGENT_MAX_STEPS],
    ]),
  };
}

export function toolsDigest(tools: readonly AgentTool[]): string {
  const definitions = tools.map(({ name, description, parameters, effect, confirm }) =>
    JSON.stringify([name, description, parameters, effect, confirm]),
  );
  return digestOf(definitions.sort());
}

function digestOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, LENGTH);
}
