import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import type { Secret } from '../secret.ts';
import { keysIn } from './encryption-keys.ts';

/**
 * Seals stored tokens with AES-256-GCM. A sealed token names the key that sealed it, and is bound to the record
 * that it belongs to: copied to another row it does not open. Without a key, tokens are stored as they are.
 */
export interface Seal {
  /** @param record what it belongs to: `session:<session id>:<channel user>`, or a link's key. */
  close(token: string, record: string): string;
  /** Null where no key opens it, or it belongs to another record: counts as no token. */
  open(stored: string, record: string): string | null;
}

/** How each sealed token begins; a JWT never does. */
export const SEALED = 'sealed.v1.';

/**
 * @param keys comma-separated base64 of 32 bytes each; the first seals, all open. Undefined: nothing is sealed.
 * @param earlier more keys of the same form that open, and do not seal.
 */
export function createSeal(keys: Secret | undefined, earlier?: Secret): Seal {
  const own = keysOf(keys);
  const ring = [...own, ...keysOf(earlier)];
  const [first] = own;
  return {
    close(token, record) {
      if (!first) return token;
      const iv = randomBytes(12);
      const cipher = createCipheriv('aes-256-gcm', first.key, iv);
      cipher.setAAD(Buffer.from(`${first.id}\n${record}`));
      const sealed = Buffer.concat([iv, cipher.update(token, 'utf8'), cipher.final(), cipher.getAuthTag()]);
      return `${first.mark}${sealed.toString('base64url')}`;
    },
    open(stored, record) {
      // Tokens from before a key was set stay readable.
      if (!stored.startsWith(SEALED)) return stored;
      const [id, body] = stored.slice(SEALED.length).split('.');
      const key = ring.find((candidate) => candidate.id === id);
      const bytes = Buffer.from(body ?? '', 'base64url');
      if (!key || bytes.length < 28) return null;
      const decipher = createDecipheriv('aes-256-gcm', key.key, bytes.subarray(0, 12), { authTagLength: 16 });
      decipher.setAAD(Buffer.from(`${key.id}\n${record}`));
      decipher.setAuthTag(bytes.subarray(-16));
      try {
        return Buffer.concat([decipher.update(bytes.subarray(12, -16)), decipher.final()]).toString('utf8');
      } catch {
        // Authentication failed: altered, or another record's. Both count as no token.
        return null;
      }
    },
  };
}

/** How tokens begin that one of these keys has sealed. */
export function marksOf(keys: Secret | undefined): string[] {
  return keysOf(keys).map(({ mark }) => mark);
}

function keysOf(keys: Secret | undefined) {
  return (keys === undefined ? [] : keysIn(keys)).map((key) => {
    const id = createHash('sha256').update(key).digest('base64url').slice(0, 8);
    return { id, key, mark: `${SEALED}${id}.` };
  });
}
