import type { Shown, SimulatedEvent } from '../../channel/index.ts';
import type { MessageEnd } from './daemon-records.ts';

/** An event of a simulation. With `--json`, these are the items of the array. */
export type SimulationEvent =
  | ({ type: 'sent' } & SimulatedEvent)
  /** The daemon's answer to a delivery. `reason` is the code of a refusal. */
  | {
      type: 'answer';
      /** Number of the message. */
      number: number;
      /** Number of the delivery, starting at 1. */
      delivery: number;
      status: number;
      request_id: string | null;
      reason: string | null;
      took_ms: number;
    }
  /** `other`: the text belongs to an earlier conversation, or to another place. */
  | ({ type: 'shown'; other: boolean } & Shown)
  /** The platform's API refused a call. `asked_for`: the options of the command requested the refusal. */
  | { type: 'refused'; status: number; asked_for: boolean }
  | ({ type: 'end' } & Summary);

/** How the messages ended. Each is counted in one of the five groups. */
export interface Summary {
  messages: number;
  answered: number;
  blocked: number;
  failed: number;
  /** Messages for which nothing arrived in time. */
  unanswered: number;
  /** Messages whose end this command cannot see. */
  unseen: number;
  /** The reasons for blocks and failures, each listed once. */
  reasons: string[];
}

/** Whether the daemon answered as a person expects: the loop guard may block some messages, but not all. */
export function isAnswered({ answered, blocked, failed, unanswered }: Summary): boolean {
  return failed === 0 && unanswered === 0 && (blocked === 0 || answered > 0);
}

/** @param isVisible whether the answers arrive here, or the daemon's records can be read */
export function summaryOf(ends: readonly (MessageEnd | null)[], isVisible: boolean): Summary {
  const count = (kind: MessageEnd['end']) => ends.filter((end) => end?.end === kind).length;
  const reasons = ends.flatMap((end) => (end && 'reason' in end && end.reason !== null ? [end.reason] : []));
  const unknown = ends.filter((end) => end === null).length;
  return {
    messages: ends.length,
    answered: count('answered'),
    blocked: count('blocked'),
    failed: count('failed'),
    unanswered: count('open') + (isVisible ? unknown : 0),
    unseen: isVisible ? 0 : unknown,
    reasons: [...new Set(reasons)],
  };
}
