import { Cluster, type Redis } from 'ioredis';
import { Batches } from '../batches.ts';
import { hasWaitAof, type ServerFacts } from './server.ts';

/** How long a replica or the disk may take, ms. */
const WAIT_MS = 2000;

export interface Durability {
  /**
   * Resolves when everything that the client has written is durable. Call it in the same tick as the reply to the last
   * write. Rejects if that takes too long, or if a connection that may have written has been closed: a new connection
   * knows nothing of earlier writes, and a failed master is no longer among the nodes.
   */
  written(): Promise<void>;
}

/** Null if the server cannot report durability: writes are durable because of `appendfsync always`, or not at all. */
export function createDurability(client: Redis | Cluster, server: ServerFacts): Durability | null {
  const replicas = client instanceof Cluster || server.replicas > 0 ? 1 : 0;
  const local = hasWaitAof(server) ? 1 : 0;
  if (local + replicas === 0) return null;
  const waitOn = async ({ node, stream }: Connected) => {
    if (node.stream !== stream) throw new Error('a connection was closed before its writes were durable');
    const acknowledged =
      local === 1
        ? ((await node.call('WAITAOF', local, replicas, WAIT_MS)) as [number, number])
        : [0, Number(await node.call('WAIT', replicas, WAIT_MS))];
    const [onDisk = 0, atReplicas = 0] = acknowledged;
    if (onDisk < local || atReplicas < replicas)
      throw new Error(
        `a write was not durable within ${WAIT_MS} ms (on disk ${onDisk}, at replicas ${atReplicas})`,
      );
  };
  const wait = async (writes: readonly (readonly Connected[])[]) => {
    const connections = new Map(writes.flat().map((connected) => [connected.stream, connected]));
    await Promise.all([...connections.values()].map(waitOn));
    return writes.map(() => undefined);
  };
  // One wait at a time holds up the connection, for all calls that came meanwhile.
  const batches = new Batches(wait, undefined, false);
  return { written: () => batches.add(listConnections(client)) };
}

/** A node and the connection to it at the time of a write. */
interface Connected {
  node: Redis;
  stream: Redis['stream'];
}

function listConnections(client: Redis | Cluster): Connected[] {
  const nodes = client instanceof Cluster ? client.nodes('master').filter(isConnected) : [client];
  return nodes.map((node) => ({ node, stream: node.stream }));
}

/** Whether the client has connected to this node of a Cluster: it connects when the first command is sent. */
function isConnected({ stream }: Redis): boolean {
  return stream !== undefined;
}
