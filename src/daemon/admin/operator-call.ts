import pino from 'pino';
import { type RequestContext, RunTaint } from '../agent/context.ts';
import type { PersonKey } from '../identity/identity.ts';
import { createSeal, type Seal } from '../identity/seal.ts';
import type { Log } from '../process/log.ts';
import { jwtContext, sealRecord } from '../session/jwt-context.ts';
import type { Session } from '../session/session.ts';
import { maskTokens } from '../settings/secret.ts';
import type { Store } from '../store/store.ts';
import { randomSuffix, systemClock } from '../time/clock.ts';
import { Cancellation } from '../time/time-limit.ts';
import { bindTools } from '../tools/bind-tools.ts';
import type { WatchedRequest } from '../tools/call-request.ts';
import { buildQuestion, plainQuestion } from '../tools/confirmation/question.ts';
import { closeActionText } from '../tools/journal/action-record.ts';
import { type CallJournal, summarizeCall } from '../tools/journal/turn-journal.ts';
import type { ToolRegistry } from '../tools/registry.ts';
import { checkArguments } from '../tools/schema/check-arguments.ts';
import type { Tool, ToolArguments } from '../tools/tool.ts';
import { Trace } from '../trace/trace.ts';
import type { ValidToken } from './tokens.ts';
import { systemUser } from './who.ts';

/** One call of a tool that an operator makes, under the rules of a conversation. Loads everything that a call needs. */
export type { CallJournal, ToolArguments };
export { checkArguments };

const ID = 'agentd-tools-call';
/** Nothing is stored here, so nothing is sealed. */
const SEAL = createSeal(undefined);

interface OperatorCall {
  tool: Tool;
  /** The arguments as the operator wrote them, in the names of the tool's schema. */
  given: unknown;
  /** Null: nobody is signed in. */
  person: ValidToken | null;
  registry: ToolRegistry;
  log: Log;
  /** Null for a call that reads. */
  journal: CallJournal | null;
  /** Prints a line for the operator. */
  note(text: string): void;
}

export interface CallReport {
  tool: string;
  /** The credentials of the last request, or the policy of the tool if there was no request. */
  credentials: string;
  requests: WatchedRequest[];
  ok: boolean;
  result?: unknown;
  message?: string;
  /** The headers of the API that the agent gets. */
  headers?: Readonly<Record<string, string>>;
}

/** Makes the call. Null if the tool works only within a conversation. The operator has confirmed the call. */
export async function callAsOperator({
  tool,
  given,
  person,
  registry,
  log,
  journal,
  note,
}: OperatorCall): Promise<CallReport | null> {
  const requests: WatchedRequest[] = [];
  const [bound] = bindTools([{ ...tool, confirm: 'never' }], {
    context: operatorContext(person),
    access: registry.access,
    audience: { memory_of: null, shared: false },
    clock: systemClock,
    trace: new Trace(systemClock),
    journal,
    confirmation: null,
    showPage: ({ source, url }) => note(`${source} asks the person to open this page: ${url}`),
    limit: new Cancellation(),
    log,
    progress: () => {},
    watch: (request) => void requests.push(request),
  });
  if (!bound) return null;
  const answer = await bound.call(given);
  const credentials = requests.at(-1)?.credentials ?? tool.credentials;
  return { tool: tool.name, credentials, requests, ...answer };
}

/** The question that the person would be asked. Null if the arguments are too long for one. */
export function questionAbout(tool: Tool, args: ToolArguments): string | null {
  const question = buildQuestion(tool, args);
  return question && plainQuestion([question]);
}

/**
 * Warnings of a call, for the operator who makes it, one line each.
 * @param advise what to do about a reason, which follows its warning
 */
export function operatorLog(
  note: (text: string) => void,
  advise: (reason: string) => string | undefined = () => undefined,
): Log {
  const write = (line: string) => {
    const { msg, tool, reason, because, err } = JSON.parse(line) as {
      msg: string;
      tool?: string;
      reason?: string;
      because?: string;
      err?: { message: string };
    };
    const details = [tool, reason, because, err?.message].filter(
      (detail) => detail !== undefined && !msg.includes(detail),
    );
    note(`warning: ${[msg, ...details].join(': ')}`);
    const advice = reason === undefined ? undefined : advise(reason);
    if (advice !== undefined) note(advice);
  };
  return pino({ level: 'warn', base: null }, { write });
}

/**
 * The journal of a call that an operator makes. The call is recorded with the name of the system user. It never counts
 * as a repeat of an earlier call.
 * @param seal must know the key of the daemon
 * @param person the person for whom the call acts; null if nobody is signed in
 */
export function operatorJournal(store: Store, seal: Seal, person: PersonKey | null): CallJournal {
  return {
    known: async () => ({ state: 'new', action_id: randomSuffix(), further: false }),
    // The operator confirms each call.
    wroteLately: async () => false,
    wroteForOthers: () => false,
    async start(action_id, call) {
      const close = (field: 'args' | 'summary', text: string) =>
        closeActionText(seal, action_id, field, text);
      const { outcome } = await store.actions.start(null, {
        action_id,
        person,
        operator: systemUser(),
        tool: call.tool.name,
        session_tag: null,
        session_id: null,
        platform: null,
        user_id: null,
        alias_id: null,
        turn_key: `operator:${action_id}`,
        args: close('args', maskTokens(JSON.stringify(call.args))),
        summary: close('summary', summarizeCall(call)),
      });
      return outcome === 'started' ? 'started' : 'lost';
    },
    async finish(action_id, { state, status, answer }) {
      const text = answer && closeActionText(seal, action_id, 'answer', JSON.stringify(answer));
      await store.actions.finish(action_id, 1, { state, status, answer: text });
    },
  };
}

/**
 * The context of a call by an operator: like the context of a message from this person, or from somebody who is not
 * signed in. It is not stored.
 */
function operatorContext(person: ValidToken | null): RequestContext {
  const session = person === null ? nobodysSession() : createSession(person);
  return {
    session_id: ID,
    user_id: ID,
    app_name: 'agentd',
    readSession: async () => session,
    whyUnlinked: async () => null,
    acts_for: person?.person ?? null,
    acts_for_nobody_because: person === null ? 'no_token' : null,
    own_journal: null,
    memory: null,
    taint: new RunTaint(),
    request_id: ID,
  };
}

function nobodysSession(): Session {
  return {
    session_id: ID,
    former_id: null,
    user_id: ID,
    platform: 'cli',
    namespace: 'cli',
    generated: true,
    owner: null,
    metadata: {},
    credential_owner: null,
    turns: 0,
    created_at: 0,
    last_active_at: 0,
    expires_at: Number.MAX_SAFE_INTEGER,
  };
}

function createSession({ user, person, expires_at }: ValidToken): Session {
  return {
    ...nobodysSession(),
    owner: person,
    credential_owner: { user_id: ID, person },
    metadata: { jwt_context: jwtContext(user, expires_at, SEAL, sealRecord(ID, ID)) },
  };
}
