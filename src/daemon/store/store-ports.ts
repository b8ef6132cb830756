import type { Store } from './store.ts';

/** The ports whose methods are the operations of a store, by name. What stands beside them is asked too often or too rarely. */
export const STORE_PORTS = [
  'sessions',
  'actions',
  'audit',
  'traces',
  'toolDigests',
  'limits',
  'budgets',
  'summaries',
  'guard',
  'idempotency',
  'inbox',
  'links',
  'memories',
  'outages',
  'streams',
] as const satisfies readonly (keyof Store)[];
