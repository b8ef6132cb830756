import { beforeEach, describe, expect, it } from 'vitest';
import { AUDIT_RETENTION_MS, type AuditStore } from '../../src/daemon/store/audit.ts';
import type { StoreUnderTest } from './store-contract.ts';

const ENDED = { user: 'root', command: 'sessions end', about: 'chat_u1_abc', person: null };
const ERASED = { user: 'ann', command: 'person erase', about: null, person: 'hmac' };

/** The contract of the port `audit`. */
export function describeAudit(current: () => StoreUnderTest): void {
  describe('audit', () => {
    let test: StoreUnderTest;
    let audit: AuditStore;

    beforeEach(() => {
      test = current();
      audit = test.store.audit;
    });

    it('lists lines that were added while the daemon runs, newest first, with the time of the store', async () => {
      const began = test.now();
      await audit.note(ENDED);
      test.advance(1000);
      const beside = (await test.beside()).audit;
      await beside.note(ERASED);
      const lines = [
        { at: began + 1000, ...ERASED },
        { at: began, ...ENDED },
      ];
      expect(await audit.list({ limit: 10 })).toEqual(lines);
      expect(await beside.list({ limit: 1 })).toEqual(lines.slice(0, 1));
      expect(await audit.list({ since: began + 1, limit: 10 })).toEqual(lines.slice(0, 1));
    });

    it('keeps a line for 400 days', async () => {
      await audit.note(ENDED);
      test.advance(AUDIT_RETENTION_MS - 1);
      expect(await audit.list({ limit: 10 })).toHaveLength(1);
      test.advance(1);
      expect(await audit.list({ limit: 10 })).toEqual([]);
    });

    it('has one key of 256 bits, the same for all instances and after a restart', async () => {
      const keys = await Promise.all([audit.key(), (await test.beside()).audit.key()]);
      expect(keys[0]).toHaveLength(32);
      expect(Buffer.from(keys[1] as Uint8Array)).toEqual(Buffer.from(keys[0] as Uint8Array));
      const later = await (await test.restart()).audit.key();
      expect(Buffer.from(later)).toEqual(Buffer.from(keys[0] as Uint8Array));
    });
  });
}
