import type { Shown, SimulatedEvent } from '../../channel/index.ts';
import type { Ending } from './records.ts';

/** What happens while a platform is stood in for, in order; with `--json` the items of one array. */
export type Happening =
  | ({ type: 'sent' } & SimulatedEvent)
  /** What the daemon answered to the platform. `reason`: the code of a refusal. */
  | {
      type: 'answer';
      /** Of the message. */
      number: number;
      /** Of the delivery within this call, from 1 on. */
      delivery: number;
      status: number;
      request_id: string | null;
      reason: string | null;
      took_ms: number;
    }
  /** `other`: it belongs to an earlier conversation, or to another place. */
  | ({ type: 'shown'; other: boolean } & Shown)
  /** The platform's API refused a call; `asked_for`: as the options say. */
  | { type: 'refused'; status: number; asked_for: boolean }
  | ({ type: 'end' } & Summary);

/** How it ended: a message is counted under one of the five. */
export interface Summary {
  messages: number;
  answered: number;
  blocked: number;
  failed: number;
  /** Nothing came for them in time. */
  unanswered: number;
  /** What became of them cannot be seen from here. */
  unseen: number;
  /** Why the loop guard blocked, and what failed: each once. */
  reasons: string[];
}

/** @param isSeen the answers come here, or the daemon's records can be read. */
export function summaryOf(endings: readonly (Ending | null)[], isSeen: boolean): Summary {
  const count = (end: Ending['end']) => endings.filter((ending) => ending?.end === end).length;
  const reasons = endings.flatMap((ending) =>
    ending && 'reason' in ending && ending.reason !== null ? [ending.reason] : [],
  );
  const unknown = endings.filter((ending) => ending === null).length;
  return {
    messages: endings.length,
    answered: count('answered'),
    blocked: count('blocked'),
    failed: count('failed'),
    unanswered: count('open') + (isSeen ? unknown : 0),
    unseen: isSeen ? 0 : unknown,
    reasons: [...new Set(reasons)],
  };
}
