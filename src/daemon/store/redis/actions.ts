import type {
  Action,
  ActionFilter,
  ActionOutcome,
  ActionStore,
  NewAction,
  NewPendingAction,
  RunClaims,
  WithdrawnActions,
} from '../actions.ts';
import type { SessionClaim } from '../claims.ts';
import type { RedisConnection, Reply } from './connection.ts';

/** Number of actions that one step of a list examines. */
const BITE = 500;

export class RedisActions implements ActionStore {
  readonly #redis: RedisConnection;

  constructor(redis: RedisConnection) {
    this.#redis = redis;
  }

  async pendingIn(session_tag: string): Promise<Action[]> {
    const waiting = this.#redis.names.key('pending-session', session_tag, 'ids');
    return actionsIn(await this.#redis.run('pending-actions', [waiting], session_tag));
  }

  async find(action_id: string): Promise<Action | null> {
    const found = actionsOf(await this.#redis.run('find-actions', [this.#key(action_id)], 'ids', action_id));
    return found.map(withoutNumber)[0] ?? null;
  }

  async settle(
    { session_tag, owner }: SessionClaim,
    action_id: string,
    to: 'started' | 'declined' | 'withdrawn',
    turn_key: string,
  ): Promise<'settled' | 'gone' | 'lost'> {
    const claim = this.#redis.names.key('session', session_tag, 'claim');
    const args = [session_tag, owner, action_id, to, turn_key];
    return (await this.#redis.run('settle-action', [claim], ...args)) as 'settled' | 'gone' | 'lost';
  }

  async withdraw(of: WithdrawnActions): Promise<void> {
    const { names } = this.#redis;
    if ('action_id' in of) {
      await this.#redis.run('withdraw-actions', [this.#key(of.action_id)], 'id', of.action_id, '');
      return;
    }
    const [set, keep = ''] =
      'session_tag' in of
        ? [names.key('pending-session', of.session_tag, 'ids')]
        : [names.key('pending-user', userName(of.platform, of.user_id), 'ids'), of.keep];
    await this.#redis.run('withdraw-actions', [set], 'set', '', keep);
  }

  async start(
    claims: RunClaims | null,
    action: NewAction,
  ): Promise<{ outcome: 'started' } | { outcome: 'lost' } | { outcome: 'known'; action: Action }> {
    const args = [JSON.stringify(storedAction(action)), claims === null ? '' : storedClaims(claims)];
    const done = await this.#run('start-action', action.action_id, ...args);
    if (done === 'started' || done === 'lost') return { outcome: done };
    return { outcome: 'known', action: actionsOf(done).map(withoutNumber)[0] as Action };
  }

  async restart(claims: RunClaims, action_id: string, attempt: number): Promise<'started' | 'gone' | 'lost'> {
    const done = await this.#run('restart-action', action_id, attempt, storedClaims(claims));
    return done as 'started' | 'gone' | 'lost';
  }

  async finish(action_id: string, attempt: number, { state, status, answer }: ActionOutcome): Promise<void> {
    await this.#run('finish-action', action_id, attempt, state, status ?? '', answer ?? '');
  }

  async ofTurn(turn_key: string): Promise<Action[]> {
    const index = this.#redis.names.key('actions-of-turn', turn_key, 'ids');
    return actionsOf(await this.#redis.run('find-actions', [index], 'turn')).map(withoutNumber);
  }

  async list({ who, session, since = 0, limit }: ActionFilter): Promise<Action[]> {
    const { names } = this.#redis;
    const nobodys = who !== undefined && 'platform' in who && who.nobodys === true;
    const filter = JSON.stringify({
      since,
      ...(session !== undefined && { session }),
      ...(nobodys && { nobodys }),
    });
    const index =
      who === undefined
        ? names.key('actions', null, 'ids')
        : 'person' in who
          ? names.key('actions-of-person', who.person, 'ids')
          : names.key('actions-of-user', userName(who.platform, who.user_id), 'ids');
    const listed: Action[] = [];
    for (let from = 0; listed.length < limit; ) {
      const args = [from, BITE, limit - listed.length, filter];
      const [now, looked, ...found] = (await this.#redis.run('list-actions', [index], ...args)) as Reply[];
      listed.push(...actionsOf([now as Reply, ...found]).map(withoutNumber));
      from += looked as number;
      if ((looked as number) < BITE) break;
    }
    return listed;
  }

  async replaceText(action_id: string, field: string, text: string, value: string): Promise<boolean> {
    return (await this.#redis.run('replace-action-text', [this.#key(action_id)], field, text, value)) === 1;
  }

  #run(script: string, action_id: string, ...args: (string | number)[]): Promise<Reply> {
    return this.#redis.run(script, [this.#key(action_id)], action_id, ...args);
  }

  #key(action_id: string): string {
    return this.#redis.names.key('action', action_id, 'record');
  }
}

/** A pending action, in the form for the script of a commit. */
export function storedPending({ asked_by, answer_ms, unasked_ms, principal, ...action }: NewPendingAction) {
  const given = { ...storedAction(action), principal, answer_ms, ...(asked_by !== null && { asked_by }) };
  return { id: action.action_id, unasked_ms, given };
}

/** The fields of a record: separate fields for what scripts read, and the rest as JSON. */
function storedAction(action: NewAction): Record<string, unknown> {
  const { turn_key, args, summary, session_tag, session_id, person, platform, user_id } = action;
  return {
    ...{ doc: JSON.stringify({ ...action, args: '', summary: '' }), turn_key, args, summary },
    ...(session_tag !== null && { session_tag }),
    ...(session_id !== null && { session_id }),
    ...(person !== null && { person }),
    ...(platform !== null && user_id !== null && { user: userName(platform, user_id) }),
  };
}

function storedClaims({ session, key }: RunClaims): string {
  const { session_tag: tag, owner } = session;
  return JSON.stringify({ tag, owner, ...(key !== null && { key: key.key, key_owner: key.owner }) });
}

function userName(platform: string, user_id: string): string {
  return `${platform}:${user_id}`;
}

type Numbered = Action & { number: number };

/** @param reply the time, and then the fields and values of each action. */
function actionsOf(reply: Reply): Numbered[] {
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

/** Actions in the order in which they were begun. @param reply as in `actionsOf`. */
export function actionsIn(reply: Reply): Action[] {
  return actionsOf(reply).sort(byNumber).map(withoutNumber);
}

function byNumber(a: Numbered, b: Numbered): number {
  return a.number - b.number;
}

function withoutNumber({ number: _, ...action }: Numbered): Action {
  return action;
}
