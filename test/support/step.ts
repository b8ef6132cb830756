import type { AgentRuntime } from '../../src/agent/index.ts';
import type { IncomingMessage } from '../../src/channel/index.ts';
import {
  type PersonKey,
  personKey,
  type TokenOrigin,
  type TokenVerdict,
} from '../../src/daemon/identity/identity.ts';
import type { CompleteReply, Outlet, OutletChanges, TurnEnd } from '../../src/daemon/message/outlet.ts';
import { Ended, Sequence, type Step } from '../../src/daemon/message/sequence.ts';
import {
  type Answering,
  type Arrived,
  type Identified,
  type Locked,
  type NamedSession,
  NO_ANSWER,
} from '../../src/daemon/message/turn.ts';
import { type Session, sessionTag } from '../../src/daemon/session/session.ts';
import { Secret } from '../../src/daemon/settings/secret.ts';
import type { SessionClaim } from '../../src/daemon/store/claims/claims.ts';
import { MemoryState } from '../../src/daemon/store/kernels/memory/kernel.ts';
import { openMemoryStore } from '../../src/daemon/store/kernels/memory/store.ts';
import type { Store } from '../../src/daemon/store/store.ts';
import type { StreamServices } from '../../src/daemon/stream/stream-services.ts';
import { Cancellation } from '../../src/daemon/time/time-limit.ts';
import type { ToolSource } from '../../src/daemon/tools/tool.ts';
import { Trace } from '../../src/daemon/trace/trace.ts';
import type { TraceLine } from '../../src/daemon/trace/trace-record.ts';
import type { LogLine } from './log-lines.ts';
import { testServices } from './services.ts';
import { VirtualClock } from './virtual-clock.ts';

/** The environment of a step: the services of a daemon on a reference store and a virtual clock. */
export interface StepWorld {
  services: StreamServices;
  store: Store;
  /** Another daemon's view of the same store. */
  peer: Store;
  clock: VirtualClock;
  lines: LogLine[];
  stopping: AbortController;
}

export async function stepWorld(
  options: { agent?: AgentRuntime; env?: Record<string, string>; sealKey?: string; tools?: ToolSource } = {},
): Promise<StepWorld> {
  const clock = new VirtualClock(Date.now());
  const state = new MemoryState();
  const store = openMemoryStore(state, { clock });
  const { services, lines, stopping } = await testServices({ ...options, store, clock });
  return { services, store, peer: openMemoryStore(state, { clock }), clock, lines, stopping };
}

/** An outlet that records its calls. */
export class NotedOutlet implements Outlet {
  readonly leaves = 'in_response';
  readonly told: string[] = [];
  /** The changes that the outlet requests to store with the turn. */
  wanted: (end: TurnEnd) => OutletChanges = () => ({});

  started(session_id: string): void {
    this.told.push(`started ${session_id}`);
  }

  text(piece: string): void {
    this.told.push(`text ${piece}`);
  }

  progress({ tool_name, status }: { tool_name: string; status: string }): void {
    this.told.push(`tool ${tool_name} ${status}`);
  }

  mustReport(): void {
    this.told.push('must report');
  }

  async close(end: TurnEnd): Promise<OutletChanges> {
    return this.wanted(end);
  }

  complete({ response, session_id, replayed }: CompleteReply): void {
    this.told.push(`complete ${session_id} ${response}${replayed ? ' (replayed)' : ''}`);
  }
}

/** A message without sign-in on a web channel, in a session that the client names, with the given changes. */
export function aMessage(members: Partial<IncomingMessage> = {}): IncomingMessage {
  return {
    platform: 'webchat',
    user_id: 'visitor',
    channel_id: 'visitor',
    thread_id: 's',
    text: 'Hello',
    metadata: {},
    ...members,
  };
}

/** A turn before its first step, and a function that runs its registered releases. */
export interface TestTurn extends Answering {
  outlet: NotedOutlet;
  /** Runs the releases that the steps have registered. */
  release(failed: boolean): Promise<void>;
}

