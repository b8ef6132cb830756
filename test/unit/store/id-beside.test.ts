import { describe, expect, it } from 'vitest';
import { idBeside } from '../../../src/daemon/store/id-beside.ts';

describe('idBeside', () => {
  it('takes the first id if the store does not spread its records', () => {
    expect(idBeside({ lieTogether: () => true }, 'session', String)).toBe('0');
  });

  it('makes ids until one lies beside the name', () => {
    const store = { lieTogether: (id: string, name: string) => name === 'session' && id === '70' };
    expect(idBeside(store, 'session', String)).toBe('70');
  });

  it('ends even if no id lies beside the name', () => {
    expect(idBeside({ lieTogether: () => false }, 'session', () => 'id')).toBe('id');
  });
});
