import type { Cluster } from 'ioredis';

/** How long a Cluster that has named its nodes may take until it accepts commands, ms. */
const READY_MS = 10_000;
/** What ioredis reports of each command on a connection that has failed; the reason of the failure says more. */
const CLOSED = 'Connection is closed.';

/**
 * Connects to each master of a Cluster. Rejects if no node answers, or if the Cluster does not accept commands in time.
 * In the latter case, ioredis connects again and again, and its own promise never settles, even if it succeeds later.
 */
export async function connectCluster(cluster: Cluster): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let failure: string | null = null;
  let timer: NodeJS.Timeout | null = null;
  const note = ({ message }: Error, node: string) => {
    if (message !== CLOSED) failure = `${node}: ${message}`;
  };
  const named = () => {
    if (timer !== null) return;
    // From now on, the addresses are those that the nodes announce.
    failure = null;
    timer = setTimeout(() => reject(new Error(notReady(failure))), READY_MS);
  };
  cluster.on('node error', note).on('connect', named).once('ready', resolve);
  cluster
    .connect()
    .catch((error: Error) => reject(failure === null ? error : new Error(`${error.message} (${failure})`)));
  try {
    await promise;
    const answers = cluster.nodes('master').map((node) => node.ping());
    await Promise.all(answers).catch((error) => {
      throw failure === null ? error : new Error(unreachable(failure));
    });
  } finally {
    clearTimeout(timer ?? undefined);
    cluster.off('node error', note).off('connect', named).off('ready', resolve);
  }
}

function notReady(failure: string | null): string {
  return failure === null
    ? 'the Redis Cluster answers, but it is not ready, for example because a slot belongs to no node; `redis-cli CLUSTER INFO` shows its state'
    : unreachable(failure);
}

function unreachable(failure: string): string {
  return `the Redis Cluster answers, but a node cannot be reached at the address that it announces (${failure}); start this node, or set cluster-announce-ip or cluster-announce-hostname on it, so that this machine can reach it`;
}
