import type {
  Action,
  ActionFilter,
  ActionOutcome,
  ActionStore,
  NewAction,
  RunClaims,
  WithdrawnActions,
} from '../actions.ts';
import type { SessionClaim } from '../claims.ts';
import {
  actionsIn,
  actionsOf,
  byNewest,
  type Numbered,
  storedAction,
  userName,
  withoutNumber,
} from './action-record.ts';
import type { Reply } from './connection.ts';
import { placeOfKey } from './idempotency.ts';
import type { RedisKeyspace } from './keyspace.ts';

/** Number of actions that one step of a list examines. */
const BITE = 500;

export class RedisActions implements ActionStore {
  readonly #redis: RedisKeyspace;

  constructor(redis: RedisKeyspace) {
    this.#redis = redis;
  }

  async pendingIn(session_tag: string): Promise<Action[]> {
    const waiting = this.#redis.names.key('pending-session', session_tag, 'ids');
    return actionsIn(await this.#redis.run('pending-actions', [waiting], session_tag));
  }

  async find(action_id: string): Promise<Action | null> {
    const found = await this.#first(action_id, async (shard) => {
      const reply = await shard.run('find-actions', [keyOf(shard, action_id)], 'ids', action_id);
      return actionsOf(reply)[0] ?? null;
    });
    return found && withoutNumber(found);
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
    if ('action_id' in of) {
      const { action_id } = of;
      await this.#each((shard) =>
        shard.run('withdraw-actions', [keyOf(shard, action_id)], 'id', action_id, ''),
      );
      return;
    }
    if ('session_tag' in of) {
      const set = this.#redis.names.key('pending-session', of.session_tag, 'ids');
      await this.#redis.run('withdraw-actions', [set], 'set', '', '');
      return;
    }
    const { platform, user_id, keep = '' } = of;
    await this.#each((shard) => {
      const set = shard.names.key('pending-user', userName(platform, user_id), 'ids');
      return shard.run('withdraw-actions', [set], 'set', '', keep);
    });
  }

  async start(
    claims: RunClaims | null,
    action: NewAction,
  ): Promise<{ outcome: 'started' } | { outcome: 'lost' } | { outcome: 'known'; action: Action }> {
    const shard = this.#redis.at(action.session_tag ?? action.action_id);
    const held = claims === null ? '' : await this.#heldIn(shard, claims);
    if (held === null) return { outcome: 'lost' };
    const args = [JSON.stringify(storedAction(action)), held];
    const done = await this.#run(shard, 'start-action', action.action_id, ...args);
    if (done === 'started' || done === 'lost') return { outcome: done };
    return { outcome: 'known', action: actionsOf(done).map(withoutNumber)[0] as Action };
  }

  async restart(claims: RunClaims, action_id: string, attempt: number): Promise<'started' | 'gone' | 'lost'> {
    const restarted = await this.#first(action_id, async (shard) => {
      const held = await this.#heldIn(shard, claims);
      if (held === null) return 'lost';
      const done = await this.#run(shard, 'restart-action', action_id, attempt, held);
      return done === 'gone' ? null : (done as 'started' | 'lost');
    });
    return restarted ?? 'gone';
  }

  async finish(action_id: string, attempt: number, { state, status, answer }: ActionOutcome): Promise<void> {
    const args = [attempt, state, status ?? '', answer ?? ''];
    await this.#first(action_id, async (shard) =>
      (await this.#run(shard, 'finish-action', action_id, ...args)) === 1 ? true : null,
    );
  }

  async ofTurn(turn_key: string): Promise<Action[]> {
    const found = await this.#each(async (shard) => {
      const index = shard.names.key('actions-of-turn', turn_key, 'ids');
      return actionsOf(await shard.run('find-actions', [index], 'turn'));
    });
    return found.flat().map(withoutNumber);
  }

  async list(filter: ActionFilter): Promise<Action[]> {
    const found = await this.#each((shard) => this.#listIn(shard, filter));
    const [first = [], ...others] = found;
    const newest = others.length === 0 ? first : found.flat().sort(byNewest).slice(0, filter.limit);
    return newest.map(withoutNumber);
  }

  async #listIn(shard: RedisKeyspace, { who, session, since = 0, limit }: ActionFilter): Promise<Numbered[]> {
    const { names } = shard;
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
    const listed: Numbered[] = [];
    for (let from = 0; listed.length < limit; ) {
      const args = [from, BITE, limit - listed.length, filter];
      const [now, looked, ...found] = (await shard.run('list-actions', [index], ...args)) as Reply[];
      listed.push(...actionsOf([now as Reply, ...found]));
      from += looked as number;
      if ((looked as number) < BITE) break;
    }
    return listed;
  }

  async replaceText(action_id: string, field: string, text: string, value: string): Promise<boolean> {
    const replaced = await this.#first(action_id, async (shard) => {
      const done = await shard.run('replace-action-text', [keyOf(shard, action_id)], field, text, value);
      return done === 1 ? true : null;
    });
    return replaced !== null;
  }

  /**
   * The claims that a script compares, as JSON. With the ids that the daemon makes, the claims are in the shard of the
   * action. If they are in another shard, they are compared here, before the script runs. @returns null if one of them
   * is lost.
   */
  async #heldIn(shard: RedisKeyspace, { session, key }: RunClaims): Promise<string | null> {
    const { session_tag: tag, owner } = session;
    const places = key === null ? [tag] : [tag, placeOfKey(key)];
    if (places.every((place) => this.#redis.at(place) === shard))
      return JSON.stringify({ tag, owner, ...(key !== null && { key: key.key, key_owner: key.owner }) });
    const ofKey = key && this.#redis.at(placeOfKey(key)).names.key('key', key.key, 'claim');
    const held = await Promise.all([
      this.#redis.run('claim-held', [this.#redis.names.key('session', tag, 'claim')], owner),
      ofKey === null ? 1 : this.#redis.run('claim-held', [ofKey], key?.owner ?? ''),
    ]);
    return held.every((one) => one === 1) ? '' : null;
  }

  /**
   * An action is in the shard of its session, and the daemon makes its id for that shard. So the first shard that is
   * searched almost always has the action.
   */
  async #first<T>(action_id: string, look: (shard: RedisKeyspace) => Promise<T | null>): Promise<T | null> {
    const found = await look(this.#redis.at(action_id));
    if (found !== null || !this.#redis.isSharded) return found;
    return (await this.#each(look)).find((one) => one !== null) ?? null;
  }

  #each<T>(ask: (shard: RedisKeyspace) => Promise<T>): Promise<T[]> {
    return Promise.all(this.#redis.shards.map(ask));
  }

  #run(
    shard: RedisKeyspace,
    script: string,
    action_id: string,
    ...args: (string | number)[]
  ): Promise<Reply> {
    return shard.run(script, [keyOf(shard, action_id)], action_id, ...args);
  }
}

function keyOf({ names }: RedisKeyspace, action_id: string): string {
  return names.key('action', action_id, 'record');
}
