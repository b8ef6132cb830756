import type { ChannelPlugin } from '../../channel/index.ts';
import type { RecordedRun } from '../agent/recording.ts';
import type { AgentParts } from '../agents/agents.ts';
import type { Services } from '../message/services.ts';
import type { ToolRegistry } from '../tools/registry.ts';
import { createCaseServices } from './case-services.ts';
import { CaseSession } from './case-session.ts';
import type { EvalCase } from './read-cases.ts';

/** What the settings give to every case. */
export interface EvalParts extends Pick<Services, 'settings' | 'texts' | 'channelNames' | 'secrets' | 'log'> {
  /** Of which one answers each turn. */
  agents: readonly AgentParts[];
  registry: ToolRegistry;
  /** All channels, active or not. */
  plugins: readonly ChannelPlugin[];
}

/** One turn as it went. */
export interface TurnResult {
  said: string;
  /** Empty if the turn failed. */
  reply: string;
  /** Whether the reply asks the person to confirm. */
  asks: boolean;
  /** The error code; null if the turn was answered. */
  failure: string | null;
  calls: readonly { tool: string; args: unknown; ok: boolean; waits: boolean }[];
  tokens: number;
  /** What the run saw and said; null if there was no run. */
  recorded: RecordedRun | null;
}

export interface CaseRun {
  turns: readonly TurnResult[];
  took_ms: number;
}

/**
 * Runs the conversation of a case once, through the steps of the daemon, on an empty store in memory. It ends at the
 * first turn that fails.
 */
export async function runCase(one: EvalCase, parts: EvalParts): Promise<CaseRun> {
  const began = performance.now();
  const { services, person, stop } = await createCaseServices(one, parts);
  try {
    const session = new CaseSession(one, parts, services, person);
    await session.prepare(one);
    const turns: TurnResult[] = [];
    for (const { say } of one.turns) {
      const result = await session.say(say);
      turns.push(result);
      if (result.failure !== null) break;
    }
    return { turns, took_ms: Math.round(performance.now() - began) };
  } finally {
    await stop();
  }
}
