import type { Change } from '../support/rewrite-sources.ts';
import type { Rule } from './record.ts';

export interface Defect {
  /** The effect of the defect. */
  says: string;
  /** The rule that a run must find broken. */
  breaks: Rule;
  changes: readonly Change[];
}

/** Defects that the checker must find, by name. Each defect disables one rule of the daemon. */
export const DEFECTS: Readonly<Record<string, Defect>> = {
  'credential-of-another': {
    says: 'the first token that was used is used for everybody',
    breaks: 'credential',
    changes: [
      {
        file: 'src/daemon/tools/choose-credential.ts',
        from: "return { use: 'user', token: new Secret(token), claims: readClaims(payload, stored), whyEnded };",
        to: `const kept = globalThis as unknown as { first?: Secret };
  kept.first ??= new Secret(token);
  return { use: 'user', token: kept.first, claims: readClaims(payload, stored), whyEnded };`,
      },
    ],
  },
  'bound-to-another': {
    says: 'parameters are bound to the first person who called a tool',
    breaks: 'bound',
    changes: [
      {
        file: 'src/daemon/tools/bind-parameters.ts',
        from: 'const value = person && Object.hasOwn(person, claim) ? person[claim] : undefined;',
        to: `const kept = globalThis as unknown as { bound?: PersonClaims | null };
    kept.bound ??= person;
    const value = kept.bound?.[claim];`,
      },
    ],
  },
  'confirmation-skipped': {
    says: 'tools of MCP servers write without a confirmation',
    breaks: 'unconfirmed',
    changes: [
      {
        file: 'src/daemon/tools/bind-tools.ts',
        from: '(isFurther || (await mustAsk(call, counter, run)))',
        to: "(isFurther || (call.tool.source.kind !== 'mcp' && (await mustAsk(call, counter, run))))",
      },
    ],
  },
  'stranger-confirms': {
    says: 'anybody in the session can confirm',
    breaks: 'unconfirmed',
    changes: [
      {
        file: 'src/daemon/tools/confirmation/judge-answer.ts',
        from: 'if (action.user_id !== facts.user_id || facts.has_changed_hands)',
        to: 'if (facts.has_changed_hands)',
      },
      {
        file: 'src/daemon/tools/confirmation/judge-answer.ts',
        from: "if (action.principal !== facts.confirmer && facts.person !== null) return 'withdrawn';",
        to: '',
      },
      {
        file: 'src/daemon/tools/confirmation/judge-answer.ts',
        from: "if (action.principal !== facts.confirmer) return 'sign_in';",
        to: '',
      },
    ],
  },
  'part-of-list': {
    says: 'an answer that confirms only some actions of a list confirms all of them',
    breaks: 'unconfirmed',
    changes: [
      {
        file: 'src/daemon/texts/texts.ts',
        from: 'return all.filter((number) => (only === null ? !except?.has(number) : only.has(number)));',
        to: 'return all;',
      },
    ],
  },
  'other-arguments': {
    says: 'arguments that the summary does not name are not shown to the person',
    breaks: 'unconfirmed',
    changes: [
      {
        file: 'src/daemon/tools/confirmation/question.ts',
        from: 'details: withTitles(leaves, tool, write),',
        to: 'details: tool.summary === null ? withTitles(leaves, tool, write) : [],',
      },
    ],
  },
  'further-write': {
    says: 'a repeated run may repeat a write with different words',
    breaks: 'unconfirmed',
    changes: [
      {
        file: 'src/daemon/tools/journal/turn-journal.ts',
        from: 'further: this.#wroteEarlier(call.tool.name)',
        to: 'further: false',
      },
    ],
  },
  'unknown-repeated': {
    says: 'a write whose outcome is unknown is repeated',
    breaks: 'repeated',
    changes: [
      {
        file: 'src/daemon/tools/bind-tools.ts',
        from: "if (known?.state === 'unknown' && !tool.idempotent) return refusal('outcome_unknown', UNKNOWN);",
        to: '',
      },
    ],
  },
  'token-in-prompt': {
    says: 'results of tools are passed to the model unchanged',
    breaks: 'token',
    changes: [
      {
        file: 'src/daemon/tools/answer.ts',
        from: 'const mask = (text: string) => maskTokens(maskEchoed(text, opened.secrets));',
        to: 'const mask = (text: string) => text;',
      },
    ],
  },
  'unlisted-operation': {
    says: 'an operation that the entry does not list becomes a tool',
    breaks: 'unlisted',
    changes: [
      {
        file: 'src/daemon/tools/openapi/openapi-source.ts',
        from: 'const listed = Object.entries(entry.operations).flatMap(([key, options]) => {',
        to: `const also = entry.name === 'shop' ? { listAllCustomers: {} } : {};
  const listed = Object.entries({ ...entry.operations, ...also }).flatMap(([key, options]) => {`,
      },
    ],
  },
  'equal-calls': {
    says: 'a run may make the same call again and again',
    breaks: 'bounds',
    changes: [
      {
        file: 'src/daemon/tools/bind-tools.ts',
        from: 'const MAX_EQUAL_CALLS = 2;',
        to: 'const MAX_EQUAL_CALLS = 100;',
      },
    ],
  },
  'outcome-lost': {
    says: 'the outcome of a write is not recorded',
    breaks: 'journal',
    changes: [
      {
        file: 'src/daemon/tools/perform-call.ts',
        from: 'if (!run.journal || !write) return;',
        to: 'if (write || !write) return;',
      },
    ],
  },
};

/** The changes of one defect, or of all of them. */
export function changesOf(name: string): Change[] {
  const chosen = name === 'all' ? Object.values(DEFECTS) : [DEFECTS[name]];
  return chosen.flatMap((defect) => {
    if (!defect) throw new Error(`unknown defect ${name}`);
    return defect.changes;
  });
}
