import type { Store } from '../store/store.ts';
import type { Middleware } from './exchange.ts';

/** Refuses messages (POST requests) while the store is almost full. Answers can still be stored and read. */
export function expectRoom(store: Pick<Store, 'expectRoom'>): Middleware {
  return ({ state: { route } }, next) => {
    if (route.channel !== null && route.method === 'POST') store.expectRoom();
    return next();
  };
}
