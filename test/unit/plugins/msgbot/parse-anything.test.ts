import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import msgbot from '../../../../plugins/msgbot/index.ts';
import { parse } from '../../../../plugins/msgbot/parse.ts';
import {
  checkMessage,
  checkMessageId,
  checkReplyTo,
  checkText,
} from '../../../../src/channel/check-message.ts';
import { effort } from '../../../support/effort.ts';
import { BOT, SAMPLES, sample } from './samples.ts';

/** Values that no field is documented to contain, and documented values in the wrong fields. */
const STRANGE: readonly unknown[] = [
  null,
  '',
  ' ',
  '\u0000',
  '\ud800',
  '/service_auth',
  '/service_auth@agentd_bot x',
  '@agentd_bot',
  'a'.repeat(20_000),
  -0,
  0,
  -1,
  1.5,
  2 ** 53,
  Number.MAX_VALUE,
  true,
  [],
  {},
  [null],
  [{ type: 'mention', offset: -1, length: 1e9 }],
  [{ type: 'mention', offset: 0, length: 2 ** 53 }],
  [{ type: 'text_mention', offset: 3, length: 5, user: { id: BOT.id } }],
  JSON.parse('{"__proto__":{"id":1,"is_bot":false},"constructor":null}'),
];

const ODD = fc.oneof(
  fc.anything({ withBigInt: false, withObjectString: true, withNullPrototype: false }),
  fc.constantFrom(...STRANGE),
);

function nodesOf(tree: unknown): number {
  if (typeof tree !== 'object' || tree === null) return 1;
  return Object.values(tree).reduce<number>((sum, item) => sum + nodesOf(item), 1);
}

/** Replaces the node with this number (depth first, from 0). */
function replaceAt(tree: unknown, at: { left: number }, value: unknown): unknown {
  if (at.left-- === 0) return value;
  if (Array.isArray(tree)) return tree.map((item) => replaceAt(item, at, value));
  if (typeof tree !== 'object' || tree === null) return tree;
  return Object.fromEntries(Object.entries(tree).map(([key, item]) => [key, replaceAt(item, at, value)]));
}

/** The problems for which the inbox would refuse the parsed update. */
function refusals(update: unknown, username: string | null): string[] {
  const parsed = parse(update as Record<string, unknown>, { id: BOT.id, username });
  const wrong: string[] = [];
  const note = (problem: string) => void wrong.push(problem);
  if (parsed.kind === 'message')
    return checkMessage(parsed.message, msgbot, 'message').map(({ field, message }) => `${field} ${message}`);
  if (parsed.kind === 'edit') {
    checkText(parsed.edited.text, note);
    checkMessageId(parsed.edited.message_id, note);
  }
  if (parsed.kind === 'command' || parsed.kind === 'no-words') {
    checkReplyTo(parsed.place.reply_to, note);
    checkMessageId(parsed.place.message_id, note);
    if (parsed.kind === 'no-words' && parsed.album !== null) checkMessageId(parsed.album, note);
  }
  return wrong;
}

describe('any input of the platform', () => {
  it.each(SAMPLES)(
    'with a strange value in any one field of %s is parsed into a result that the inbox accepts',
    (name) => {
      const update = sample(name);
      for (let node = 1; node < nodesOf(update); node++) {
        for (const value of STRANGE) {
          const received: unknown = JSON.parse(JSON.stringify(replaceAt(update, { left: node }, value)));
          expect(refusals(received, BOT.username), `${node}: ${JSON.stringify(value)?.slice(0, 80)}`).toEqual(
            [],
          );
        }
      }
    },
  );

  it('is parsed without an exception into a result that the inbox accepts', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...SAMPLES),
        fc.array(fc.tuple(fc.nat(60), ODD), { minLength: 1, maxLength: 4 }),
        fc.constantFrom(BOT.username, null),
        (name, changes, username) => {
          let update: unknown = sample(name);
          for (const [left, value] of changes) update = replaceAt(update, { left: left + 1 }, value);
          // An update arrives as JSON, so it has no values that JSON cannot express.
          const received: unknown = JSON.parse(JSON.stringify(update));
          expect(refusals(received, username)).toEqual([]);
        },
      ),
      { numRuns: effort(1000, 3000) },
    );
  });

  it('is parsed even if none of its fields is as documented', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom('update_id', 'message', 'edited_message', '__proto__'), ODD),
        (update) => {
          expect(refusals(update, BOT.username)).toEqual([]);
        },
      ),
      { numRuns: 1000 },
    );
  });
});
