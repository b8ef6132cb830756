import type { SettingProblem } from '../settings/problem.ts';
import type { Kernel, Kind, Tx } from './kernels/kernel.ts';
import { stepsOf } from './steps-of.ts';

/**
 * Requests to daemons to read their configuration again, and the answers of the daemons. An administrator may be on
 * another machine than a daemon, so they meet in the store.
 */
export interface ReloadStore {
  /** Asks all daemons on this store to reload. A request is kept for REQUEST_MS; at most REQUESTS_MAX, the newest. */
  request(reload_id: string): Promise<void>;
  /** The requests that this daemon has not answered, oldest first. */
  open(replica_id: string): Promise<string[]>;
  /** Stores the answer of a daemon. No effect if the request is no longer kept. */
  answer(reload_id: string, answer: ReloadAnswer): Promise<void>;
  /** The answers so far, in no particular order. */
  answers(reload_id: string): Promise<ReloadAnswer[]>;
  /**
   * Calls the listener after a request, possibly never: a daemon must also look regularly.
   * @returns a function that ends this.
   */
  watch(hear: () => void): () => void;
}

export interface ReloadAnswer {
  replica_id: string;
  host: string;
  pid: number;
  report: ReloadReport;
}

/** The result of a reload. It has names of settings, files and tools, but no values of settings. */
export interface ReloadReport {
  /**
   * `changed`: everything in `changes` is in use. `unchanged`: there was nothing to take over. `refused`: the new
   * configuration has problems. `failed`: there is another reason. After the last two, nothing was taken over.
   */
  outcome: 'changed' | 'unchanged' | 'refused' | 'failed';
  changes: ReloadChanges;
  /** Settings with a new value for which the daemon must be restarted. They keep their values. */
  restart: readonly string[];
  warnings: readonly string[];
  problems: readonly SettingProblem[];
  /** Why it failed, in words; null unless the outcome is `failed`. */
  reason: string | null;
  /** The digest of instructions, tools and model that is in use now. */
  agent_digest: string;
}

export interface ReloadChanges {
  /** Settings, and structured keys of the configuration file. */
  settings: readonly string[];
  /** Paths of files that settings name: instructions, public keys, documents and modules of tools. */
  files: readonly string[];
  /** Names of tools. A tool has changed if its description, its schema, its policy or its address has. */
  tools: Readonly<Record<'added' | 'removed' | 'changed', readonly string[]>>;
}

/** How long a request is kept, ms. */
const REQUEST_MS = 600_000;
/** Maximum number of requests. */
const REQUESTS_MAX = 8;

interface Request {
  reload_id: string;
  requested_at: number;
  answers: readonly ReloadAnswer[];
}

/** All requests are one document: there are few, and a daemon looks for them often. */
interface Requests {
  requests: readonly Request[];
}

const RELOAD: Kind<Requests> = {
  name: 'reload',
  expires: ({ requests }) => (requests.at(-1)?.requested_at ?? 0) + REQUEST_MS,
};
const KEY = 'requests';
const CHANNEL = 'reload';

export function reloadStore(kernel: Kernel): ReloadStore {
  const step = stepsOf(kernel);
  return {
    request: step((tx, reload_id) => {
      const request = { reload_id, requested_at: tx.now, answers: [] };
      tx.put(RELOAD, KEY, { requests: [...keptIn(tx), request].slice(-REQUESTS_MAX) });
      tx.tell(CHANNEL);
    }),
    open: step((tx, replica_id) =>
      keptIn(tx)
        .filter(({ answers }) => answers.every((answer) => answer.replica_id !== replica_id))
        .map((request) => request.reload_id),
    ),
    answer: step((tx, reload_id, answer) => {
      const requests = keptIn(tx);
      if (!requests.some((request) => request.reload_id === reload_id)) return;
      const answered = (request: Request) =>
        request.reload_id === reload_id ? { ...request, answers: [...request.answers, answer] } : request;
      tx.put(RELOAD, KEY, { requests: requests.map(answered) });
    }),
    answers: step((tx, reload_id) => [
      ...(keptIn(tx).find((request) => request.reload_id === reload_id)?.answers ?? []),
    ]),
    watch: (hear) => kernel.watch(CHANNEL, hear),
  };
}

function keptIn(tx: Tx): readonly Request[] {
  const requests = tx.get(RELOAD, KEY)?.requests ?? [];
  return requests.filter(({ requested_at }) => requested_at + REQUEST_MS > tx.now);
}
