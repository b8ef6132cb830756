import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import type { CommandRecord } from '../../../src/cli/command.ts';
import { command as audit } from '../../../src/cli/commands/audit.ts';
import { command as showFeedback } from '../../../src/cli/commands/feedback-show.ts';
import { command as resetGuard } from '../../../src/cli/commands/guard-reset.ts';
import { command as discard } from '../../../src/cli/commands/inbox-discard.ts';
import { command as retry } from '../../../src/cli/commands/inbox-retry.ts';
import { command as removeLink } from '../../../src/cli/commands/link-remove.ts';
import { command as restore } from '../../../src/cli/commands/restore.ts';
import { command as endSession } from '../../../src/cli/commands/sessions-end.ts';
import { systemUser } from '../../../src/daemon/admin/who.ts';
import { Secret } from '../../../src/daemon/settings/secret.ts';
import type { SqliteStore } from '../../../src/daemon/store/kernels/sqlite/store.ts';

import { ada, anInboxMessage, aSession, aTurn } from '../../contract/fixtures.ts';
import { keepTurn, saveSession } from '../../contract/store-writes.ts';
import { openAt } from '../store/state-directory.ts';
import { capturedOutput, exitCodeOf } from './captured-output.ts';
import { stubState } from './stub-settings.ts';

// agentd-audit(1) lists the commands that add a line to the audit log. The lines of `person`, `keys`, `memory` and
// `tools` are tested with these commands.

let directory: string;
let store: SqliteStore;
beforeEach(() => {
  directory = stubState({
    TOKEN_ENCRYPTION_KEY: new Secret('off'),
    INBOX_RUN_SECONDS: 60,
    INBOX_SEND_SECONDS: 60,
  });
  store = openAt(join(directory, 'agentd.db'));
});
async function run(command: CommandRecord, args: string[], options: Record<string, unknown> = {}) {
  const { out, stdout } = capturedOutput({ json: true });
  expect(await exitCodeOf(command, { args, options, out })).toBe(0);
  return stdout.text;
}

async function linesOf(...who: string[]) {
  return JSON.parse(await run(audit, who, { limit: 10 })) as Record<string, unknown>[];
}

it('`agentd audit` refuses a channel that does not exist', async () => {
  await expect(linesOf('teamchatt:U1')).rejects.toThrow("there is no channel 'teamchatt'");
  expect(await linesOf('teamchat:U1')).toEqual([]);
});

it('the audit log records the command, the system user and the time, but no session id', async () => {
  const session = aSession(Date.now(), { session_id: 'webchat_ada_0123456789abcdefghijkl' });
  await saveSession(store, session);
  const [first, second] = [anInboxMessage(), anInboxMessage()];
  await store.inbox.enqueue([first, second]);
  await run(endSession, [session.session_id], { yes: true });
  await run(resetGuard, [], { all: true });
  await run(retry, [first.id]);
  await run(retry, [], { failed: true });
  await run(discard, [second.id], { yes: true });
  const lines = await linesOf();
  expect(lines.map(({ command }) => command)).toEqual([
    'inbox discard',
    'inbox retry',
    'inbox retry',
    'guard reset',
    'sessions end',
  ]);
  for (const line of lines) {
    expect(line.user).toBe(systemUser());
    expect(Date.parse(String(line.at))).toBeGreaterThan(Date.now() - 60_000);
    expect(JSON.stringify(line)).not.toContain(session.session_id);
  }
});

it('the audit log records the removal of a link, with an HMAC of the user', async () => {
  const link = { key: 'phonechat:jwt:+15550100123', token: 'a.b.c', person: ada, ttl_ms: 60_000 };
  expect(await store.links.put(link)).toBe(true);
  await run(removeLink, ['phone', '+1 555 010 0123']);
  expect(await store.links.get(link.key)).toBeNull();
  const [line, ...others] = await linesOf('phonechat:+15550100123');
  expect(line).toMatchObject({ command: 'link remove', about: 'phonechat', user: systemUser() });
  expect(JSON.stringify(line)).not.toContain('5550100123');
  expect(others).toEqual([]);
});

it('the audit log records who read a comment, with an HMAC of the person who wrote it', async () => {
  const session = aSession(Date.now(), { owner: ada });
  const turn = aTurn({ person: ada, finished_at: Date.now() });
  await saveSession(store, session);
  await keepTurn(store, session, turn);
  const rating = {
    session_id: session.session_id,
    turn_id: turn.turn_id,
    rating: -1,
    comment: 'Wrong',
  } as const;
  await store.feedback.rate(rating, { kind: 'client', person: ada, namespaces: ['web'] });
  const { turn_id } = turn;
  expect(JSON.parse(await run(showFeedback, [turn_id]))).toMatchObject({
    ...{ message_id: turn_id, rating: -1, comment: 'Wrong', text: 'question', reply: 'answer' },
  });
  const person = expect.stringMatching(/^[\w-]{22}$/);
  expect(await linesOf()).toMatchObject([{ command: 'feedback show', about: turn_id, person }]);
  const { out } = capturedOutput({});
  const missing = { args: ['nothing'], options: {}, out };
  await expect(showFeedback.run(missing)).rejects.toThrow("nobody has rated a message 'nothing'");
});

it('a restore is recorded in the audit log of the restored store', async () => {
  await run(resetGuard, [], { all: true });
  const backup = join(directory, 'copy.db');
  await store.maintenance.backup(backup);
  const session = aSession(Date.now());
  await saveSession(store, session);
  await run(endSession, [session.session_id], { yes: true });
  await store.close();
  await run(restore, [backup]);
  const lines = await linesOf();
  expect(lines.map(({ command, about }) => [command, about])).toEqual([
    ['restore', backup],
    ['guard reset', '--all'],
  ]);
  expect(lines[0]).toMatchObject({ user: systemUser(), person: null });
});
