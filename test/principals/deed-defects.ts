import type { Defect } from './defects.ts';

/** Defects in the rules of actions that the person must confirm. See `DEFECTS`. */
export const DEED_DEFECTS: Readonly<Record<string, Defect>> = {
  'part-of-list': {
    says: 'a word that confirms only some actions of a list confirms all of them',
    theme: 'deeds',
    shows: /told:|identity: carried out/,
    changes: [
      {
        file: 'src/daemon/texts/texts.ts',
        from: 'return all.filter((number) => (only === null ? !except?.has(number) : only.has(number)));',
        to: 'return all;',
      },
    ],
  },
  'wrong-number': {
    says: 'an answer confirms the action before the one that it names',
    theme: 'deeds',
    shows: /question:|told:|identity:|refused:/,
    changes: [
      {
        file: 'src/daemon/message/settle-pending.ts',
        from: 'numbers.includes(index + 1)',
        to: 'numbers.includes(index + 2)',
      },
    ],
  },
  'rest-after-failure': {
    says: 'the rest of a list is carried out after an action that has failed',
    theme: 'deeds',
    shows: /told:|identity: carried out/,
    changes: [
      {
        file: 'src/daemon/message/reply/carry-out.ts',
        from: "if (!hasSucceeded(done, run)) cause = 'earlier_action';",
        to: '',
      },
    ],
  },
  'declined-open': {
    says: 'a question stays open after its actions were declined',
    theme: 'deeds',
    shows: /told:|question:|identity:|not refused:|leak: the answer to a press that does not count/,
    changes: [
      {
        file: 'src/daemon/message/settle-pending.ts',
        from: 'return (await answerQuestion(settlement, turn, services)) ? settlement : NO_ANSWER;',
        to: 'return answerQuestion === undefined ? NO_ANSWER : settlement;',
      },
    ],
  },
  'member-confirms': {
    says: 'another member of a shared thread answers for the person who was asked',
    theme: 'deeds',
    shows: /told:|question:|identity:|loss:|unanswered:/,
    changes: [
      {
        file: 'src/daemon/tools/confirmation/judge-answer.ts',
        from: 'if (action.user_id !== facts.user_id || facts.has_changed_hands)',
        to: 'if (facts.has_changed_hands)',
      },
    ],
  },
  'delivered-twice': {
    says: 'an answer that its platform delivers twice counts twice',
    theme: 'deeds',
    shows: /told:|question:|identity:|leak:/,
    changes: [
      {
        file: 'src/daemon/store/inbox/inbox-steps.ts',
        from: 'if (names.has(name) || seenMessage(tx, platform, message_id).id !== null) return false;',
        to: 'if (names.has(name)) return false;',
      },
    ],
  },
  'context-confirms': {
    says: 'whoever knows the id of a session confirms with its stored sign-in, without a token',
    theme: 'deeds',
    shows: /identity:|told:/,
    changes: [
      {
        file: 'src/daemon/tools/confirmation/judge-answer.ts',
        from: "return facts.person !== null && !facts.has_token ? 'sign_in' : 'confirmed';",
        to: "return 'confirmed';",
      },
    ],
  },
  'open-after-unlinking': {
    says: 'a question stays open when its chat is signed out',
    theme: 'deeds',
    shows: /told:|question:|identity:/,
    changes: [
      {
        file: 'src/daemon/store/links/links.ts',
        from: '        withdrawActions(tx, userOfKey(key));\n        endQuestion(tx, key);\n',
        to: '        endQuestion(tx, key);\n',
      },
    ],
  },
  'open-after-sign-out': {
    says: 'a question stays open when its person signs out at the site',
    theme: 'deeds',
    shows: /told:|question:|identity:|leak: the answer to a press that does not count/,
    changes: [
      {
        file: 'src/daemon/store/links/sign-out-ends.ts',
        from: 'if (session?.credential_owner?.person !== person) withdrawActions(tx, { action_id });',
        to: 'void session;',
      },
      {
        file: 'src/daemon/store/links/sign-out-ends.ts',
        from: '      withdrawActions(tx, userOfKey(ended.key));\n',
        to: '',
      },
    ],
  },
  'asked-for-ever': {
    says: 'a question does not end after three messages that are no answer',
    theme: 'deeds',
    shows: /question:|told:/,
    changes: [
      {
        file: 'src/daemon/message/reply/open-question.ts',
        from: 'const isLast = counts && repeats + 1 >= REPLIES_MAX;',
        to: 'const isLast = counts && repeats + 1 > REPLIES_MAX;',
      },
    ],
  },
  'receipt-in-thread': {
    says: 'everybody in a shared thread reads what exactly was done for one of them',
    theme: 'deeds',
    shows: /told:|leak:/,
    changes: [
      {
        file: 'src/daemon/message/reply/compose-reply.ts',
        from: '    shared: turn.message.shared ?? false,\n    all:',
        to: '    shared: false,\n    all:',
      },
    ],
  },
  'silent-failure': {
    says: 'the person is not told that an action has failed',
    theme: 'deeds',
    shows: /told:/,
    changes: [
      {
        file: 'src/daemon/message/reply/reports.ts',
        from: "this.#isAll || outcome === 'unknown'",
        to: "(this.#isAll && outcome !== 'failed') || outcome === 'unknown'",
      },
    ],
  },
  'unlisted-receipt': {
    says: 'a web client is not told about actions that have failed',
    theme: 'deeds',
    shows: /told:|question: the reply asks about nothing/,
    changes: [
      {
        file: 'src/daemon/message/reply/reports.ts',
        from: 'return this.#journal.written.map((write) => this.#toReceipt(write));',
        to: "return this.#journal.written.filter(({ state }) => state === 'done').map((write) => this.#toReceipt(write));",
      },
    ],
  },
  'question-to-speaker': {
    says: 'whoever writes next in a session, although as somebody else, is asked to confirm the actions of another',
    theme: 'deeds',
    shows: /question: the reply asks about action \d of .*, but must ask about nothing/,
    changes: [
      {
        file: 'src/daemon/message/settle-pending.ts',
        from: "first.principal === facts.confirmer && (verdict === 'left' || verdict === 'sign_in'),",
        to: "first !== undefined && (verdict === 'left' || verdict === 'sign_in'),",
      },
    ],
  },
  'stopped-silently': {
    says: 'whoever stops an answer that carries out actions is not told that none of them was done',
    theme: 'deeds',
    shows: /question:|told:/,
    changes: [
      {
        file: 'src/daemon/message/reply/compose-reply.ts',
        from: '  if (isConfirmed) turn.outlet.mustReport?.();\n',
        to: '',
      },
    ],
  },
  'stopped-call': {
    says: 'whoever stops an answer while it carries out an action is not told what became of it',
    theme: 'deeds',
    shows: /refused: a message was answered 500 agent_failed/,
    changes: [
      {
        file: 'src/daemon/message/reply/carry-out.ts',
        from: 'if (!turn.stopped?.hasEnded || error instanceof ClaimLost) throw error;',
        to: 'throw error;',
      },
    ],
  },
};
