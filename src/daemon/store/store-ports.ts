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
  'feedback',
  'guard',
  'idempotency',
  'ids',
  'inbox',
  'linkCodes',
  'links',
  'linkNotices',
  'linkRenewals',
  'memories',
  'outages',
  'signOutMarks',
  'signOutEnds',
  'recordings',
  'streams',
  'waitingQuestions',
] as const satisfies readonly (keyof Store)[];
