import type { Action, NewAction, NewPendingAction } from '../actions.ts';
import type { Reply } from './connection.ts';

/** A pending action, in the form that the script of a commit expects. */
export function storedPending({ asked_by, answer_ms, unasked_ms, principal, ...action }: NewPendingAction) {
  const given = { ...storedAction(action), principal, answer_ms, ...(asked_by !== null && { asked_by }) };
  return { id: action.action_id, unasked_ms, given };
}

/** The fields of a record. Values that scripts read have separate fields, and the rest is JSON. */
export function storedAction(action: NewAction): Record<string, unknown> {
  const { turn_key, args, summary, session_tag, session_id, person, platform, user_id } = action;
  return {
    ...{ doc: JSON.stringify({ ...action, args: '', summary: '' }), turn_key, args, summary },
    ...(session_tag !== null && { session_tag }),
    ...(session_id !== null && { session_id }),
    ...(person !== null && { person }),
    ...(platform !== null && user_id !== null && { user: userName(platform, user_id) }),
  };
}

export function userName(platform: string, user_id: string): string {
  return `${platform}:${user_id}`;
}

/** An action with its number, which orders the actions of its shard. */
export type Numbered = Action & { number: number };

/** @param reply the time, and then the fields and values of each action. */
export function actionsOf(reply: Reply): Numbered[] {
  const [now, ...records] = reply as [number, ...string[][]];
  return records.map((flat) => {
    const fields = new Map<string, string>();
    for (let place = 0; place < flat.length; place += 2)
      fields.set(flat[place] as string, flat[place + 1] as string);
    const text = (name: string) => fields.get(name) ?? null;
    const number = (name: string) => (fields.has(name) ? Number(fields.get(name)) : null);
    const expires_at = number('expires_at');
    const state =
      fields.get('state') === 'pending' && (expires_at ?? 0) <= now ? 'expired' : fields.get('state');
    return {
      ...JSON.parse(fields.get('doc') ?? ''),
      ...{ turn_key: text('turn_key'), args: text('args'), summary: text('summary'), state },
      ...{
        principal: text('principal'),
        attempt: number('attempt'),
        status: number('status'),
        answer: text('answer'),
      },
      ...{ asked_at: number('asked_at'), expires_at, created_at: number('created_at') },
      ...{ started_at: number('started_at'), finished_at: number('finished_at'), number: number('number') },
    };
  });
}

/** Actions in the order in which they were created. @param reply as in `actionsOf`. */
export function actionsIn(reply: Reply): Action[] {
  return actionsOf(reply).sort(byNumber).map(withoutNumber);
}

/** Compares actions by their times, then by their numbers. Numbers are unique only within a shard. */
export function byNewest(a: Numbered, b: Numbered): number {
  return b.created_at - a.created_at || b.number - a.number;
}

function byNumber(a: Numbered, b: Numbered): number {
  return a.number - b.number;
}

export function withoutNumber({ number: _, ...action }: Numbered): Action {
  return action;
}
