import { expect, it } from 'vitest';
import type { Kind } from '../../../src/daemon/store/kernels/kernel.ts';
import { Pending } from '../../../src/daemon/store/kernels/optimistic-tx.ts';
import { NOTHING } from '../../../src/daemon/store/kernels/postgres/known.ts';
import { PostgresTx } from '../../../src/daemon/store/kernels/postgres/transaction.ts';

const KIND: Kind<{ n: number }> = {
  name: 'counter',
  expires: () => null,
  indexes: ({ n }) => [['all', n]],
};

it('a step that asks for few documents of an index, and for many, needs one trip for both', () => {
  for (const limits of [
    [100, 1],
    [1, 100],
  ]) {
    const tx = new PostgresTx(NOTHING, [], new Pending());
    for (const limit of limits) tx.first(KIND, 'all', limit);
    const wanted = { what: 'first', of: 'all', n: 100 };
    expect([tx.missing, [...tx.reads.values()]]).toMatchObject([[wanted], [wanted]]);
  }
});