/** @param members the members of the turn that differ from a message without sign-in on a web channel */
export function aTurnOf<Members extends object = object>(
  { clock }: StepWorld,
  members: Members = {} as Members,
): TestTurn & Members {
  const deferred: ((failed: boolean) => Promise<void> | void)[] = [];
  const turn: TestTurn = {
    turn_id: 'turn-1',
    request_id: 'request-1',
    message: aMessage(),
    session_id: 's',
    session_is_generated: false,
    agent_digest: 'digest',
    channel: {
      name: 'webchat',
      namespace: 'web',
      has_platform: false,
      markdown: 'commonmark',
      linking: undefined,
    },
    address: '192.0.2.1',
    validated: null,
    ticket: null,
    trace: new Trace(clock),
    span: null,
    started_at: clock.now(),
    defer: (release) => void deferred.push(release),
    outlet: new NotedOutlet(),
    stopped: null,
    accepted_at: clock.now(),
    lost: new Cancellation(),
    patient: false,
    reader: null,
    changes: {},
    async release(failed) {
      for (const release of deferred.splice(0).reverse()) await release(failed);
    },
  };
  return Object.assign(turn, members);
}

/** The members that the steps before run-agent add for a message, if no action is pending. */
export function nothingWaits({ services }: StepWorld, session_id = 's') {
  const claim = { session_tag: session_id, owner: 'test' } as SessionClaim;
  return {
    ...{
      found: null,
      session_id,
      session_is_generated: false,
      session_tag: session_id,
      claim,
      has_started: true,
    },
    ...{
      key: null,
      settlement: NO_ANSWER,
      agent: 'default',
      open: null,
      says_more: false,
      texts: services.texts.in(),
    },
  };
}

/** The members of a turn on a channel with a platform. */
export const ON_PLATFORM: Pick<Arrived, 'channel' | 'address'> = {
  channel: { name: 'telex', namespace: 'telex', has_platform: true, markdown: 'none', linking: undefined },
  address: null,
};

export interface StepRun<Turn, Result> {
  /** The turn, with the members that the step has added. */
  turn: Turn;
  /** Its line in the trace. */
  line: TraceLine;
  /** How the step has ended the turn early; undefined if it has not. */
  ended: Result | undefined;
}

/** Runs one step as a sequence does. Rejects if the step rejects; the step's line is then in `turn.trace`. */
export async function runStep<Needs extends Arrived, Adds extends object, Result>(
  { services }: StepWorld,
  step: Step<Needs, Adds, Result>,
  turn: Needs,
): Promise<StepRun<Needs & Adds, Result>> {
  const found = await Sequence.start<Needs>().step(step).run(turn, services);
  const line = turn.trace.lines.at(-1);
  if (!line) throw new Error('the step added no line to the trace');
  const ended = found instanceof Ended ? found.result : undefined;
  return { turn: turn as Needs & Adds, line, ended };
}

/** The verdict on a valid token of this person. */
export function personVerdict(
  sub: string,
  token = `token-of-${sub}`,
): Extract<TokenVerdict, { valid: true }> {
  const claims = { sub, email: `${sub}@example.com`, exp: 4_000_000_000 };
  return {
    valid: true,
    user: { user_id: sub, email: claims.email, roles: [], token: new Secret(token) },
    claims,
    person: personKey(claims),
    expires_at: claims.exp * 1000,
  };
}

export function person(sub: string): PersonKey {
  return personKey({ sub });
}

export const NO_TOKEN: Identified = { credential: { kind: 'none', reason: 'no_token' } };

export function signedIn(sub: string, token?: string): Identified {
  return { credential: { kind: 'person', verdict: personVerdict(sub, token) } };
}

/** The result of authorize-sender for an existing session or, if `found` is null, for a new session with this id. */
export function named(found: Session | null, session_id = 's', session_is_generated = false): NamedSession {
  return found
    ? { found, session_id: found.session_id, session_is_generated: false, session_tag: sessionTag(found) }
    : { found: null, session_id, session_is_generated, session_tag: session_id };
}

/** The result of `beginTurn` for a session without records. */
export const NOTHING_BEGUN: Locked['begun'] = {
  pending: [],
  lapsed: [],
  declined: [],
  earlier: [],
  turns: [],
  signed_out: null,
};

/** The result of lock-session. @param token the claims of the token that came with the message */
export async function locked(
  world: StepWorld,
  of: NamedSession,
  token: TokenOrigin | null = null,
): Promise<Locked> {
  const begun = await world.store.beginTurn(of.session_tag, of.session_id, null, token);
  if (!begun) throw new Error('the session is already claimed');
  const { claim } = begun;
  return {
    ...of,
    ...{ claim, begun, has_started: true },
  };
}
