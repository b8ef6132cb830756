import { describe, expect, it } from 'vitest';
import { decideAfterRun } from '../../../src/daemon/inbox/outcome.ts';
import type { InboxMessage } from '../../../src/daemon/store/inbox/inbox.ts';
import { Texts } from '../../../src/daemon/texts/texts.ts';

const BUDGETS = { INBOX_MAX_ATTEMPTS: 2, INBOX_RUN_SECONDS: 60 };
const message = { session_id: 's', attempts: 1, passing: 0, first_run_at: 0 } as InboxMessage;
const TEXTS = new Texts().in();
const LATE = 61_000;

describe('after a run that failed for a temporary reason', () => {
  it('the person is notified if the time limit for temporary failures has passed', () => {
    const failure = { failure: 'unavailable', kind: 'passing', askedSeconds: 0 } as const;
    expect(decideAfterRun(message, failure, BUDGETS, LATE, TEXTS)).toMatchObject({ kind: 'notify' });
  });
});
