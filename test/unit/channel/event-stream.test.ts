import { expect, it } from 'vitest';
import { readActions, readReceipts } from '../../../src/channel/event-stream.ts';

it('the actions of a question have the titles of their arguments, as the schema of the tool names them', () => {
  const details = [
    { label: 'order_id', title: 'Order number', value: '"A-1"' },
    { label: 'note', value: '"late"' },
  ];
  expect(
    readActions({ actions: [{ number: 1, title: 'Cancel order', details, confirm_label: 'Cancel it' }] }),
  ).toEqual([
    {
      title: 'Cancel order',
      details: [
        { label: 'Order number', value: '"A-1"' },
        { label: 'note', value: '"late"' },
      ],
      confirm_label: 'Cancel it',
    },
  ]);
});

it('the actions of a question are read from its text if the service sends only that', () => {
  const summary = 'Cancel order "A-1"\nnote: "late: by two days"\nat once';
  expect(readActions({ summary })).toEqual([
    {
      title: 'Cancel order "A-1"',
      details: [
        { label: 'note', value: '"late: by two days"' },
        { label: '', value: 'at once' },
      ],
    },
  ]);
  expect(readActions({})).toEqual([{ title: '', details: [] }]);
});

it.each([null, 7, {}, { details: 'none', title: 7 }, { details: [null, 7] }])(
  'an action %j, which no version of the service sends, is read without an error',
  (action) => {
    expect(readActions({ actions: [action] })).toHaveLength(1);
    expect(readReceipts({ actions: [action] })).toMatchObject({
      actions: [{ outcome: 'unknown' }],
      begins_at: null,
    });
  },
);
