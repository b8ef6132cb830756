import type { Desk } from '../tools/confirmation/desk.ts';
import type { TurnJournal } from '../tools/journal/turn-journal.ts';
import type { ToolRun } from '../tools/perform-call.ts';
import type { Run } from './agent-turn.ts';
import { memoryOwnerOf } from './memory-owner-of.ts';
import type { Services } from './services.ts';
import type { Runnable } from './turn.ts';

/** The data of a turn that the policy of tool calls needs. */
export function toolRunOf(
  turn: Runnable,
  { tools, clock, log }: Services,
  { limit: { signal }, calls }: Pick<Run, 'limit' | 'calls'>,
  {
    confirmation,
    journal,
    showPage,
  }: Pick<ToolRun, 'showPage'> & { confirmation: Desk; journal: TurnJournal },
): ToolRun {
  return {
    tool: (progress) => turn.outlet.tool(progress),
    audience: { memory_of: memoryOwnerOf(turn)?.key ?? null, shared: turn.message.shared ?? false },
    record: (call) => calls.add(call),
    access: tools.access,
    confirmation,
    showPage,
    journal,
    clock,
    trace: turn.trace,
    signal,
    // Each log line of a run has the id of the request that started it (agentd-service(7), "Request ids").
    log: log.child({ request_id: turn.request_id }),
  };
}
