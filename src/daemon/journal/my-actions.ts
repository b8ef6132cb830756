import { requestContext } from '../agent/context.ts';
import type { Clock } from '../clock.ts';
import { StoreUnavailable } from '../errors.ts';
import type { Seal } from '../identity/seal.ts';
import type { ActionStore } from '../store/actions.ts';
import { openActionText } from '../tools/action-texts.ts';
import { builtInSource } from '../tools/describe-source.ts';
import { fixedSource } from '../tools/registry.ts';
import type { Sent, Tool, ToolSource } from '../tools/tool.ts';
import { outcomeOf } from './outcome-of.ts';

/** How far back the list goes. */
const LISTED_MS = 90 * 24 * 60 * 60 * 1000;
/** Actions that are listed at most. */
const LISTED_MAX = 100;

export interface MyActionsParts {
  actions: Pick<ActionStore, 'list'>;
  seal: Seal;
  clock: Clock;
}

/** The tool by which people see what was done in their name (agentd-agent(7), "Journal"). */
export function actionTools(parts: MyActionsParts): ToolSource {
  const info = builtInSource(undefined);
  const tool: Tool = {
    name: 'my_actions',
    title: 'What was done for me',
    description:
      'Lists what was done in the name of the person who asks, in any conversation of the last 90 days, newest first: time, summary and outcome.',
    parameters: { type: 'object', properties: {}, additionalProperties: false },
    source: info,
    effect: 'read',
    credentials: 'none',
    confirm: 'never',
    summary: null,
    public: 'all',
    bind: {},
    idempotent: false,
    offered: ({ memory_of, shared }) => memory_of !== null && !shared,
    send: () => listOwn(parts),
  };
  return fixedSource(info, [tool]);
}

async function listOwn({ actions, seal, clock }: MyActionsParts): Promise<Sent> {
  const own = requestContext()?.own_actions ?? null;
  if (own === null) return { outcome: 'sign_in_needed' };
  const now = clock.now();
  try {
    const found = await actions.list({ who: own.who, since: now - LISTED_MS, limit: LISTED_MAX });
    const theirs = found.filter(({ alias_id }) => 'person' in own.who || alias_id === own.alias_id);
    const listed = theirs.map((action) => ({
      time: new Date(action.started_at ?? action.created_at).toISOString(),
      summary: openActionText(seal, action, 'summary') ?? action.tool,
      outcome: outcomeOf(action, now),
    }));
    return { outcome: 'answered', status: null, result: { actions: listed } };
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    const message = 'The list cannot be read at the moment.';
    return { outcome: 'failed', reached: false, reason: 'store_unavailable', message };
  }
}
