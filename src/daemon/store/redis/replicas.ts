import type { NewReplica, Replica, ReplicaStore } from '../replicas.ts';
import type { RedisKeyspace } from './keyspace.ts';

export class RedisReplicas implements ReplicaStore {
  readonly #redis: RedisKeyspace;

  constructor(redis: RedisKeyspace) {
    this.#redis = redis;
  }

  async record(replica: NewReplica, ttl_ms: number): Promise<void> {
    await this.#redis.run('record-replica', this.#keys, replica.replica_id, ttl_ms, JSON.stringify(replica));
  }

  async remove(replica_id: string): Promise<void> {
    const [ids = '', facts = ''] = this.#keys;
    const { client } = this.#redis;
    await this.#redis.send(() => Promise.all([client.zrem(ids, replica_id), client.hdel(facts, replica_id)]));
  }

  async list(): Promise<Replica[]> {
    const found = (await this.#redis.run('list-replicas', this.#keys)) as string[];
    return found
      .map((facts): Replica => {
        const space = facts.indexOf(' ');
        return { ...JSON.parse(facts.slice(space + 1)), seen_at: Number(facts.slice(0, space)) };
      })
      .sort((a, b) => b.uptime_ms - a.uptime_ms);
  }

  get #keys(): string[] {
    const { names } = this.#redis;
    return [names.key('replicas', null, 'ids'), names.key('replicas', null, 'facts')];
  }
}
