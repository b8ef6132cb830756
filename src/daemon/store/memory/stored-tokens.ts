import { tagOf } from '../../session/session.ts';
import type { StoredToken } from '../stored-tokens.ts';
import type { MemoryContext } from './context.ts';
import { findSession } from './sessions.ts';

/** The tokens of links, sessions and streams. Everything that has expired was dropped before. */
export function listTokens({ state }: MemoryContext): StoredToken[] {
  const links = [...state.links.values()].map(({ key, token }) => ({ kind: 'link' as const, key, token }));
  const sessions = [...state.sessions.values()].flatMap(({ session }) => {
    const token = session.metadata.jwt_context?.token;
    if (token === undefined || session.credential_owner === null) return [];
    return {
      kind: 'session' as const,
      tag: tagOf(session),
      user_id: session.credential_owner.user_id,
      token,
    };
  });
  const streams = [...state.streams.values()].flatMap(({ record: { stream_id, token } }) =>
    token === null ? [] : { kind: 'stream' as const, stream_id, token },
  );
  return [...links, ...sessions, ...streams];
}

/** `Store.replaceToken`. */
export function replaceToken(context: MemoryContext, found: StoredToken, value: string): boolean {
  const holder = holderOf(context, found);
  if (holder?.token !== found.token) return false;
  holder.token = value;
  return true;
}

/** The record that holds the token, or another one by now; undefined if it was deleted. */
function holderOf(context: MemoryContext, found: StoredToken): { token: string | null } | undefined {
  switch (found.kind) {
    case 'link':
      return context.state.links.get(found.key);
    case 'session': {
      const session = findSession(context, found.tag)?.session;
      return session?.credential_owner?.user_id === found.user_id ? session.metadata.jwt_context : undefined;
    }
    case 'stream':
      return context.state.streams.get(found.stream_id)?.record;
  }
}
