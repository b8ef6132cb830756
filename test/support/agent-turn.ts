import type { AgentTool, AgentTurn, ModelMeter, ToolAnswer } from '../../src/agent/index.ts';

/** A meter that counts nothing and sets no limit. */
const FREE_METER: ModelMeter = { begin: async () => ({ ok: true, end: async () => {} }) };

/** A turn of a visitor who is not signed in, with the given changes. */
export function agentTurn(changes: Partial<AgentTurn> = {}): AgentTurn {
  return {
    text: 'Hello',
    session_id: 'session-1',
    history: [],
    summary: null,
    person: null,
    principal: null,
    state: { value: null, set: () => {} },
    sign_in_expired: false,
    claimed: {},
    speaker: 'visitor-1',
    shared: false,
    channel: { name: 'webchat', markdown: 'commonmark' },
    app_name: 'agentd',
    tools: [],
    confirmed_actions: [],
    waiting: [],
    already_done: [],
    reportWrites: () => {},
    meter: FREE_METER,
    memories: [],
    signal: new AbortController().signal,
    started_at: Date.now(),
    deadline: Date.now() + 60_000,
    log: { debug: () => {}, warn: () => {} },
    ...changes,
  };
}

/** A tool `get_user` that gives this answer. `calls` has the arguments of each call. */
export function fakeTool(
  answer: ToolAnswer | ((args: unknown) => Promise<ToolAnswer>),
): AgentTool & { calls: unknown[] } {
  const calls: unknown[] = [];
  return {
    name: 'get_user',
    title: null,
    description: 'Looks up a user.',
    effect: 'read',
    confirm: 'never',
    parameters: { type: 'object', properties: { email: { type: 'string' } }, additionalProperties: false },
    calls,
    async call(args) {
      calls.push(args);
      return typeof answer === 'function' ? answer(args) : answer;
    },
  };
}

export async function piecesOf(words: AsyncIterable<string>): Promise<string[]> {
  const pieces: string[] = [];
  for await (const piece of words) pieces.push(piece);
  return pieces;
}

export async function replyOf(words: AsyncIterable<string>): Promise<string> {
  return (await piecesOf(words)).join('');
}
