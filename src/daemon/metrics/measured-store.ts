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

/** Methods of the store itself that are measured. */
const MEASURED = ['beginTurn', 'commitTurn'];

/** Wraps a store, to report to the metrics how long each operation took and whether it failed. */
export function measuredStore(store: Store, metrics: Metrics): Store {
  const measured = (operation: string, owner: object, method: Method): Method => {
    return (...args) => {
      const began = performance.now();
      const ended = (error?: unknown) =>
        metrics.storeOperationEnded(operation, (performance.now() - began) / 1000, error);
      const result = method.apply(owner, args);
      if (result instanceof Promise) result.then(() => ended(), ended);
      return result;
    };
  };
  const withMeasured = <Owner extends object>(owner: Owner, names: readonly string[], prefix = ''): Owner => {
    const methods = names.map((name) => {
      const method = Reflect.get(owner, name) as Method;
      return [name, measured(prefix + name, owner, method)];
    });
    return { ...owner, ...Object.fromEntries(methods) };
  };
  const ports = measuredPorts(store).map(([name, port]) => [
    name,
    withMeasured(port, methodNames(port), `${name}.`),
  ]);
  return { ...withMeasured(store, MEASURED), ...Object.fromEntries(ports) };
}

/** The names of a port's methods. A port that is an object of a class, such as the memories, inherits them. */
function methodNames(port: object): string[] {
  const inherited: object = Object.getPrototypeOf(port);
  const ofClass = inherited === Object.prototype ? [] : Object.getOwnPropertyNames(inherited);
  return [...Object.keys(port), ...ofClass].filter(
    (name) => name !== 'constructor' && typeof Reflect.get(port, name) === 'function',
  );
}

/** Ports for administration, and those that only probes and regular jobs call: their methods are not measured. */
const UNMEASURED = ['persons', 'reloads', 'replicas', 'maintenance'];

/** The ports of a store whose methods are counted as operations of the store. */
export function measuredPorts(store: Store): [name: string, port: object][] {
  return Object.entries(store).filter(
    ([name, port]) => typeof port === 'object' && port !== null && !UNMEASURED.includes(name),
  );
}
