import { markOf } from '../../identity/seal.ts';
import { tagOf } from '../../session/session.ts';
import type { StoredToken } from '../stored-tokens.ts';
import type { MemoryContext } from './context.ts';
import { findSession } from './sessions.ts';

/** `Store.countTokens`. */
export function countTokens(context: MemoryContext, prefix: string): number {
  const args = [...context.state.actions.values()].map(({ action }) => action.args);
  const tokens = tokensOf(context).map(({ token }) => token);
  return [...tokens, ...args].filter((text) => text.startsWith(prefix)).length;
}

/** `Store.storedTokens`. */
export function listTokens(context: MemoryContext, unlike: string): StoredToken[] {
  return [...tokensOf(context), ...actionTexts(context)].filter(({ token }) => !token.startsWith(unlike));
}

/** `Store.countSeals`. */
export function countSeals(context: MemoryContext): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { token } of [...tokensOf(context), ...actionTexts(context)])
    counts.set(markOf(token), (counts.get(markOf(token)) ?? 0) + 1);
  return counts;
}

function actionTexts({ state }: MemoryContext): StoredToken[] {
  return [...state.actions.values()].flatMap(({ action }) =>
    (['answer', 'summary', 'args'] as const).flatMap((field) => {
      const { action_id, [field]: token } = action;
      return token === null ? [] : { kind: 'action' as const, action_id, field, token };
    }),
  );
}

/** The tokens of links, sessions and streams. Expired tokens were deleted before. */
function tokensOf({ state }: MemoryContext): StoredToken[] {
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
  if (found.kind === 'action') {
    const action = context.state.actions.get(found.action_id)?.action;
    if (action?.[found.field] !== found.token) return false;
    action[found.field] = value;
    return true;
  }
  const holder = holderOf(context, found);
  if (holder?.token !== found.token) return false;
  holder.token = value;
  return true;
}

/** The record that contained the token. It may contain a different token now. Undefined if the record was deleted. */
function holderOf(
  context: MemoryContext,
  found: Exclude<StoredToken, { kind: 'action' }>,
): { token: string | null } | undefined {
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
