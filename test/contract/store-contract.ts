import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Store } from '../../src/daemon/store/store.ts';
import { describeActions } from './actions-contract.ts';
import { describeAnonymous } from './anonymous-contract.ts';
import { describeAudit } from './audit-contract.ts';
import { describeBeginTurn } from './begin-turn-contract.ts';
import { describeBudgets } from './budgets-contract.ts';
import { describeClock } from './clock-contract.ts';
import { describeCollecting } from './collecting-contract.ts';
import { describeFeedback } from './feedback-contract.ts';
import { aSession } from './fixtures.ts';
import { describeGuard } from './guard-contract.ts';
import { describeIdempotency } from './idempotency-contract.ts';
import { describeIds } from './ids-contract.ts';
import { describeInbox } from './inbox-contract.ts';
import { describeLimits } from './limits-contract.ts';
import { describeLinkCodes } from './link-codes-contract.ts';
import { describeLinkRenewals } from './link-renewals-contract.ts';
import { describeLinks } from './links-contract.ts';
import { describeOutages } from './outages-contract.ts';
import { describePersons } from './persons-contract.ts';
import { describeQuestions } from './questions-contract.ts';
import { describeRecordings } from './recordings-contract.ts';
import { describeReloads } from './reloads-contract.ts';
import { describeReplicas } from './replicas-contract.ts';
import { describeSessions } from './sessions-contract.ts';
import { describeSignOutMarks } from './sign-out-marks-contract.ts';
import { saveSession } from './store-writes.ts';
import { describeStoredTokens } from './stored-tokens-contract.ts';
import { describeStreams } from './streams-contract.ts';
import { describeSummaries } from './summaries-contract.ts';
import { describeToolDigests } from './tool-digests-contract.ts';
import { describeTraces } from './traces-contract.ts';
import { describeTurns } from './turns-contract.ts';
import { describeWaitingQuestions } from './waiting-questions-contract.ts';

/** A store of one backend, with a clock that the suite moves. */
export interface StoreUnderTest {
  store: Store;
  /** Opens another daemon on the same data; the same one if the backend allows only one at a time. */
  another(): Promise<Store>;
  /** Opens another instance on the same data, as an administrator's command does. */
  beside(): Promise<Store>;
  /** Opens the data again as a daemon, as if the process of the first daemon had died. */
  restart(): Promise<Store>;
  /** Whether the backend limits how much anonymous clients store (ANONYMOUS_STORE_BYTES). */
  boundsAnonymous: boolean;
  now(): number;
  /** Moves the clock of the store, ms. */
  advance(ms: number): void;
  /** Closes every instance and removes the data. */
  dispose(): Promise<void>;
}

/** Limits that the suite sets for a new store. */
export interface StoreWanted {
  traceRetentionMs: number;
  actionsRetentionMs: number;
  recordingsMaxBytes: number;
  tracesMax: number;
  refusedMax: number;
  anonymousMax: number;
  inboxMax: number;
  failedMax: number;
}

const HOUR = 60 * 60 * 1000;

export const WANTED: StoreWanted = {
  traceRetentionMs: 7 * 24 * HOUR,
  actionsRetentionMs: 90 * 24 * HOUR,
  recordingsMaxBytes: 50_000,
  tracesMax: 300,
  refusedMax: 100,
  anonymousMax: 200_000,
  inboxMax: 50,
  failedMax: 5,
};

/**
 * The contract of the store's ports, which every backend must pass.
 * @param make creates a new, empty store each time
 */
export function describeStore(name: string, make: (wanted: StoreWanted) => Promise<StoreUnderTest>): void {
  describe(`store contract: ${name}`, () => {
    let test: StoreUnderTest;
    let store: Store;

    beforeEach(async () => {
      test = await make(WANTED);
      store = test.store;
    });
    afterEach(() => test.dispose());

    describeSessions(() => test);
    describeActions(() => test);
    describeQuestions(() => test);
    describeAnonymous(() => test);
    describeAudit(() => test);
    describeBeginTurn(() => test);
    describeTurns(() => test);
    describeTraces(() => test);
    describeLimits(() => test);
    describeBudgets(() => test);
    describeSummaries(() => test);
    describeFeedback(() => test);
    describeGuard(() => test);
    describeIdempotency(() => test);
    describeIds(() => test);
    describeInbox(() => test);
    describeCollecting(() => test);
    describeLinkCodes(() => test);
    describeLinks(() => test);
    describeLinkRenewals(() => test);
    describeOutages(() => test);
    describeReloads(() => test);
    describeReplicas(() => test);
    describePersons(() => test);
    describeSignOutMarks(() => test);
    describeRecordings(() => test);
    describeStoredTokens(() => test);
    describeStreams(() => test);
    describeToolDigests(() => test);
    describeWaitingQuestions(() => test);
    describeClock(() => test);

    describe('as a whole', () => {
      it('is writable and intact, and has a description', async () => {
        await expect(store.check()).resolves.toBeUndefined();
        expect(store.condition()).toEqual({ writable: true, detail: null });
        expect((await store.maintenance?.examine()) ?? []).toEqual([]);
        expect(store.description).not.toBe('');
      });

      it('refuses every operation when it is closed', async () => {
        await store.close();
        await expect(store.sessions.find('s')).rejects.toThrow();
        await expect(store.sessions.claim('s')).rejects.toThrow();
        await expect(store.check()).rejects.toThrow();
      });

      it('shares no objects with its callers', async () => {
        const session = aSession(test.now());
        const { session_id } = session;
        await saveSession(store, session);
        session.platform = 'changed';
        const found = await store.sessions.find(session_id);
        if (found) found.platform = 'changed';
        expect((await store.sessions.find(session_id))?.platform).toBe('chat');
      });
    });
  });
}
