import { describe, expect, it } from 'vitest';
import { idBeside } from '../../../src/daemon/store/id-beside.ts';

describe('idBeside', () => {
  it('returns the first id if the store keeps all records in one place', () => {
    expect(idBeside({ lieTogether: () => true }, 'session', String)).toBe('0');
  });

  it('makes ids until the store keeps an id beside the name', () => {
    const store = { lieTogether: (id: string, name: string) => name === 'session' && id === '70' };
    expect(idBeside(store, 'session', String)).toBe('70');
  });

  it('gives up after some tries, and returns an id that the store does not keep beside the name', () => {
    expect(idBeside({ lieTogether: () => false }, 'session', () => 'id')).toBe('id');
  });
});
