import type { Change } from '../support/rewrite-sources.ts';

export interface Defect {
  /** What the defect lets somebody do. */
  says: string;
  /** The index of a history of seed 1. One of the 20 histories from this one finds the defect. */
  start: number;
  /** A text that the report contains. */
  shows: RegExp;
  changes: readonly Change[];
}

/** Defects that the histories must find, by name. Each defect disables one rule. */
export const DEFECTS: Readonly<Record<string, Defect>> = {
  'ambient-cookie': {
    says: 'a cookie acts for a person whom a link leads to a stream',
    start: 0,
    shows: /identity: the message acted for \w+, but must act for nobody/,
    changes: [
      {
        file: 'src/daemon/stream/admit-reader.ts',
        from: 'const counted = countsFor(stream, ambient) ? ambient : null;',
        to: 'const counted = personOf(ambient) === null ? null : ambient;',
      },
    ],
  },
  'kept-id': {
    says: 'sign-in keeps the id of the session, which the person who started it knows',
    start: 165,
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
    start: 30,
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
    start: 50,
    shows: /identity: the message acted for \w+, but must act for nobody/,
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
    start: 1720,
    shows: /identity: the message acted for \w+, but must act for nobody/,
    changes: [
      {
        file: 'src/daemon/message/resolve-principal.ts',
        from: ': { session: cleared(session), principal: nobody(credential.reason) };',
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
    start: 165,
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
    start: 3005,
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
    start: 3500,
    shows: /at once:[\s\S]*(?:leak|not refused):/,
    changes: [
      {
        file: 'src/daemon/stream/open-stream.ts',
        from: "if (begun === 'by-another') await admitAgain(services, stream_id, request, { tokens, after });",
        to: '',
      },
    ],
  },
};
