import type {
  ChannelCapabilities,
  ChannelLinking,
  Confirmation,
  IncomingMessage,
  Receipts,
} from '../../channel/index.ts';
import type { Usage } from '../agent/model-meter.ts';
import type { RunRecorder } from '../agent/run-recorder.ts';
import type { Credential, PersonKey, Principal, ValidatedToken } from '../identity/identity.ts';
import type { Session, StoredTurn } from '../session/session.ts';
import type { Action } from '../store/actions/actions.ts';
import type { KeyClaim, SessionClaim } from '../store/claims/claims.ts';
import type { Rerun, StoredQuestion } from '../store/inbox/inbox.ts';
import type { BegunTurn, TurnChanges } from '../store/sessions/turns.ts';
import type { LocalTexts } from '../texts/texts.ts';
import type { Ticket } from '../time/tickets.ts';
import type { Cancellation } from '../time/time-limit.ts';
import type { KeptQuestion } from '../tools/confirmation/desk.ts';
import type { MessageSpan } from '../trace/span.ts';
import type { Trace } from '../trace/trace.ts';
import type { CollectedMessage } from '../trace/trace-record.ts';
import type { CompleteReply, Outlet, SignInNeeded } from './outlet.ts';
import type { RunHistory } from './run/history.ts';
import type { RunRecord } from './run/record.ts';

/**
 * The data that is passed along the message path: a message that has arrived, and what each step adds to it. The
 * parameter type of a step says what the step needs, and the result type says what the step adds. The order of the
 * steps in steps.ts compiles only if all needs are met.
 */
export interface Arrived {
  turn_id: string;
  request_id: string;
  /** Id of the request that opened the stream of the message; absent if the message has no stream. */
  opened_by?: string;
  message: IncomingMessage;
  /**
   * The id of the message's thread, or the id that was generated for the message. Later steps replace it with the
   * current id of the session.
   */
  session_id: string;
  /** Whether the daemon generated `session_id` for this message. */
  session_is_generated: boolean;
  channel: ArrivedChannel;
  /** Client address; null if the message came from a platform. */
  address: string | null;
  /** Whether the sender has changed the text since the message was accepted. Absent if the channel has no edits. */
  edited?: boolean;
  /** The further messages that this turn answers, in order. Absent if it answers one message. */
  collected?: readonly CollectedMessage[];
  /** Set if this is the second run of a message, after its sender has signed in. */
  rerun?: Rerun;
  /** The token of the request with the result of its validation; null if the request had none. */
  validated: ValidatedToken | null;
  /** The message's position in the order of arrival, which is kept up to the session's lock; null if it has none. */
  ticket: Ticket | null;
  /** The digest of the agent that answers the message. Before the agent is chosen, the digest of all agents. */
  agent_digest: string;
  /** The parent of the message's span, from `Observer.readParent`. Absent if there is none. */
  parent_span?: string | undefined;
  trace: Trace;
  /** The span of the message. Null if no spans are collected. */
  span: MessageSpan | null;
  started_at: number;
  /**
   * Registers a function that releases what a step has taken. When the turn ends, the registered functions are called
   * in reverse order.
   */
  defer(release: (failed: boolean) => Promise<void> | void): void;
}

/** The channel of a message. */
export interface ArrivedChannel {
  name: string;
  /** Channels of one namespace share sessions and idempotency keys. */
  namespace: string;
  /**
   * True: a platform signs the messages, says who wrote them, and names the sessions. False: clients claim all of this
   * themselves.
   */
  has_platform: boolean;
  markdown: ChannelCapabilities['markdown'];
  linking: ChannelLinking | undefined;
}

/** A message that is being answered now, in contrast to a message that is stored for later. */
export interface Answering extends Arrived {
  outlet: Outlet;
  /**
   * Ended when the person stops the answer: the text up to that point becomes the reply. Null if the answer cannot be
   * stopped.
   */
  stopped: Cancellation | null;
  /** When the daemon accepted the message, by the store's clock. */
  accepted_at: number;
  /** Ended when one of the claims that this turn holds is lost. */
  lost: Cancellation;
  /** True: the message waits for its session and for a run until the daemon stops. False: these waits are limited. */
  patient: boolean;
  /** The only person who may get the answer again. Null: anybody with the idempotency key may get it. */
  reader: PersonKey | null;
  /** What the run of the message is noted in. Absent if runs are not recorded, and before the run. */
  recording?: RunRecording;
  /** Changes that steps have made. The single commit of the turn stores them. */
  changes: Pick<TurnChanges, 'session' | 'answered_question'>;
}

/** Notes a run (RECORD_RUNS). */
interface RunRecording {
  recorder: RunRecorder;
  /** The earlier turns whose words the run was given. */
  history: readonly StoredTurn[];
}

/** Added by identify-by-token or identify-by-link: who sent the message, according to a token. */
export interface Identified {
  credential: Credential;
}

/** Added by `deduplicate`: the key under which the answer can be found later. */
export interface Deduplicated {
  /** Null if the message has no key. */
  key: KeyClaim | null;
  /** Whether the loop guard has counted an earlier request with the key, which then failed. */
  counted_before?: boolean;
}

