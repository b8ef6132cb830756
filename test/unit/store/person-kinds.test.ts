import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { MemoryState } from '../../../src/daemon/store/kernels/memory/kernel.ts';
import { openMemoryStore } from '../../../src/daemon/store/kernels/memory/store.ts';
import { aResident, fillAsPerson, fillAsUser } from '../../support/person-world.ts';

/** The kinds of which an erasure leaves what it finds, or of which the tests of erasure store nothing, and why. */
const LEFT: Readonly<Record<string, string>> = {
  audit_key: 'a key of the daemon',
  check: 'whether the store can be written',
  erased: 'what was erased, as hashes',
  logout_token: 'only hashes: an erased person stays signed out',
  outage: 'a platform',
  recording_mark: 'only hashes of turns',
  reload: 'a request to the daemon',
  renewal_refusal: 'the issuer',
  replica: 'a daemon',
  sent_answer: 'feedback-contract.ts erases them',
  session_claim: 'turns that are under way',
  sign_out_marks: 'only hashes: an erased person stays signed out',
  sign_out_sid: 'only hashes: an erased person stays signed out',
  site_session: 'only hashes: an erased person can be signed out',
  tool: 'a tool',
};

test('each kind of document is stored in the tests of erasure, or known to be about nobody', async () => {
  const state = new MemoryState();
  const clock = { now: () => Date.UTC(2030, 0, 1) };
  const store = openMemoryStore(state, { clock });
  const ada = aResident('Ada');
  await fillAsPerson(store, clock.now(), ada);
  await fillAsUser(store, clock.now(), ada);

  const sources = globSync('src/daemon/store/**/*.ts')
    .map((path) => readFileSync(path, 'utf8'))
    .join('\n');
  const kinds = [...sources.matchAll(/: Kind<[^=]*> = \{\s*name: '(\w+)'/g)].map(([, name = '']) => name);
  const stored = [...state.documents].filter(([, documents]) => documents.size > 0).map(([name]) => name);
  expect(kinds).toEqual(expect.arrayContaining(stored));
  expect(kinds.filter((name) => !stored.includes(name)).sort()).toEqual(Object.keys(LEFT));
});
