import type { Change } from '../support/rewrite-sources.ts';

export interface Bug {
  /** The effect of the bug. */
  says: string;
  /** The first seed that finds the bug. */
  seed: number;
  /** Matches the problem that the run reports. */
  shows: RegExp;
  changes: readonly Change[];
}

const COMMIT = 'const outcome = await services.sessions.commit(turn.claim, changes).catch(';
const STORE_REPLY = 'src/daemon/message/store-reply.ts';
const BIND_TOOLS = 'src/daemon/tools/bind-tools.ts';
const JUDGE_ANSWER = 'src/daemon/tools/confirmation/judge-answer.ts';
const TURN_JOURNAL = 'src/daemon/tools/journal/turn-journal.ts';

/** Bugs that the simulation must find, by name. Each removes one rule of the message path or of the memory store. */
export const BUGS: Readonly<Record<string, Bug>> = {
  'commit-by-anyone': {
    says: 'commitTurn does not compare the owner of the claim of the session',
    seed: 487,
    shows: /stored under a claim that has ended|the store rejects/,
    changes: [
      {
        file: 'src/daemon/store/sessions/turns.ts',
        from: "if (!holdsSession(tx, claim)) return 'lost';",
        to: '',
      },
    ],
  },
  'claim-not-exclusive': {
    says: 'a claim that is valid is taken over',
    seed: 3,
    shows: /was claimed by . while the claim of . was valid/,
    changes: [
      {
        file: 'src/daemon/store/claims/claim-state.ts',
        from: '(isValid(found, tx) || !isTurnOf(place, line))',
        to: '!isTurnOf(place, line)',
      },
    ],
  },
  'renewal-ignored': {
    says: 'a renewal does not extend the claim',
    seed: 3,
    shows:
      /while the claim of . was valid|although (?:its claim was valid|its claim is held|all claims are held)/,
    changes: [
      {
        file: 'src/daemon/store/claims/claim-state.ts',
        from: 'return { ...claim, expires_at: claimTime(tx) + CLAIM_MS };',
        to: 'return claim;',
      },
    ],
  },
  'nothing-renewed': {
    says: 'the daemon renews no claim',
    seed: 3,
    shows: /did not renew its claim|failed: interrupted/,
    changes: [
      {
        file: 'src/daemon/store/claims/claim-keeper.ts',
        from: 'this.#cancel ??= this.#renewLater();',
        to: '',
      },
    ],
  },
  'answer-before-commit': {
    says: 'the answer is sent before it is stored',
    seed: 8,
    shows: /was answered with .*, which is not stored/,
    changes: [{ file: STORE_REPLY, from: COMMIT, to: `outlet.complete?.(complete);\n    ${COMMIT}` }],
  },
  'two-commits': {
    says: 'the turn and the answer of its idempotency key are stored by two writes',
    seed: 33,
    shows: /was answered 2 times/,
    changes: [
      {
        file: STORE_REPLY,
        from: '...(key === null ? {} : { answer: { claim: key, answer, ttl_ms: chooseAnswerTtl(key.key) } }),',
        to: '',
      },
      {
        file: STORE_REPLY,
        from: "if (outcome === 'session_ended') line",
        to: "if (key !== null) await services.store.idempotency.finish(key, answer, chooseAnswerTtl(key.key));\n    if (outcome === 'session_ended') line",
      },
    ],
  },
  'accepted-before-stored': {
    says: 'a delivery is accepted before it is stored',
    seed: 1,
    shows: /was accepted, but is not in the inbox/,
    changes: [
      {
        file: 'src/daemon/inbox/enqueue.ts',
        from: 'const outcomes = entries.length === 0 ? [] : await screen(plugin, services, entries);',
        to: "screen(plugin, services, entries).then(() => worker.wake(), () => undefined);\n  const outcomes = entries.map(() => 'kept');",
      },
    ],
  },
  'session-kept-after-failure': {
    says: 'the claim of a session is not released if its message fails',
    seed: 1,
    shows: /work is still in progress|not released: the claim of the session|still has/,
    changes: [
      {
        file: 'src/daemon/message/lock-session.ts',
        from: 'turn.defer(() => services.sessions.release(claim));',
        to: 'turn.defer(async (failed) => { if (!failed) await services.sessions.release(claim); });',
      },
    ],
  },
  'key-kept-after-failure': {
    says: 'the claim of an idempotency key is not released if its message fails',
    seed: 31,
    shows: /claim of the key/,
    changes: [
      {
        file: 'src/daemon/message/deduplicate.ts',
        from: 'if (failed) await store.idempotency.release(claim, { counted: isCounted });',
        to: '',
      },
    ],
  },
  'unlocked-before-commit': {
    says: 'the lock of a session is released before the turn is stored',
    seed: 1,
    shows: /refused for no reason|work is still in progress/,
    changes: [
      {
        file: STORE_REPLY,
        from: COMMIT,
        to: `await services.store.sessions.release(turn.claim);\n    ${COMMIT}`,
      },
    ],
  },
  'no-order-of-arrival': {
    says: 'requests of a thread are not kept in the order of their arrival while their tokens are checked',
    seed: 10,
    shows: /not answered in the order of their arrival/,
    changes: [
      {
        file: 'src/daemon/message/authorize-sender.ts',
        from: 'if (turn.ticket?.reached) await turn.ticket.reached;',
        to: '',
      },
      {
        file: 'src/daemon/message/lock-session.ts',
        from: 'if (turn.ticket?.reached) await turn.ticket.reached;',
        to: '',
      },
    ],
  },
  'session-before-lock': {
    says: 'a run uses the session as it was before it was locked',
    seed: 3,
    shows: /the store rejects|was shown \[.*\], but its session has/,
    changes: [
      {
        file: 'src/daemon/message/lock-session.ts',
        from: 'const named = nameSession(asked, begun.found);',
        to: 'const named = { ...turn, session_id, session_is_generated };',
      },
    ],
  },
  'stale-append': {
    says: 'events are added to a stream under a claim that has ended',
    seed: 79,
    shows: /under a claim that has ended|the store rejects streams\.append/,
    changes: [
      {
        file: 'src/daemon/store/streams.ts',
        from: 'if (heldStream(tx, claim) === null) return false;',
        to: '',
      },
    ],
  },
  'dead-streams-kept': {
    says: 'a stream whose daemon died is not ended',
    seed: 11,
    shows: /did not reap|work is still in progress/,
    changes: [
      {
        file: 'src/daemon/store/streams.ts',
        from: 'if (claim !== null && isValid(claim, tx)) {',
        to: 'if (claim !== null) {',
      },
    ],
  },
  'known-by-delivery': {
    says: 'a message is recognized by its delivery, so each delivery is answered',
    seed: 1,
    shows: /is not in the inbox|was answered \d times/,
    changes: [
      {
        file: 'src/daemon/inbox/enqueue.ts',
        from: 'message_id: message.message_id ?? null,',
        to: 'message_id: request_id,',
      },
    ],
  },
  'newest-first': {
    says: 'the newest message of a queue is answered first',
    seed: 1,
    shows: /not answered in order/,
    changes: [
      {
        file: 'src/daemon/store/inbox/inbox-document.ts',
        from: 'places.push([queueIndex(queue), serial])',
        to: 'places.push([queueIndex(queue), -serial])',
      },
      {
        file: 'src/daemon/store/inbox/inbox-document.ts',
        from: 'serial < known.first[1]',
        to: 'serial > known.first[1]',
      },
      {
        file: 'src/daemon/store/inbox/inbox-document.ts',
        from: 'serial === newest ? null : ',
        to: '',
      },
    ],
  },
  'sent-before-sending': {
    says: 'a reply counts as sent before it is sent',
    seed: 24,
    shows: /was never sent/,
    changes: [
      {
        file: 'src/daemon/inbox/sending.ts',
        from: 'await this.#inTime(() => channel.send({ ...completed, reply_to }));',
        to: "await this.#parts.services.store.inbox.settle(this.#attempt.claim, { kind: 'sent' });\n    await this.#inTime(() => channel.send({ ...completed, reply_to }));",
      },
    ],
  },
  'others-context': {
    says: 'in a shared thread, a message acts for the member who signed in last',
    seed: 114,
    shows: /acts for|has the token of/,
    changes: [
      {
        file: 'src/daemon/message/resolve-principal.ts',
        from: "return credential.reason === 'no_token'",
        to: 'return session.credential_owner',
      },
      {
        file: 'src/daemon/message/resolve-principal.ts',
        from: 'if (message.shared || session.credential_owner.user_id !== message.user_id) {',
        to: 'if (session.owner === null) {',
      },
      {
        file: 'src/daemon/message/resolve-principal.ts',
        from: "if (!session.generated) return { session, principal: nobody('client_chosen_session') };",
        to: '',
      },
    ],
  },
  'guard-per-delivery': {
    says: 'the guard counts a message again for each of its deliveries',
    seed: 39,
    shows: /the guard counts|is not in the inbox/,
    changes: [
      {
        file: 'src/daemon/inbox/enqueue.ts',
        from: 'return { user, session_id, text, answers, message_id, sent_at };',
        to: 'return { user, session_id, text, answers, message_id: null, sent_at };',
      },
    ],
  },
  'append-again': {
    says: 'events whose append failed are added again although they are stored',
    seed: 53,
    shows: /the store rejects (?:streams\.append|commitTurn)/,
    changes: [
      {
        file: 'src/daemon/stream/event-writer.ts',
        from: '(stream?.last_event ?? 0) > this.#stored',
        to: 'false',
      },
    ],
  },
  'failed-in-two-writes': {
    says: 'a failed turn and the end of its message are stored by two writes',
    seed: 293,
    shows: /was stored twice/,
    changes: [
      {
        file: 'src/daemon/inbox/delivery.ts',
        from: '? { failed: { claim, outcome } }',
        to: '? {}',
      },
      {
        file: 'src/daemon/inbox/delivery.ts',
        from: 'if (end.isStored) this.#attempt',
        to: 'if (false) this.#attempt',
      },
    ],
  },
  'written-before-journal': {
    says: 'a write is sent before it is recorded',
    seed: 2,
    shows: /reached the API, but is not in the journal/,
    changes: [
      {
        file: BIND_TOOLS,
        from: 'throwIfEnded();\n  }\n  return sendAttempt(prepared, write, run);',
        to: 'throwIfEnded();\n  }\n  return sent;',
      },
      {
        file: BIND_TOOLS,
        from: 'const unsent = await startAttempt(',
        to: 'const sent = await sendAttempt(prepared, write, run);\n  const unsent = await startAttempt(',
      },
    ],
  },
  'outcome-not-recorded': {
    says: 'the outcome of a write is not recorded',
    seed: 2,
    shows: /the journal has no outcome for|the outcome of .* is unknown, but the reply/,
    changes: [
      {
        file: TURN_JOURNAL,
        from: 'this.#known.unrecorded.set(action_id, record);\n    await record();',
        to: '',
      },
    ],
  },
  'equal-calls-unnumbered': {
    says: 'the key of a call does not include its number among equal calls',
    seed: 6,
    shows: /wanted 2 writes, but 1 reached the API/,
    changes: [
      {
        file: TURN_JOURNAL,
        from: 'const number = last === undefined ? 0 : last + 1;',
        to: 'const number = 0;',
      },
    ],
  },
  'writes-of-anyone': {
    says: 'a write is recorded under a claim of the session that has ended',
    seed: 78,
    shows: /was recorded under a claim that has ended/,
    changes: [
      {
        file: 'src/daemon/store/actions/action-steps.ts',
        from: 'keepsSession(tx, session) && (',
        to: '(',
      },
    ],
  },
  'unknown-repeated': {
    says: 'a write whose outcome is unknown is repeated, even if the tool is not idempotent',
    seed: 21,
    shows: /reached the API \d times/,
    changes: [
      { file: BIND_TOOLS, from: "if (known?.state === 'unknown' && !tool.idempotent)", to: 'if (false)' },
    ],
  },
  'further-unconfirmed': {
    says: 'a repeated run may repeat a write with different words',
    seed: 64,
    shows: /wanted \d writes, but \d reached the API/,
    changes: [{ file: BIND_TOOLS, from: "known?.state === 'new' && known.further", to: 'false' }],
  },
  'another-key-on-retry': {
    says: 'a repeated write carries a different idempotency key',
    seed: 2,
    shows: /is not in the journal|wanted \d writes, but \d reached the API/,
    changes: [
      {
        file: 'src/daemon/tools/perform-call.ts',
        from: '(write?.action_id ?? crypto.randomUUID())',
        to: 'crypto.randomUUID()',
      },
    ],
  },
  'turn-of-each-run': {
    says: 'each run of a message is a separate turn',
    seed: 21,
    shows: /wanted \d writes, but \d reached the API|was told of/,
    changes: [
      {
        file: 'src/daemon/message/keys.ts',
        from: 'return key === null ?',
        to: 'return true ?',
      },
    ],
  },
  'earlier-writes-untold': {
    says: 'a repeated run is not told which writes its turn has already made',
    seed: 21,
    shows: /was told of/,
    changes: [
      {
        file: 'src/daemon/message/run/run.ts',
        from: 'already_done: journal.alreadyDone',
        to: 'already_done: []',
      },
    ],
  },
  'unknown-unsaid': {
    says: 'the reply does not say that the outcome of a write is unknown',
    seed: 3,
    shows: /the outcome of .* is unknown, but the reply/,
    changes: [
      {
        file: 'src/daemon/message/reply/reports.ts',
        from: "this.#isAll || outcome === 'unknown'",
        to: "outcome !== 'unknown'",
      },
    ],
  },
  'confirmed-by-anyone': {
    says: 'an action may be confirmed by somebody other than the person who was asked',
    seed: 53,
    shows: /nobody who was asked had confirmed it/,
    changes: [
      {
        file: JUDGE_ANSWER,
        from: 'if (action.user_id !== facts.user_id || facts.has_changed_hands)',
        to: 'if (facts.has_changed_hands)',
      },
      {
        file: JUDGE_ANSWER,
        from: 'if (action.principal !== facts.confirmer && facts.person !== null)',
        to: 'if (false)',
      },
      {
        file: JUDGE_ANSWER,
        from: "if (action.principal !== facts.confirmer) return 'sign_in';",
        to: '',
      },
    ],
  },
  'declined-and-done': {
    says: 'an action is carried out although the person declined it',
    seed: 32,
    shows: /nobody who was asked had confirmed it/,
    changes: [
      {
        file: 'src/daemon/message/settle-pending.ts',
        from: 'only(confirm.approve ? all : [])',
        to: 'only(all)',
      },
    ],
  },
  'turn-not-fixed': {
    says: 'a repeated run takes up messages that were sent since',
    seed: 124,
    shows: /a turn had the messages/,
    changes: [
      {
        file: 'src/daemon/store/inbox/inbox-steps.ts',
        from: 'const isFixed = collects === undefined || stored.message.collected !== undefined;',
        to: 'const isFixed = collects === undefined;',
      },
    ],
  },
  'rerun-as-another-turn': {
    says: 'the second run of a message does not know what the first one wrote',
    seed: 52,
    shows: /wanted \d writes, but \d reached the API/,
    changes: [
      {
        file: 'src/daemon/message/keys.ts',
        from: '? (rerun?.turn_id ?? turn_id)',
        to: '? turn_id',
      },
    ],
  },
};
