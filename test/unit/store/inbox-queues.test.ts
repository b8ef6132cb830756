import { join } from 'node:path';
import Database from 'better-sqlite3';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { InboxClaim } from '../../../src/daemon/store/inbox.ts';
import { openSqliteStore } from '../../../src/daemon/store/sqlite/store.ts';
import { anInboxMessage } from '../../contract/fixtures.ts';
import { storeReply } from '../../contract/store-writes.ts';
import { stateDirectory } from './state-directory.ts';

const PLATFORMS = ['chat', 'mail'] as const;
const KINDS = ['run', 'send'] as const;
const WHICH = ['fresh', 'interrupted'] as const;

/** The first messages of unclaimed queues, computed only from the table. */
const HEADS = `SELECT id, platform, next_attempt_at AS due_at, iif(state = 'replied', 'send', 'run') AS kind,
    interrupted
  FROM inbox WHERE seq IN (SELECT min(seq) FROM inbox WHERE ended_at IS NULL GROUP BY queue)
    AND queue NOT IN (SELECT queue FROM inbox WHERE ended_at IS NULL AND claim IS NOT NULL)
  ORDER BY interrupted, next_attempt_at, seq`;

interface Head {
  id: string;
  platform: string;
  due_at: number;
  kind: string;
  interrupted: number;
}

it('the in-memory state of the queues equals the table, whether this daemon, an administrator or an earlier daemon wrote the table', async () => {
  const which = fc.nat(100);
  const queue = fc.constantFrom('a', 'b', 'c');
  const step = fc.oneof(
    { weight: 4, arbitrary: fc.record({ enqueue: queue, said: fc.boolean() }) },
    {
      weight: 4,
      arbitrary: fc.record({
        claim: fc.constantFrom(...KINDS),
        which: fc.constantFrom(...WHICH),
        limit: fc.integer({ min: 1, max: 3 }),
      }),
    },
    fc.record({
      end: fc.constantFrom('reply', 'given_back', 'again', 'notify', 'sent', 'failed'),
      which,
      ms: fc.nat(20),
    }),
    fc.record({ change: fc.constantFrom('retry', 'discard'), which, beside: fc.boolean() }),
    fc.record({ pass_ms: fc.nat(20) }),
    fc.constant({ restart: true as const }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const path = join(stateDirectory(), 'agentd.db');
      let now = 1_000_000;
      const open = (role: 'daemon' | 'administrator') =>
        openSqliteStore(path, { role, clock: { now: () => now }, traceRetentionMs: 1 });
      let daemon = open('daemon');
      const administrator = open('administrator');
      const db = new Database(path, { readonly: true });
      const heads = db.prepare<[], Head>(HEADS);
      const ids: string[] = [];
      let claims: InboxClaim[] = [];
      for (const step of steps) {
        const { inbox } = daemon;
        if ('enqueue' in step) {
          const platform = step.enqueue === 'c' ? 'mail' : 'chat';
          const reply = step.said ? 'said' : null;
          const message = anInboxMessage({ platform, queue: step.enqueue, reply });
          ids.push(message.id);
          await inbox.enqueue([message]);
        } else if ('claim' in step) {
          const due = heads.all().filter(({ kind, due_at, interrupted }) => {
            const isWanted = interrupted > 0 === (step.which === 'interrupted');
            return isWanted && kind === step.claim && due_at <= now;
          });
          const claimed = await inbox.claim(step.claim, PLATFORMS, step.limit, step.which);
          expect(claimed.map(({ message }) => message.id)).toEqual(
            due.slice(0, step.limit).map(({ id }) => id),
          );
          claims.push(...claimed);
        } else if ('end' in step) {
          const claim = claims[step.which % (claims.length || 1)];
          if (!claim) continue;
          const failure = 'failed';
          const outcomes = {
            given_back: { kind: 'given_back' },
            again: { kind: 'again', wait_ms: step.ms, failure, counts: true },
            notify: { kind: 'notify', notice: 'sorry', failure },
            sent: { kind: 'sent' },
            failed: { kind: 'failed', failure },
          } as const;
          if (step.end === 'reply') await storeReply(daemon, claim, 'reply');
          else await inbox.settle(claim, outcomes[step.end]);
        } else if ('change' in step) {
          const id = ids[step.which % (ids.length || 1)];
          if (id !== undefined) await (step.beside ? administrator : daemon).inbox[step.change](id);
        } else if ('pass_ms' in step) now += step.pass_ms;
        else {
          await daemon.close();
          daemon = open('daemon');
          claims = [];
          await daemon.inbox.reap();
        }
        for (const kind of KINDS) {
          const of = heads.all().filter((head) => head.kind === kind);
          const due = of.length === 0 ? null : Math.min(...of.map(({ due_at }) => due_at));
          expect(await daemon.inbox.nextDueAt(kind, PLATFORMS)).toBe(due);
          const isHeld = of.some(({ interrupted }) => interrupted > 0);
          expect(await daemon.inbox.holdsInterrupted(kind, PLATFORMS)).toBe(isHeld);
        }
      }
      db.close();
      await Promise.all([daemon.close(), administrator.close()]);
    }),
    { numRuns: 25 },
  );
});
