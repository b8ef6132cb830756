import { readMark, type SealCount } from '../../identity/seal.ts';
import { type Session, sessionTag } from '../../session/session.ts';
import { ACTION } from '../actions/action-document.ts';
import { FEEDBACK } from '../feedback.ts';
import type { Kernel, Tx } from '../kernels/kernel.ts';
import { LINK_CODE, type LinkCode } from '../links/link-codes.ts';
import { carryRenewal } from '../links/link-renewal-document.ts';
import { LINK } from '../links/links.ts';
import { RECORDING } from '../recordings.ts';
import { inBatches } from '../scans.ts';
import { putSession, SESSION } from '../sessions/session-document.ts';
import type { Store } from '../store.ts';
import { STREAM } from '../streams.ts';

/** A stored token, a text of an action, or a comment, sealed or not, and the record that contains it. */
export type StoredToken = { token: string } & (
  | { kind: 'link'; key: string }
  /** The tag of the session, and the channel user who brought the token. */
  | { kind: 'session'; tag: string; user_id: string }
  | { kind: 'stream'; stream_id: string }
  | { kind: 'code'; code_id: string; field: 'token' | 'confirmed_token' }
  | { kind: 'action'; action_id: string; field: 'args' | 'summary' | 'answer' }
  | { kind: 'feedback'; turn_id: string }
);

type TokenSteps = Pick<Store, 'countSeals' | 'storedTokens' | 'replaceToken'>;

/** How many records one batch covers. */
const BATCH = 500;

export function tokenSteps(kernel: Kernel): TokenSteps {
  return {
    async countSeals() {
      const counts = new Map<string, SealCount>();
      const count = (mark: string, isToken: boolean) => {
        const { texts, tokens } = counts.get(mark) ?? { texts: 0, tokens: 0 };
        counts.set(mark, { texts: texts + 1, tokens: tokens + (isToken ? 1 : 0) });
      };
      for await (const texts of allTokens(kernel))
        for (const text of texts) count(readMark(text.token), isToken(text));
      for await (const { doc } of kernel.scan(RECORDING)) count(doc.sealed_with, false);
      return counts;
    },
    async *storedTokens(unlike) {
      for await (const batch of inBatches(allTokens(kernel), BATCH))
        yield batch.flat().filter(({ token }) => !token.startsWith(unlike));
    },
    replaceToken: (token, value) => kernel.step((tx) => replaceToken(tx, token, value)),
  };
}

/** Whether it is a token, or the text that stands for its action. */
function isToken(text: StoredToken): boolean {
  return text.kind === 'action' ? text.field === 'args' : text.kind !== 'feedback';
}

/** The tokens of each record that may have some. */
async function* allTokens(kernel: Kernel): AsyncGenerator<readonly StoredToken[]> {
  for await (const { doc } of kernel.scan(LINK)) yield [{ kind: 'link', key: doc.key, token: doc.token }];
  for await (const { doc } of kernel.scan(SESSION)) yield tokensOfSession(doc.session);
  for await (const { doc } of kernel.scan(STREAM)) {
    const { stream_id, token } = doc.record;
    yield token === null ? [] : [{ kind: 'stream', stream_id, token }];
  }
  for await (const { doc } of kernel.scan(LINK_CODE)) yield tokensOfCode(doc);
  for await (const { doc } of kernel.scan(ACTION)) {
    const { action } = doc;
    yield (['answer', 'summary', 'args'] as const).flatMap((field) => {
      const token = action[field];
      return token === null ? [] : [{ kind: 'action' as const, action_id: action.action_id, field, token }];
    });
  }
  for await (const { doc } of kernel.scan(FEEDBACK)) {
    const { turn_id, comment } = doc.feedback;
    yield comment === null ? [] : [{ kind: 'feedback', turn_id, token: comment }];
  }
}

type TokenOf<Kind extends StoredToken['kind']> = Extract<StoredToken, { kind: Kind }>;

export function tokensOfSession(session: Session): TokenOf<'session'>[] {
  const token = session.metadata.jwt_context?.token;
  if (token === undefined || session.credential_owner === null) return [];
  return [{ kind: 'session', tag: sessionTag(session), user_id: session.credential_owner.user_id, token }];
}

export function tokensOfCode(code: LinkCode): TokenOf<'code'>[] {
  return (['token', 'confirmed_token'] as const).flatMap((field) => {
    const token = code[field];
    return token === null ? [] : [{ kind: 'code', code_id: code.code_id, field, token }];
  });
}

/** False if the record was deleted, or contains a different token now. */
function replaceToken(tx: Tx, found: StoredToken, value: string): boolean {
  switch (found.kind) {
    case 'link': {
      const link = tx.get(LINK, found.key);
      if (link?.token !== found.token) return false;
      tx.put(LINK, found.key, { ...link, token: value });
      carryRenewal(tx, found.key, found.token, value);
      return true;
    }
    case 'session': {
      const stored = tx.get(SESSION, found.tag);
      const context = stored?.session.metadata.jwt_context;
      if (!stored || context?.token !== found.token) return false;
      if (stored.session.credential_owner?.user_id !== found.user_id) return false;
      const metadata = { ...stored.session.metadata, jwt_context: { ...context, token: value } };
      putSession(tx, { ...stored, session: { ...stored.session, metadata } });
      return true;
    }
    case 'stream': {
      const stored = tx.get(STREAM, found.stream_id);
      if (stored?.record.token !== found.token) return false;
      tx.put(STREAM, found.stream_id, { ...stored, record: { ...stored.record, token: value } });
      return true;
    }
    case 'code': {
      const code = tx.get(LINK_CODE, found.code_id);
      if (code?.[found.field] !== found.token) return false;
      tx.put(LINK_CODE, found.code_id, { ...code, [found.field]: value });
      return true;
    }
    case 'feedback': {
      const stored = tx.get(FEEDBACK, found.turn_id);
      if (stored?.feedback.comment !== found.token) return false;
      tx.put(FEEDBACK, found.turn_id, { ...stored, feedback: { ...stored.feedback, comment: value } });
      return true;
    }
    case 'action': {
      const stored = tx.get(ACTION, found.action_id);
      if (stored?.action[found.field] !== found.token) return false;
      tx.put(ACTION, found.action_id, { ...stored, action: { ...stored.action, [found.field]: value } });
      return true;
    }
  }
}
