import type Database from 'better-sqlite3';
import type { PersonKey } from '../../identity/identity.ts';
import type { Clock } from '../../time/clock.ts';
import type { NewPendingAction, WithdrawnActions } from '../actions.ts';

/** Changes that other parts of the store make to pending actions, within their commits. */
export class PendingActions {
  readonly #clock: Clock;
  readonly #insert;
  readonly #replace;
  readonly #withdraw;
  readonly #withdrawIn;
  readonly #withdrawOf;
  readonly #noteAsked;
  readonly #dropUnasked;

  constructor(db: Database.Database, clock: Clock) {
    this.#clock = clock;
    this.#insert = db.prepare<
      NewPendingAction & { now: number; asked_at: number | null; expires_at: number }
    >(
      `INSERT INTO actions (action_id, session_tag, session_id, platform, user_id, alias_id, person, operator, turn_key, tool, args,
         summary, principal, asked_by, answer_ms, state, attempt, asked_at, expires_at, created_at)
       VALUES (@action_id, @session_tag, @session_id, @platform, @user_id, @alias_id, @person, @operator, @turn_key, @tool, @args,
         @summary, @principal, @asked_by, @answer_ms, 'pending', 0, @asked_at, @expires_at, @now)`,
    );
    const withdrawn = `UPDATE actions SET state = 'withdrawn', finished_at = @now
      WHERE state = 'pending' AND expires_at > @now`;
    this.#replace = db.prepare<{ session_tag: string; principal: string; now: number }>(
      `${withdrawn} AND session_tag = @session_tag AND principal = @principal`,
    );
    this.#withdraw = db.prepare<{ action_id: string; now: number }>(
      `${withdrawn} AND action_id = @action_id`,
    );
    this.#withdrawIn = db.prepare<{ session_tag: string; now: number }>(
      `${withdrawn} AND session_tag = @session_tag`,
    );
    this.#withdrawOf = db.prepare<{
      platform: string;
      user_id: string;
      keep: PersonKey | null;
      now: number;
    }>(
      `${withdrawn} AND platform = @platform AND user_id = @user_id AND (person IS NULL OR person IS NOT @keep)`,
    );
    this.#noteAsked = db.prepare<{ asked_by: string; now: number }>(
      `UPDATE actions SET asked_at = @now, expires_at = @now + answer_ms
       WHERE state = 'pending' AND asked_at IS NULL AND asked_by = @asked_by AND expires_at > @now`,
    );
    this.#dropUnasked = db.prepare<{ asked_by: string; now: number }>(
      `${withdrawn} AND asked_at IS NULL AND asked_by = @asked_by`,
    );
  }

  add(action: NewPendingAction): void {
    const now = this.#clock.now();
    const { session_tag, principal, asked_by, answer_ms, unasked_ms } = action;
    this.#replace.run({ session_tag, principal, now });
    const times =
      asked_by === null
        ? { asked_at: now, expires_at: now + answer_ms }
        : { asked_at: null, expires_at: now + unasked_ms };
    this.#insert.run({ ...action, ...times, now });
  }

  withdraw(of: WithdrawnActions): void {
    const now = this.#clock.now();
    if ('action_id' in of) this.#withdraw.run({ ...of, now });
    else if ('session_tag' in of) this.#withdrawIn.run({ ...of, now });
    else this.#withdrawOf.run({ keep: null, ...of, now });
  }

  /** Records that the reply of this inbox message was sent, and with it the question at its end, if it has one. */
  noteAsked(message_id: string): void {
    this.#noteAsked.run({ asked_by: message_id, now: this.#clock.now() });
  }

  /** Withdraws the action that this message asks the person to confirm: the reply will not be sent. */
  dropUnasked(message_id: string): void {
    this.#dropUnasked.run({ asked_by: message_id, now: this.#clock.now() });
  }
}
