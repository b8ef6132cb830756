import { StoreUnavailable } from '../errors.ts';
import type { Store } from '../store/store.ts';
import type { StreamServices } from '../stream/stream-services.ts';
import { TimeLimit } from '../time/time-limit.ts';
import type { Gauges, Metrics } from './metrics.ts';

/**
 * How long reading the inbox may take, ms. It is shorter than the time limit of usual scrapes: if a store hangs, the
 * other metrics must still be read, because the errors of the store are among them.
 */
const INBOX_MS = 2000;

type Counted = Pick<
  StreamServices,
  'agents' | 'runs' | 'streaming' | 'broadcaster' | 'store' | 'memory' | 'clock'
>;

/** The gauges of a daemon with these services. */
export function createGauges(services: Counted): Gauges {
  const { runs, streaming, broadcaster, store, memory, clock } = services;
  const counts = async () => {
    const limit = new TimeLimit(clock, INBOX_MS);
    try {
      return await limit.within(store.inbox.counts());
    } catch (error) {
      throw limit.passed ? new StoreUnavailable(error) : error;
    } finally {
      limit.lift();
    }
  };
  return {
    runs: () => ({ running: runs.taken, waiting: runs.waiting }),
    streams: () => ({ running: streaming.size, read: broadcaster.size }),
    agents: () => services.agents.all.map(({ name, digest }) => ({ name, digest: digest() })),
    memoryIsAvailable: () => memory?.isAvailable ?? null,
    lastBackupAt: () => store.maintenance?.lastBackupAt() ?? null,
    inbox: async () =>
      (await counts()).map(({ platform, state, messages, oldest_at }) => ({
        platform,
        state,
        messages,
        oldest_seconds: state === 'failed' ? null : Math.max(0, (clock.now() - oldest_at) / 1000),
      })),
  };
}

type Method = (...args: unknown[]) => unknown;
type Measure = (operation: string, owner: object, method: Method) => Method;

/** Methods of the store itself that are measured. */
const MEASURED = ['beginTurn', 'commitTurn'];

/** Wraps a store, to report to the metrics how long each operation took and whether it failed. */
export function measuredStore(store: Store, metrics: Metrics): Store {
  const measure: Measure = (operation, owner, method) => {
    return (...args) => {
      const began = performance.now();
      const ended = (error?: unknown) =>
        metrics.storeOperationEnded(operation, (performance.now() - began) / 1000, error);
      const result = method.apply(owner, args);
      if (result instanceof Promise) result.then(() => ended(), ended);
      return result;
    };
  };
  const ports = new Map<string, object | null>(
    STORE_PORTS.map((port) => [port, measuredPort(port, store[port], measure)]),
  );
  return createFacade(store, (name, value) => {
    if (ports.has(name)) return ports.get(name);
    if (typeof value !== 'function') return value;
    const method = value as Method;
    return MEASURED.includes(name) ? measure(name, store, method) : method.bind(store);
  });
}

function measuredPort(port: string, owner: object | null, measure: Measure): object | null {
  if (owner === null) return null;
  return createFacade(owner, (name, value) =>
    typeof value === 'function' ? measure(`${port}.${name}`, owner, value as Method) : value,
  );
}

/**
 * An object with the members of `owner`, some of them replaced. It is a plain object, since a `Proxy` has a cost at
 * each access. Members that are not replaced are read from `owner` each time. Backends are classes that may have
 * private members, so a method must be called on `owner`.
 */
function createFacade<Owner extends object>(
  owner: Owner,
  replace: (name: string, value: unknown) => unknown,
): Owner {
  const facade = {};
  for (const name of memberNames(owner)) {
    const read = () => Reflect.get(owner, name);
    const value = read();
    const replaced = replace(name, value);
    Object.defineProperty(
      facade,
      name,
      value === replaced ? { get: read, enumerable: true } : { value: replaced, enumerable: true },
    );
  }
  return facade as Owner;
}

/** The names of an object's own members and of its inherited members. */
function memberNames(owner: object): Set<string> {
  const names = new Set<string>();
  for (
    let level: object | null = owner;
    level !== null && level !== Object.prototype;
    level = Object.getPrototypeOf(level)
  )
    for (const name of Object.getOwnPropertyNames(level)) names.add(name);
  names.delete('constructor');
  return names;
}

/**
 * The ports whose methods are counted as operations of the store. Methods of the other members are called too often or
 * too rarely to be counted.
 */
export const STORE_PORTS = [
  'sessions',
  'actions',
  'audit',
  'traces',
  'toolDigests',
  'limits',
  'budgets',
  'summaries',
  'feedback',
  'guard',
  'idempotency',
  'ids',
  'inbox',
  'linkCodes',
  'links',
  'linkRenewals',
  'memories',
  'outages',
  'signOutMarks',
  'signOutEnds',
  'recordings',
  'streams',
  'waitingQuestions',
] as const satisfies readonly (keyof Store)[];
