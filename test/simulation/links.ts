import type { Happening } from './scenario.ts';
import { Actor } from './scheduler.ts';
import type { World } from './world.ts';

type Linking = Extract<Happening, { is: 'link' | 'unlink' }>;

/** Links a user of the platform to a person, with a message that the platform delivers until it is acknowledged. */
export function link(world: World, { person, as, daemon, at }: Linking): Promise<void> {
  return deliver(world, daemon, `link ${person} as ${as}`, ({ post }, request) =>
    post.links.link(person, world.tokenOf(as), { message_id: `link-${at}-${person}`, request }),
  );
}

export function unlink(world: World, { person, daemon, at }: Linking): Promise<void> {
  return deliver(world, daemon, `unlink ${person}`, ({ post }) =>
    post.links.unlink(person, { message_id: `unlink-${at}-${person}` }),
  );
}

type Handle = Parameters<NonNullable<World['hosts']['A']['daemon']>['request']>[1];

async function deliver(world: World, to: Linking['daemon'], words: string, handle: Handle): Promise<void> {
  const actor = new Actor('—');
  await world.about(words, async () => {
    for (;;) {
      const gone = new AbortController();
      const asked = { door: 'post', thread: null, token: null, gone: gone.signal } as const;
      const end = (await world.hosts[to].daemon?.request(asked, handle)) ?? { is: 'refused' };
      world.trace.note('post', () => `${words}: ${end.is}`);
      if (end.is === 'answered') return;
      await world.scheduler.point(actor, 1000);
    }
  });
}
