import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { nextLine, startChild } from './child.ts';
import { openAt, stateDirectory } from './state-directory.ts';

it('after kill -9, the store is intact and has every acknowledged write', async () => {
  const path = join(stateDirectory(), 'agentd.db');
  const writer = startChild('write-for-ever.ts', [path]);
  const acknowledged: string[] = [];
  while (acknowledged.length < 3000) acknowledged.push(await nextLine(writer));
  await writer.kill();
  // Every id that the writer printed before it was killed was acknowledged.
  for (let line = await writer.lines.next(); !line.done; line = await writer.lines.next()) {
    acknowledged.push(line.value);
  }

  const store = openAt(path);
  for (const id of acknowledged) {
    expect((await store.sessions.find(id))?.turns, id).toBe(1);
  }
  expect(await store.sessions.turns(acknowledged.at(-1) ?? '')).toHaveLength(1);
  const db = new Database(path);
  expect(db.pragma('integrity_check', { simple: true })).toBe('ok');
  expect(db.pragma('foreign_key_check')).toEqual([]);
  db.close();
});
