import { StoreUnavailable } from '../errors.ts';
import type { Sent, Tool, ToolArguments, ToolCall, ToolSourceInfo } from './tool.ts';

/** The tool that shows people what was done in their name (agentd-agent(7), "Journal"). */
export function createMyActions(source: ToolSourceInfo): Tool {
  return {
    name: 'my_actions',
    title: 'What was done for me',
    description:
      'Lists what was done in the name of the person who asks, in any conversation of the last 90 days, newest first: time, summary and outcome, and `made_by_operator` if an operator of this service made it.',
    parameters: { type: 'object', properties: {}, additionalProperties: false },
    source,
    effect: 'read',
    credentials: 'none',
    confirm: 'never',
    summary: null,
    public: 'all',
    bind: {},
    hide: [],
    idempotent: false,
    offered: ({ memory_of, shared }) => memory_of !== null && !shared,
    send: listOwn,
  };
}

/** A foreign result may have dictated the arguments of an action, which its summary shows: the run counts as tainted. */
async function listOwn(_args: ToolArguments, { context }: ToolCall): Promise<Sent> {
  const journal = context?.own_journal ?? null;
  if (journal === null) return { outcome: 'sign_in_needed' };
  try {
    const actions = await journal.list();
    if (actions.length > 0) await context?.taint.mark();
    return { outcome: 'answered', status: null, result: { actions } };
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    const message = 'The list cannot be read at the moment.';
    return { outcome: 'failed', reached: false, reason: 'store_unavailable', message };
  }
}
