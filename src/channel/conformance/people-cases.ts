import assert from 'node:assert/strict';
import { SPELLINGS_MAX } from '../check-message.ts';
import type { JsonObject } from '../index.ts';
import type { Bench } from './bench.ts';
import { withChannel } from './open-channel.ts';
import type { Trial } from './options.ts';
import { attempt, createReply, isSent } from './send-reply.ts';

/** Cases about how a channel names and reaches people, with the people of the plugin's simulator. */
export function peopleCases(): readonly [name: string, trial: Trial][] {
  return [
    ['names its users for links', namesUsers],
    ['reaches its users in a private chat', reachesUsers],
    ['gives addresses that open a chat', givesAddresses],
  ];
}

async function namesUsers(bench: Bench): Promise<void> {
  const { linking } = bench.plugin;
  if (!linking) return;
  for (const user_id of await listUsers(bench)) {
    const ids = linking.idsOf(user_id);
    const what = `idsOf(${JSON.stringify(user_id)})`;
    assert.ok(
      Array.isArray(ids) && ids.length <= SPELLINGS_MAX && ids.every((id) => typeof id === 'string'),
      `${what} must be a list of at most ${SPELLINGS_MAX} texts, not ${JSON.stringify(ids)}`,
    );
    assert.ok(ids.includes(user_id), `${what} must contain the user_id of messages, but is ${ids.join()}`);
    for (const id of ids)
      assert.equal(linking.idsOf(id)[0], ids[0], 'the first spelling must be the same for each spelling');
  }
  assert.deepEqual(linking.idsOf(''), [], 'idsOf() must return an empty list for a text that is no id');
}

/** A text that answers no message, and the session of what the person then writes there. */
async function reachesUsers(bench: Bench): Promise<void> {
  const reply = await createReply(bench, 'direct');
  for (const user of bench.simulator?.who() ?? []) {
    const platform = bench.platform();
    await withChannel(bench, { platform, start: true }, async (open) => {
      const { channel, scope } = open;
      await open.take(bench.delivery({ user, place: bench.places.at(-1) ?? 'direct', number: 1 }));
      await open.take(bench.delivery({ user, number: 2 }));
      const [met, direct] = scope.enqueued;
      assert.ok(met && direct, 'both deliveries must make a message');
      const { user_id, thread_id, channel_id } = direct;
      const reply_to = channel.privateChat?.(user_id) ?? null;
      if (reply_to === null) return;
      // The daemon passes a copy to `send`, which it read from its store.
      const copy = JSON.parse(JSON.stringify(reply_to)) as JsonObject;
      assert.deepStrictEqual(reply_to, copy, 'privateChat() must return JSON');
      isSent(await attempt(open, { ...reply, session_id: null, reply_to: copy }));
      assert.ok(platform.seen.length > 0, 'nobody saw the text in the private chat');
      const session = channel.privateSession?.(user_id, met.thread_id ?? '') ?? null;
      if (session === null) return;
      assert.deepEqual(
        { ...session },
        { thread_id, channel_id },
        'privateSession() must return the thread_id and channel_id of what the user writes in private',
      );
    });
  }
}

async function givesAddresses(bench: Bench): Promise<void> {
  await withChannel(bench, { start: true }, async ({ channel }) => {
    const addresses = { codeUrl: await channel.codeUrl?.('ABCD2345'), chatUrl: channel.chatUrl?.() };
    for (const [member, address] of Object.entries(addresses))
      assert.ok(
        address === undefined || address === null || URL.canParse(address),
        `${member}() must return an address or null, not ${String(address)}`,
      );
  });
}

/** The `user_id` of messages of each person. */
async function listUsers(bench: Bench): Promise<string[]> {
  return withChannel(bench, { start: true }, async (open) => {
    for (const [index, user] of (bench.simulator?.who() ?? []).entries())
      await open.take(bench.delivery({ user, number: index + 1 }));
    return open.scope.enqueued.map(({ user_id }) => user_id);
  });
}
