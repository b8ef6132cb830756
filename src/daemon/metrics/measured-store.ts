import type { Store } from '../store/store.ts';
import { STORE_PORTS } from '../store/store-ports.ts';
import type { Metrics } from './metrics.ts';

type Method = (...args: unknown[]) => unknown;

/** The same store; it tells the metrics how long each operation took and whether it failed. */
export function measuredStore(store: Store, metrics: Metrics): Store {
  const measured = (operation: string, owner: object, method: Method): Method => {
    return (...args) => {
      const began = performance.now();
      const result = method.apply(owner, args);
      if (!(result instanceof Promise)) return result;
      const end = (error?: unknown) =>
        metrics.storeEnded(operation, (performance.now() - began) / 1000, error);
      result.then(() => end(), end);
      return result;
    };
  };
  const members = new Map<PropertyKey, unknown>([
    ...STORE_PORTS.map((port) => [port, measuredPort(port, store[port], measured)] as const),
    ['beginTurn', measured('beginTurn', store, store.beginTurn as Method)],
    ['commitTurn', measured('commitTurn', store, store.commitTurn as Method)],
  ]);
  return new Proxy(store, {
    get: (_target, name) => (members.has(name) ? members.get(name) : bound(store, name)),
  });
}

/** Backends are classes, also with private members, so what is not measured is asked of the store itself. */
function bound(store: object, name: PropertyKey): unknown {
  const value: unknown = Reflect.get(store, name, store);
  return typeof value === 'function' ? value.bind(store) : value;
}

function measuredPort(
  port: string,
  owner: object | null,
  measured: (operation: string, owner: object, method: Method) => Method,
): object | null {
  if (owner === null) return null;
  const methods = new Map<PropertyKey, Method>();
  return new Proxy(owner, {
    get(_target, name) {
      const value: unknown = Reflect.get(owner, name, owner);
      if (typeof value !== 'function') return value;
      const method = methods.get(name) ?? measured(`${port}.${String(name)}`, owner, value as Method);
      methods.set(name, method);
      return method;
    },
  });
}
