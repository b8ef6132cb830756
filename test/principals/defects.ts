import type { Change } from '../support/rewrite-sources.ts';
import { DEED_DEFECTS } from './deed-defects.ts';
import type { Theme } from './histories.ts';

export interface Defect {
  /** What the defect lets somebody do. */
  says: string;
  theme: Theme;
  /** A text that the report contains. */
  shows: RegExp;
  changes: readonly Change[];
}

/** Defects that the histories must find, by name. Each defect disables one rule. The first is found soonest. */
export const DEFECTS: Readonly<Record<string, Defect>> = {
  'code-unasked': {
    says: 'a chat is connected although its user was not asked, because the person who made the code confirmed it',
    theme: 'chats',
    shows: /session:|identity:|refused:|unanswered:/,
    changes: [
      {
        file: 'src/daemon/linking/bind-code.ts',
        from: 'if (!code.sender_agreed || code.confirmed_token === null)',
        to: 'if (code.confirmed_token === null)',
      },
      {
        file: 'src/daemon/store/links/link-codes.ts',
        from: "if (code?.state !== 'claimed' || !code.sender_agreed) return 'gone';",
        to: "if (code?.state !== 'claimed') return 'gone';",
      },
    ],
  },
  'code-unconfirmed': {
    says: 'whoever has read a code connects a chat with its person, who does not confirm it',
    theme: 'chats',
    shows: /session: the sender sees done, but must see on_site/,
    changes: [
      {
        file: 'src/daemon/linking/bind-code.ts',
        from: 'if (!code.sender_agreed || code.confirmed_token === null)',
        to: `if (code.sender_agreed && code.confirmed_token === null) {
        await store.linkCodes.confirm(code_id, code.person, code.token);
        continue;
      }
      if (!code.sender_agreed || code.confirmed_token === null)`,
      },
    ],
  },
  'ambient-cookie': {
    says: 'a cookie acts for a person whom a link leads to a stream',
    theme: 'web',
    shows: /identity: the message acted for \w+, but must act for nobody/,
    changes: [
      {
        file: 'src/daemon/stream/admit-reader.ts',
        from: 'const counted = countsFor(stream, ambient) ? ambient : null;',
        to: 'const counted = readPerson(ambient) === null ? null : ambient;',
      },
    ],
  },
  'kept-id': {
    says: 'sign-in keeps the id of the session, which the person who started it knows',
    theme: 'web',
    shows: /session: the reply names a known id, but a new id was expected/,
    changes: [
      {
        file: 'src/daemon/message/resolve-principal.ts',
        from: 'return { ...session, session_id, former_id: session.session_id };',
        to: 'return { ...session, session_id: session.session_id };',
      },
    ],
  },
  'strangers-turns': {
    says: "a stranger's turns are shown in a session whose id the client chose",
    theme: 'web',
    shows: /leak: it contains a message of the \w+/,
    changes: [
      {
        file: 'src/daemon/message/run/history.ts',
        from: 'const reader = { person: principal.person, nobodys: channel.has_platform || session.generated };',
        to: 'const reader = { person: principal.person, nobodys: true };',
      },
    ],
  },
  'any-issuer': {
    says: 'a token that was issued by, or for, another application is accepted',
    theme: 'web',
    shows: /identity: the message acted for \w+, but must act for nobody|refused: it was answered 403/,
    changes: [
      {
        file: 'src/daemon/identity/token-checks.ts',
        from: 'isAny(settings.JWT_ISSUER) || token.payload?.iss === settings.JWT_ISSUER',
        to: 'true',
      },
      {
        file: 'src/daemon/identity/token-checks.ts',
        from: 'isAny(settings.JWT_AUDIENCE) || [token.payload?.aud].flat().includes(settings.JWT_AUDIENCE)',
        to: 'true',
      },
    ],
  },
  'shared-context': {
    says: "in a shared thread, one member's sign-in is used for the message of another",
    theme: 'chats',
    shows: /identity: the message acted for \w+, but must act for nobody/,
    changes: [
      {
        file: 'src/daemon/message/resolve-principal.ts',
        from: ': { session: clearCredential(session), principal: nobody(credential.reason) };',
        to: `: session.credential_owner
          ? {
              session: {
                ...session,
                credential_owner: { ...session.credential_owner, user_id: message.user_id },
              },
              principal: {
                person: session.credential_owner.person,
                claims: claimsOfStoredToken(storedToken(session, services.seal) ?? ''),
              },
            }
          : { session, principal: nobody(credential.reason) };`,
      },
    ],
  },
  'unmarked-turns': {
    says: 'turns from before sign-in, which anybody may have written, count as messages of the person',
    theme: 'web',
    shows: /leak: .* is shown as said by the person, but was not/,
    changes: [
      {
        file: 'src/daemon/message/run/history.ts',
        from: '...(isBeforeSignIn(past, turn) ? { before_sign_in: true as const } : {}),',
        to: '',
      },
    ],
  },
  'others-answer': {
    says: 'anybody who repeats a message gets the answer of its stream, although it belongs to a person',
    theme: 'web',
    shows: /not refused:|leak:/,
    changes: [
      {
        file: 'src/daemon/message/keys.ts',
        from: 'if (reader !== null && reader !== person)',
        to: 'if (reader !== null && reader !== person && false)',
      },
    ],
  },
  'second-reader': {
    says: 'anybody who opens a stream at the same moment as a person reads the answer for that person',
    theme: 'web',
    shows: /at once:[\s\S]*(?:leak|not refused):/,
    changes: [
      {
        file: 'src/daemon/stream/open-stream.ts',
        from: 'if (!hasBegun) await admitAgain(services, stream_id, request, { tokens, after });',
        to: '',
      },
    ],
  },
  'code-used-twice': {
    says: 'a code that was used connects another chat',
    theme: 'chats',
    shows: /session:|refused:|identity:/,
    changes: [
      {
        file: 'src/daemon/store/links/link-codes.ts',
        from: "  close(tx, code, 'used');\n  return 'bound';",
        to: "  change(tx, code, { state: 'waiting', claimant: null, sender_agreed: false, confirmed_token: null });\n  return 'bound';",
      },
    ],
  },
  'code-claimed-twice': {
    says: 'somebody else takes over a code that a chat has claimed',
    theme: 'chats',
    shows: /refused:|session:/,
    changes: [
      {
        file: 'src/daemon/store/links/link-codes.ts',
        from: "  if (code?.state === 'waiting') {\n    withdrawActions",
        to: '  if (code !== null && isOpen(code)) {\n    withdrawActions',
      },
    ],
  },
  'code-of-another': {
    says: 'anybody who knows the id of a code reads and ends it',
    theme: 'chats',
    shows: /not refused: it was answered 20[04], but should have been answered 404/,
    changes: [
      {
        file: 'src/daemon/http/link-routes.ts',
        from: 'if (code?.person !== person) throw noSuchCode();',
        to: 'if (code === null || person === null) throw noSuchCode();',
      },
    ],
  },
  'seen-code': {
    says: 'a code that a group has read stays open',
    theme: 'chats',
    shows: /session:|refused:|identity:/,
    changes: [
      {
        file: 'src/daemon/inbox/take-link-codes.ts',
        from: 'await services.store.linkCodes.endSeen(hash);',
        to: 'void hash;',
      },
    ],
  },
  'forwarded-code': {
    says: 'a code that somebody has forwarded counts',
    theme: 'chats',
    shows: /not refused: a message was answered with question/,
    changes: [
      {
        file: 'src/daemon/inbox/take-link-codes.ts',
        from: 'if (code === null || message.forwarded || message.confirm',
        to: 'if (code === null || message.confirm',
      },
    ],
  },
  'late-word': {
    says: 'a "yes" to what the agent said connects a chat',
    theme: 'chats',
    shows:
      /session: the sender sees (?:on_site|done), but must see question|identity: 1 messages were answered without need/,
    changes: [
      {
        file: 'src/daemon/inbox/take-link-codes.ts',
        from: 'const newer = await newerReply(message, code, services);',
        to: 'const newer = null as Awaited<ReturnType<typeof newerReply>>;',
      },
    ],
  },
  'signed-out-token': {
    says: 'a token is accepted after its person has signed out at the site',
    theme: 'web',
    shows: /not refused:|refused:|identity:/,
    changes: [
      {
        file: 'src/daemon/store/links/sign-out-marks.ts',
        from: 'covers: step(isSignedOut),',
        to: 'covers: async () => false,',
      },
    ],
  },
  'token-without-session': {
    says: 'a token that names no session of the site outlives the sign-out of one',
    theme: 'web',
    shows: /not refused:|refused:|identity:/,
    changes: [
      {
        file: 'src/daemon/store/links/sign-out-marks.ts',
        from: '(mark.sid === null || sid === undefined || mark.sid === hashIds(sid))',
        to: '(mark.sid === null || (sid !== undefined && mark.sid === hashIds(sid)))',
      },
    ],
  },
  'other-tenant': {
    says: 'a sign-out at every tenant leaves those signed in that name one',
    theme: 'chats',
    shows: /not refused:|refused:|identity:/,
    changes: [
      {
        file: 'src/daemon/store/links/sign-out-marks.ts',
        from: '(mark.tenant === null || mark.tenant === hashIds(tenant_id))',
        to: "(mark.tenant === hashIds(tenant_id) || (mark.tenant === null && tenant_id === ''))",
      },
    ],
  },
  'renewed-for-another': {
    says: 'the site renews a token with one of another person',
    theme: 'chats',
    shows: /identity: the message acted for/,
    changes: [
      {
        file: 'src/daemon/renewal/ask-for-token.ts',
        from: "if (verdict.person !== personKey(claims)) return failed('other_person');",
        to: '',
      },
    ],
  },
  'outlived-session': {
    says: 'a link outlives the sign-in of its person, which the site does not renew',
    theme: 'chats',
    shows: /identity: the message acted for/,
    changes: [
      {
        file: 'src/daemon/renewal/ask-for-token.ts',
        from: "if (status === 400 && error === 'invalid_grant') return { outcome: 'ended', reason };",
        to: '',
      },
    ],
  },
  'question-of-another': {
    says: 'a question that waits is answered as the person who signs in next, although another person asked it',
    theme: 'chats',
    shows: /identity: 1 messages were answered without need|identity: the business API was called/,
    changes: [
      {
        file: 'src/daemon/store/links/waiting-questions.ts',
        from: 'const isOthers = [before, owner].some(',
        to: 'const isOthers = [null as PersonKey | null].some(',
      },
    ],
  },
  'question-twice': {
    says: 'a question that waited is answered at every sign-in',
    theme: 'chats',
    shows: /identity: 1 messages were answered without need|identity: the business API was called/,
    changes: [
      {
        file: 'src/daemon/store/links/waiting-questions.ts',
        from: '  tx.delete(WAITING_QUESTION, key);\n  const session = findSession',
        to: '  const session = findSession',
      },
    ],
  },
  ...DEED_DEFECTS,
};
