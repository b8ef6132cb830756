import { describe, expect, it } from 'vitest';
import {
  buildQuestion,
  markdownLines,
  plainQuestion,
  QUESTION_MAX,
  questionLine,
  type ToolInQuestion,
} from '../../../../src/daemon/tools/confirmation/question.ts';
import { cpuTime } from '../../../support/cpu-time.ts';

const CANCEL: ToolInQuestion = {
  name: 'shop_cancelOrder',
  title: 'Cancel an order',
  summary: 'Cancel order {id}',
  hide: [],
};

function plain(tool: ToolInQuestion, args: Record<string, unknown>): string {
  const question = buildQuestion(tool, args);
  if (question === null) throw new Error('the question is too long');
  return plainQuestion([question]);
}

describe('the question about a call', () => {
  it('is the summary with its parameters filled in and quoted', () => {
    expect(plain(CANCEL, { id: '1004' })).toBe('Cancel order "1004"');
  });

  it('is the title of the tool if there is no summary, otherwise its name in words', () => {
    expect(plain({ ...CANCEL, summary: null }, {})).toBe('Cancel an order');
    expect(plain({ ...CANCEL, summary: null, title: null }, {})).toBe('shop cancel order');
  });

  it('has the titles of the schema for its arguments, unless two have the same', () => {
    const text = (title: string) => ({ type: 'string', title });
    const body = {
      type: 'object',
      properties: { amount: text('Amount'), note: text('Note'), memo: text('Note') },
    };
    const question = buildQuestion(
      { ...CANCEL, parameters: { type: 'object', properties: { reason: text('R\u200beason'), body } } },
      { id: '1', reason: 'late', body: { amount: '7', note: 'a', memo: 'b' } },
    );
    expect(question?.details).toEqual([
      { label: 'reason', title: 'R\\u200beason', value: '"late"' },
      { label: 'body.amount', title: 'Amount', value: '"7"' },
      { label: 'body.note', value: '"a"' },
      { label: 'body.memo', value: '"b"' },
    ]);
  });

  it('shows every argument that the summary does not name', () => {
    expect(plain(CANCEL, { id: 1004, reason: 'too late', notify: false })).toBe(
      'Cancel order 1004\nreason: "too late"\nnotify: false',
    );
    expect(plain({ ...CANCEL, summary: null }, { id: '1004' })).toBe('Cancel an order\nid: "1004"');
  });

  it('shows each member of an object and each entry of a list', () => {
    const body = { reason: 'late', items: [{ sku: 'A' }, { sku: 'B' }], note: null, tags: [], extra: {} };
    expect(plain(CANCEL, { id: '1', body }).split('\n').slice(1)).toEqual([
      'body.reason: "late"',
      'body.items[0].sku: "A"',
      'body.items[1].sku: "B"',
      'body.note: null',
      'body.tags: []',
      'body.extra: {}',
    ]);
  });

  it('fills in members by dotted names, and then omits only these members from the list', () => {
    const tool = { ...CANCEL, summary: 'Cancel: {body.reason}' };
    expect(plain(tool, { body: { reason: 'late', at: 'noon' } })).toBe('Cancel: "late"\nbody.at: "noon"');
    // A parameter of the same name must not hide the member.
    expect(plain(tool, { 'body.reason': 'shown', body: { reason: 'hidden?' } })).toBe(
      'Cancel: "shown"\nbody.reason: "hidden?"',
    );
  });

  it('shows an object as JSON if the summary names it', () => {
    expect(plain({ ...CANCEL, summary: 'Send {body}' }, { body: { a: 'x' } })).toBe('Send {"a":"x"}');
  });

  it('does not show a hidden argument, unless the summary names it', () => {
    const tool = { ...CANCEL, hide: ['tenant', 'body.by'] };
    const args = { id: '1', tenant: 't', body: { by: 'anna', tenant: 'u' } };
    expect(plain(tool, args)).toBe('Cancel order "1"\nbody.tenant: "u"');
    expect(plain({ ...tool, summary: 'Cancel {id} as {body.by}' }, args)).toBe(
      'Cancel "1" as "anna"\nbody.tenant: "u"',
    );
  });

  it('does not fill in placeholders that are in a value or a title', () => {
    expect(plain({ ...CANCEL, summary: '{id} {reason}' }, { id: '{reason}', reason: 'r' })).toBe(
      '"{reason}" "r"',
    );
    expect(plain({ ...CANCEL, summary: null, title: 'Cancel {id}' }, { id: '1' })).toBe(
      'Cancel {id}\nid: "1"',
    );
  });

  it('fills in nothing from the object prototype', () => {
    expect(plain({ ...CANCEL, summary: 'Do {constructor}' }, {})).toBe('Do –');
  });

  it('quotes names of members that the model could choose', () => {
    const shown = plain(CANCEL, { id: '1', body: { 'a: "x"\nb': 'y' } });
    expect(shown.split('\n')).toEqual(['Cancel order "1"', String.raw`body."a: \"x\"\nb": "y"`]);
  });

  it('isolates values in other scripts, so that none of them reorders what is around it', () => {
    const [FSI, PDI] = ['\u2068', '\u2069'];
    const args = { id: '1004', note: 'שלום 5', amount: 5, מטבע: 'EUR' };
    expect(plain(CANCEL, args).split('\n')).toEqual([
      `Cancel order ${FSI}"1004"${PDI}`,
      `note: ${FSI}"שלום 5"${PDI}`,
      `amount: ${FSI}5${PDI}`,
      `${FSI}"מטבע"${PDI}: ${FSI}"EUR"${PDI}`,
    ]);
    expect(plain({ ...CANCEL, summary: null, title: 'ביטול' }, { id: '1' })).toBe(
      `${FSI}ביטול${PDI}\nid: ${FSI}"1"${PDI}`,
    );
    // A value cannot end its own isolation.
    expect(plain(CANCEL, { id: `ש${PDI}1` })).toBe(`Cancel order ${FSI}"ש\\u20691"${PDI}`);
  });

  it('is one line in the journal', () => {
    const question = buildQuestion(CANCEL, { id: '1004', reason: 'too late' });
    expect(question && questionLine(question)).toBe('Cancel order "1004" (reason: "too late")');
  });

  it('is refused if it exceeds 3,000 characters, and never shortened', () => {
    const room = QUESTION_MAX - 'Cancel order "1"\nreason: ""'.length;
    expect(plain(CANCEL, { id: '1', reason: 'x'.repeat(room) })).toHaveLength(QUESTION_MAX);
    expect(buildQuestion(CANCEL, { id: '1', reason: 'x'.repeat(room + 1) })).toBeNull();
    expect(buildQuestion(CANCEL, { id: '1', reason: '\u200b'.repeat(QUESTION_MAX / 6) })).toBeNull();
  });

  it('is created quickly from any arguments', () => {
    let deep: unknown = 'x';
    for (let depth = 0; depth < 2_000; depth++) deep = [deep];
    const took = cpuTime(() => {
      expect(buildQuestion(CANCEL, { id: 'a.'.repeat(1_000_000) })).toBeNull();
      buildQuestion(CANCEL, { id: 'ä.'.repeat(5_000) });
      buildQuestion(CANCEL, { id: 'ä'.repeat(10_000) });
      buildQuestion(CANCEL, { id: '1', deep });
    });
    expect(took).toBeLessThan(2_000);
  });
});

describe('the question in Markdown', () => {
  it('has the other arguments as a list', () => {
    const question = buildQuestion(CANCEL, { id: '1004', order_reason: 'too late' });
    expect(question && markdownLines([question])).toEqual([
      'Cancel order "1004"',
      '- order_reason: "too late"',
    ]);
  });
});
