import type { BegunMessage, MessageSpan } from './span.ts';
import type { TraceRecord } from './trace-record.ts';

/** Receives reports about the daemon's work, and turns them into metrics and spans. No method throws or waits. */
export interface Observer {
  /**
   * Reads the `traceparent` header of a request.
   * @returns the header in its canonical form. Null if it is absent or invalid, or if no spans are collected.
   */
  readParent(traceparent: string | undefined): string | null;
  /**
   * Called when the processing of a message starts. @returns the span of the message; null if no spans are collected.
   */
  messageBegan(message: BegunMessage): MessageSpan | null;
  /** Called when a run of a message begins, before it waits for anything. `turnEnded` follows in every case. */
  turnBegan(platform: string): void;
  turnEnded(platform: string): void;
  /**
   * Called when a message has ended, or when one of its runs has failed and will be repeated.
   * @param runs_again whether the run failed and will be repeated, so that the message has not ended yet.
   */
  turnTraced(trace: TraceRecord, runs_again: boolean): void;
  /** Called when the loop guard has blocked a message as it arrived. */
  messageBlocked(platform: string, reason: string): void;
  /** Called when a message has ended in a way that `turnTraced` does not report. */
  messageEnded(platform: string, outcome: 'failed' | 'replayed' | 'stopped'): void;
  /** Called when an attempt to send a stored text has ended, or when a text has failed without another attempt. */
  deliveryEnded(platform: string, outcome: DeliveryOutcome): void;
  /** Called when an answer got a rating that it did not have before. */
  answerRated(platform: string, rating: 1 | -1): void;
  requestEnded(request: EndedRequest): void;
  /**
   * Called when a user token was checked.
   * @param outcome `valid`, or the reason why the token is not valid.
   * @param key the position of the key that a valid token is signed with, if there are several keys.
   */
  tokenChecked(outcome: string, key?: number): void;
  /** Called when the issuer was asked to renew the token of a link. */
  tokenRenewed(outcome: string): void;
  /**
   * Called when a request to an API has ended; log-ins are requests, too.
   * @param status the status of the answer, or the reason why there is no answer.
   */
  downstreamEnded(source: string, status: number | string, seconds: number): void;
}

/** `sent`: the platform accepted the text. `retried`: it will be sent again. `failed`: it will not be sent again. */
export type DeliveryOutcome = 'sent' | 'retried' | 'failed';

export interface EndedRequest {
  /** The path of the route, with the names of its parameters. Null if there is no such route. */
  route: string | null;
  method: string;
  status: number;
  /** The code of the problem in the answer; null if there was none. */
  code: string | null;
  seconds: number;
}

const ignore = () => {};

export const NO_OBSERVER: Observer = {
  readParent: () => null,
  messageBegan: () => null,
  turnBegan: ignore,
  turnEnded: ignore,
  turnTraced: ignore,
  messageBlocked: ignore,
  messageEnded: ignore,
  deliveryEnded: ignore,
  answerRated: ignore,
  requestEnded: ignore,
  tokenChecked: ignore,
  tokenRenewed: ignore,
  downstreamEnded: ignore,
};

/** Combines several observers. At most one of them collects spans. */
export function observers(all: readonly Observer[]): Observer {
  const [first = NO_OBSERVER, ...rest] = all;
  if (rest.length === 0) return first;
  return {
    readParent: (traceparent) => findFirst(all, (one) => one.readParent(traceparent)),
    messageBegan: (message) => findFirst(all, (one) => one.messageBegan(message)),
    turnBegan: (...of) => all.forEach((one) => void one.turnBegan(...of)),
    turnEnded: (...of) => all.forEach((one) => void one.turnEnded(...of)),
    turnTraced: (...of) => all.forEach((one) => void one.turnTraced(...of)),
    messageBlocked: (...of) => all.forEach((one) => void one.messageBlocked(...of)),
    messageEnded: (...of) => all.forEach((one) => void one.messageEnded(...of)),
    deliveryEnded: (...of) => all.forEach((one) => void one.deliveryEnded(...of)),
    answerRated: (...of) => all.forEach((one) => void one.answerRated(...of)),
    requestEnded: (...of) => all.forEach((one) => void one.requestEnded(...of)),
    tokenChecked: (...of) => all.forEach((one) => void one.tokenChecked(...of)),
    tokenRenewed: (...of) => all.forEach((one) => void one.tokenRenewed(...of)),
    downstreamEnded: (...of) => all.forEach((one) => void one.downstreamEnded(...of)),
  };
}

function findFirst<T>(all: readonly Observer[], ask: (one: Observer) => T | null): T | null {
  for (const one of all) {
    const answer = ask(one);
    if (answer !== null) return answer;
  }
  return null;
}