/** Added by `deduplicateStream`: the key under which the stream can be found later. */
export interface Numbered {
  /** Null if the client sent none. */
  idempotency_key: string | null;
  /** As in `Deduplicated`. */
  counted_before?: boolean;
}

/** The session of a message (authorize-sender.ts), by the id that the message names or that was generated for it. */
export interface NamedSession {
  /** Null if the message begins the session. */
  found: Session | null;
  /** The id that the session has now. */
  session_id: string;
  /** Whether the daemon generated `session_id` for this message. */
  session_is_generated: boolean;
  /** The permanent name of the session, which the lock and the count of turns use. */
  session_tag: string;
}

/** Added by authorize-sender: the session does not belong to somebody else. */
export interface Authorized extends NamedSession {
  authorized: true;
}

/** Added by guard: the loop guard lets the message through. */
export interface Guarded {
  /** The tag of the session in which the guard counted the turn; null if the guard did not count it. */
  counted_in: string | null;
}

/**
 * Added by lock-session: no other message of the session runs until this turn ends. The session was resolved again
 * under the lock.
 */
export interface Locked extends NamedSession {
  claim: SessionClaim;
  /** The data that was read when the claim began. */
  begun: Pick<BegunTurn, 'pending' | 'lapsed' | 'declined' | 'earlier' | 'turns' | 'signed_out'>;
  /** Whether the outlet was notified that the answer has begun, and in which session. */
  has_started: boolean;
}

/** Added by open-session: the session as it was found or as it will be created. Nothing is written yet. */
export interface Opened {
  session: Session;
  /** `replaced`: a new session takes over the id of another person's session. */
  session_origin: 'found' | 'new' | 'replaced';
}

/** Added by resolve-principal: whom the tools act for, and the session with its current id. */
export interface Resolved extends Opened {
  principal: Principal;
  session_id: string;
  changes: Answering['changes'];
}

/** Added by choose-agent: the name of the agent that answers. */
export interface Chosen {
  agent: string;
  agent_digest: string;
}

/** Added by settle-pending: what the message means for the pending actions of its session. */
export interface Settled {
  /** The message. For a button without a text, the text is the label of the button. */
  message: IncomingMessage;
  settlement: Settlement;
  /** With the question that the message answers. */
  changes: Answering['changes'];
  /** Whether the message presses a button and also has a text of its own. */
  says_more: boolean;
  /** The question to this principal that the message leaves open; null if there is none. */
  open: OpenQuestion | null;
  /** The daemon's own texts in the language of the sender. */
  texts: LocalTexts;
}

/** A question that waits for an answer. */
export interface OpenQuestion {
  /** In their order. */
  actions: readonly [Action, ...Action[]];
  /**
   * Whether the message was accepted after the question was asked, so that it could have answered it, and an agent
   * replies to it.
   */
  counts: boolean;
}

/** What the message means for the question that it answers. */
export interface Settlement {
  /** The actions that the person has confirmed, in the order of their question; empty if there are none. */
  confirmed: readonly Action[];
  declined: readonly Action[];
  /** Whether an earlier run of this message has already recorded the answer, and may have started calls. */
  resumed: boolean;
  /** What the daemon says before the text of the agent, in CommonMark; empty if nothing. */
  notice: string;
  /** Whether the notice is the whole reply, without a run. */
  ends: boolean;
}

/** The message answers no question. */
export const NO_ANSWER: Settlement = { confirmed: [], declined: [], resumed: false, notice: '', ends: false };

/** What a run of the agent needs to know. */
export type Runnable = Answering & Deduplicated & Locked & Resolved & Chosen & Settled;

/** Added by run-agent: the reply of the agent. */
export interface Answered {
  reply: string;
  /** Whether the person stopped the answer. The reply is then the text up to that point, which may be empty. */
  stopped: boolean;
  /** The tokens that the model calls used; null if there was no call. */
  usage: Usage | null;
  run_record: RunRecord;
  /** The question that was open before, and still is; null if there is none. */
  open: OpenQuestion | null;
  /** The part of the conversation that the run saw. Null if the daemon answered without a run. */
  history: RunHistory | null;
  /** The question at the end of the reply; null if there is none. */
  asked: AskedQuestion | null;
  /** Set if a tool said that sign-in is needed, on a platform. */
  sign_in: SignInNeeded | null;
  /** What the writes of the message did; null if there are none. */
  receipts: Receipts | null;
}

/** The question at the end of a reply. `pending`, `expires_at`: as in `KeptQuestion`. */
export interface AskedQuestion extends Pick<KeptQuestion, 'expires_at'> {
  pending: KeptQuestion['actions'];
  /** The question as web clients get it. */
  confirmation: Omit<Confirmation, 'expires_at'>;
  /** The question as channels with buttons need it. */
  stored: StoredQuestion;
}

/** Added by store-reply: the turn is durable. */
export interface Stored {
  record: StoredTurn;
  complete: CompleteReply;
}
