import type { Store } from './store.ts';

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
  'guard',
  'idempotency',
  'inbox',
  'linkCodes',
  'links',
  'memories',
  'outages',
  'signOutMarks',
  'recordings',
  'streams',
] as const satisfies readonly (keyof Store)[];
