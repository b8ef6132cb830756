import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createSeal } from '../../../src/daemon/identity/seal.ts';
import { Secret } from '../../../src/daemon/settings/secret.ts';
import { hs256 } from './make-token.ts';

const key = () => randomBytes(32).toString('base64');
const old = key();
const sealWith = (...keys: string[]) => createSeal(new Secret(keys.join(',')));
const record = 'session:["s","u"]';
const token = hs256();

describe('a sealed token', () => {
  it('can be opened for its own record, and does not reveal the token', () => {
    const seal = sealWith(old);
    const stored = seal.close(token, record);
    expect(stored).toMatch(/^sealed\.v1\.[\w-]{8}\.[\w-]+$/);
    expect(stored).not.toContain(token.slice(0, 20));
    expect(seal.open(stored, record)).toBe(token);
  });

  it('is different each time', () => {
    const seal = sealWith(old);
    expect(seal.close(token, record)).not.toBe(seal.close(token, record));
  });

  it('cannot be opened for a different record', () => {
    const seal = sealWith(old);
    expect(seal.open(seal.close(token, record), 'session:["s","v"]')).toBeNull();
  });

  it('can be opened after a change of keys as long as the old key is listed', () => {
    const stored = sealWith(old).close(token, record);
    const next = key();
    expect(sealWith(next, old).open(stored, record)).toBe(token);
    expect(sealWith(next, ` ${old} `).open(stored, record)).toBe(token);
    expect(sealWith(next).open(stored, record)).toBeNull();
  });

  it('is sealed with the first key', () => {
    const next = key();
    const stored = sealWith(next, old).close(token, record);
    expect(sealWith(next).open(stored, record)).toBe(token);
    expect(sealWith(old).open(stored, record)).toBeNull();
  });

  it('cannot be opened without a key', () => {
    expect(createSeal(undefined).open(sealWith(old).close(token, record), record)).toBeNull();
  });

  it('cannot be opened if it is shortened, lengthened or changed in any byte', () => {
    const seal = sealWith(old);
    const stored = seal.close(token, record);
    const start = stored.lastIndexOf('.') + 1;
    const bytes = Buffer.from(stored.slice(start), 'base64url');
    const withBody = (body: Buffer) => stored.slice(0, start) + body.toString('base64url');
    for (let length = 0; length < bytes.length; length++) {
      expect(seal.open(withBody(bytes.subarray(0, length)), record)).toBeNull();
      const altered = Buffer.from(bytes);
      altered.writeUInt8((altered[length] ?? 0) ^ 1, length);
      expect(seal.open(withBody(altered), record)).toBeNull();
    }
    expect(seal.open(withBody(Buffer.concat([bytes, Buffer.from([0])])), record)).toBeNull();
  });

  it('can be opened whatever its content is, but random text after `sealed.v1.` cannot be opened', () => {
    const seal = sealWith(old);
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.string(), fc.string(), (text, where, junk) => {
        expect(seal.open(seal.close(text, where), where)).toBe(text);
        expect(seal.open(`sealed.v1.${junk}`, where)).toBeNull();
      }),
    );
  });
});

describe('a token that is not sealed', () => {
  it('is stored unchanged if there is no key', () => {
    const seal = createSeal(undefined);
    expect(seal.close(token, record)).toBe(token);
    expect(seal.open(token, record)).toBe(token);
  });

  it('can still be read after a key was set', () => {
    expect(sealWith(old).open(token, record)).toBe(token);
  });
});

describe('an earlier key, which is no longer in the list', () => {
  it('opens texts and has digests, but seals nothing', () => {
    const next = key();
    const earlier = new Secret(old);
    const seal = createSeal(new Secret(next), earlier);
    expect(seal.open(sealWith(old).close(token, record), record)).toBe(token);
    expect(sealWith(next).open(seal.close(token, record), record)).toBe(token);
    expect(seal.marks).toEqual(sealWith(next, old).marks);
    expect(seal.digests('code', 'links')).toEqual(sealWith(next, old).digests('code', 'links'));
    const off = createSeal(undefined, earlier);
    expect(off.close(token, record)).toBe(token);
    expect(off.marks).toEqual([]);
  });
});

describe('the digests of a text', () => {
  it('are one for each key, first that of the key that seals, so that every order of keys finds a stored one', () => {
    const next = key();
    const [stored, ...further] = sealWith(old).digests('code', 'links');
    expect(further).toEqual([]);
    expect(sealWith(next, old).digests('code', 'links')).toEqual([expect.not.stringMatching(stored), stored]);
    expect(sealWith(next).digests('code', 'links')).not.toContain(stored);
  });

  it('differ by text and purpose, and exist without a key', () => {
    for (const seal of [sealWith(old), createSeal(undefined), createSeal(undefined, new Secret(old))]) {
      const found = [seal.digests('a', 'x'), seal.digests('b', 'x'), seal.digests('a', 'y')];
      expect(new Set(found.map(([digest]) => digest)).size).toBe(3);
    }
    expect(createSeal(undefined).digests('a', 'x')).toEqual(
      createSeal(undefined, new Secret(old)).digests('a', 'x'),
    );
  });
});
