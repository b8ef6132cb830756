import type { Callback, Cluster, Command, Redis } from 'ioredis';

/** A part of the reply to `CLUSTER SLOTS`: the first and the last slot of a range, then its nodes. */
export type SlotRange = [
  from: number,
  to: number,
  ...nodes: [host: string | null, port: number, ...rest: unknown[]][],
];

/**
 * Completes the addresses in which a node names no host: a node that has never met another one does not know its own
 * address, and with `cluster-preferred-endpoint-type unknown-endpoint` no node names a host. Such an address is on the
 * host that the client is connected to. Without this, ioredis leaves these nodes out, so that no node remains.
 * @see https://redis.io/docs/latest/commands/cluster-slots/
 */
export function withCompleteHosts(cluster: Cluster): Cluster {
  cluster.on('+node', (node: Redis) => {
    const host = node.options.host ?? '';
    // ioredis asks for the slots over a connection of its own.
    const duplicate = node.duplicate.bind(node);
    node.duplicate = (...options) => {
      const copy = duplicate(...options);
      const ask = copy.cluster.bind(copy) as (
        name: string,
        callback?: Callback<SlotRange[]>,
      ) => Promise<SlotRange[]>;
      const asked: typeof ask = (name, callback) =>
        ask(name, callback && ((error, ranges) => callback(error, ranges && completeRanges(ranges, host))));
      copy.cluster = asked as Redis['cluster'];
      return copy;
    };
    const send = node.sendCommand.bind(node);
    node.sendCommand = (command: Command, stream) => {
      const reject = command.reject;
      command.reject = (error) => reject(completeRedirection(error, host));
      return send(command, stream);
    };
  });
  return cluster;
}

/** The address of a node that has left the Cluster has neither a host nor a port, and stays as it is. */
export function completeRanges(ranges: readonly SlotRange[], host: string): SlotRange[] {
  return ranges.map(([from, to, ...nodes]) => [
    from,
    to,
    ...nodes.map(([named, port, ...rest]): SlotRange[2] => [
      named || (port === 0 ? '' : host),
      port,
      ...rest,
    ]),
  ]);
}

/** Completes the address in an error such as `MOVED 3999 :6381`. */
export function completeRedirection(error: Error, host: string): Error {
  error.message = error.message.replace(/^((?:MOVED|ASK) \d+ )(?=:\d+$)/, `$1${host}`);
  return error;
}
