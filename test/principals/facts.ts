import type { Origin, Person, SignOut } from './tokens.ts';

export interface Problem {
  kind:
    | 'leak'
    | 'identity'
    | 'question'
    | 'told'
    | 'not refused'
    | 'refused'
    | 'loss'
    | 'session'
    | 'unanswered'
    | 'token';
  text: string;
}

/** How the sender of an operation proves who they are. */
export type Presented =
  | { kind: 'none' }
  /** An explicit `jwt_token: null`. */
  | { kind: 'signed-out' }
  /** `expired` is the person of a token that has expired, or null for any other invalid token. */
  | { kind: 'invalid'; expired: Person | null }
  | { kind: 'person'; person: Person; expires: number; origin: Origin };

export interface WebMessage {
  address: string;
  user: string;
  /** The session that the client names. */
  named: string | null;
  presented: Presented;
  /** What it proved when its session was found, if that was before a sign-out. */
  finder?: Presented;
  mark: string;
  /** The whole text. */
  text: string;
  /** Whether the agent fails. */
  fails: boolean;
  /** The number of calls to the business API that the run makes if it acts for a person. */
  calls: number;
  /** `Idempotency-Key` */
  key: string | null;
  business?: Business;
}

/** What a message has to do with actions that the person must confirm. */
export interface Business {
  /** The marks of the actions that the message asks for, in order. */
  deeds: readonly string[];
  /** What it says to an open question: all, none or some of its actions, by number. Null if it is no answer. */
  says: 'all' | 'none' | readonly number[] | null;
  /** The mark of the first action of the question whose button was pressed. Null if it is no press. */
  press: string | null;
  /** How a sign-out at the same time has kept its actions from being sent. Absent if it has not. */
  kept?: 'failed' | 'left out';
  /** Whether it was accepted before the replies of what happens at the same time had left. */
  isEarly?: boolean;
}

/** What became of a message whose stream was stopped before its end. */
export interface Stopped {
  /** Whether the daemon had begun with it. */
  hasRun: boolean;
  /** Whether it answered the open question. */
  hasAnswered: boolean;
  /** Whether the confirmed call was carried out whose outcome is unknown, or which has failed. */
  isCarriedOut: boolean;
  /** The calls of the business API for the person's data. */
  calls: 0 | 1;
}

/** What a reply says about actions. */
export interface Told {
  /** The marks of the actions that the question at its end is about. */
  asks: readonly string[];
  /** What was done and what was not: the mark, or else the title, and the outcome. */
  lines: readonly string[];
}

/** A message that is answered on a stream. */
export interface StreamedMessage extends WebMessage {
  /** The credential of the only cookie that was sent with it. */
  cookie: Presented;
}

/** A request that reads or stops a stream. */
export interface StreamRequest {
  stream: string;
  method: 'GET' | 'DELETE';
  /** Whether the request comes from a page that is not allowed to read the stream, according to its headers. */
  isForeign: boolean;
  /** The credential of the only cookie. If there are several cookies, none of them counts. */
  cookie: Presented;
  query: Presented;
  /** `Last-Event-ID`, or null if the request has none. */
  after: number | null;
}

/** The observed result of a request. */
export interface Seen {
  status: number;
  /** The code of the problem document, or of the `error` event of the stream. */
  code: string | null;
  session_id: string | null;
  /** The marks in the whole response. */
  marks: readonly string[];
  /** The name of the person for whom the run acted. It is null without sign-in, and undefined if there was no reply. */
  actedFor: string | null | undefined;
  /** The marks of the earlier messages that the run got as messages, and not as quotes from before sign-in. */
  said: readonly string[];
  replayed: boolean;
  /** Absent for a stream, which is not compared in this. */
  told?: Told;
  /** Whether the response contains something that looks like a token. */
  hasToken: boolean;
  /** Whether another request was in progress. The response may then say that the same message is being answered. */
  isConcurrent: boolean;
}

/** The observed result of the request that posts a message for a stream. */
export interface SeenAsked {
  status: number;
  code: string | null;
  stream: string | null;
  isConcurrent: boolean;
}

/** When a run was cut off: before it called the business API, or after. */
export type CutOff = 'before-calls' | 'after-calls';

export interface Turn {
  person: Person | null;
  /** The marks of its text. */
  wrote: readonly string[];
  /** The marks of its text and its reply. */
  marks: readonly string[];
}

export interface Session {
  /** Null if the client does not know the id because the run failed. */
  id: string | null;
  /** Ids from before sign-in. */
  former: string[];
  kind: 'generated' | 'chosen' | 'platform';
  user: string;
  /** The other id of the user of a private chat, if a message has contained one. */
  alias?: string | null;
  owner: Person | null;
  /** The stored context. */
  bound: { person: Person; user: string; expires: number; origin: Origin } | null;
  turns: Turn[];
}

export interface Answer {
  fingerprint: string;
  session_id: string;
  marks: readonly string[];
  actedFor: string | null | undefined;
  /** The only person who may get the answer, or null if anybody with the key may get it. */
  reader: Person | null;
}

export interface Stream {
  id: string;
  message: StreamedMessage;
  keptUnder: string | null;
  state: 'waiting' | 'ended';
  /** Whether it was stopped before its reply. */
  isStopped: boolean;
  owner: Person | null;
  /** Whether its owner was set by a token in the query. */
  byQuery: boolean;
  /** The answer that later readers of the stream get. Null while nobody has opened or stopped the stream. */
  answer: Omit<Answer, 'fingerprint' | 'reader'> | null;
  /** The id of the session: before the run, the session that the message names; after it, the session of the run. */
  session_id: string | null;
  /** Whether it was posted with an id from before sign-in, and without the owner's token. */
  namesFormer: boolean;
  fingerprint: string;
}

export interface State {
  hour: number;
  sessions: Session[];
  streams: Stream[];
  answers: Map<string, Answer>;
  /**
   * The fingerprint of the last message that ran with each key. It is kept for one hour, even if the message failed.
   */
  tried: Map<string, string>;
  signOuts: SignOut[];
  /** How often each person's token was used. */
  calls: Map<Person, number>;
}

/** The marks that a run must have received. */
export interface Shown {
  mark: string;
  marks: string[];
  said: string[];
}

/** A message that a session has accepted. */
export interface Spoken {
  session: Session;
  user: string;
  person: Person | null;
  mark: string;
  /** How often its run calls the business API if it acts for a person. */
  calls: number;
  /** Whether a token came with it, or its sender is linked. */
  hasToken: boolean;
  /** Whether it says that the person signs out. */
  signsOut: boolean;
  business?: Business | undefined;
}

/** What a reply must contain. */
export interface Expected extends Shown {
  person: Person | null;
  /** Whether the agent has answered. Otherwise, the daemon itself has. */
  isRun: boolean;
  told: Told;
}

export const NOTHING_TOLD: Told = { asks: [], lines: [] };

/** The result of a message. */
export type Outcome =
  | { refused: true }
  | {
      refused: false;
      session: Session;
      /** Whether the id in the reply was created for this message. */
      hasNewId: boolean;
      person: Person | null;
    };

/** What the people of a history are called. */
export interface Names {
  nameOf(person: Person): string;
  /** The mark in the data of this person. */
  dataOf(person: Person): string;
  originOf(person: Person): Pick<Origin, 'sub' | 'tenant'>;
}
