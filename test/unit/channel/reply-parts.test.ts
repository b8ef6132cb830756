import { describe, expect, it } from 'vitest';
import { ReplyParts } from '../../../src/channel/reply-parts.ts';

const PARTS = () => ['one', 'two', 'three'];

/** Accepts parts like a platform, except the parts that it was told to refuse. */
function platform() {
  const taken: string[] = [];
  const refusing = new Set<string>();
  return {
    taken,
    refusing,
    async take(part: string) {
      if (refusing.has(part)) throw new Error(`refused ${part}`);
      taken.push(part);
    },
  };
}

describe('the parts of a reply', () => {
  it('are sent in order, and after a failure, sending continues at the failed part', async () => {
    const { taken, refusing, take } = platform();
    const replies = new ReplyParts();
    refusing.add('two');
    await expect(replies.send('r1', PARTS, take)).rejects.toThrow('refused two');
    refusing.clear();
    await replies.send('r1', PARTS, take);
    expect(taken).toEqual(['one', 'two', 'three']);
  });

  it('are passed on with their position, even after a failure', async () => {
    const places: number[] = [];
    const replies = new ReplyParts();
    let fails = true;
    const sendPart = async (_part: string, index: number) => {
      places.push(index);
      if (index === 1 && fails) throw new Error('refused');
    };
    await expect(replies.send('r1', PARTS, sendPart)).rejects.toThrow('refused');
    fails = false;
    await replies.send('r1', PARTS, sendPart);
    expect(places).toEqual([0, 1, 1, 2]);
  });

  it('are sent once per reply, even if another reply has equal parts', async () => {
    const { taken, take } = platform();
    const replies = new ReplyParts();
    await replies.send('r1', () => ['one'], take);
    await replies.send('r2', () => ['one'], take);
    await replies.send('r1', () => ['one'], take);
    expect(taken).toEqual(['one', 'one']);
  });

  it('are not sent a second time while they are being sent', async () => {
    const { taken, take } = platform();
    const replies = new ReplyParts();
    const { promise: first, resolve: goOn } = Promise.withResolvers<void>();
    const slowly = (part: string) => first.then(() => take(part));
    const attempts = [replies.send('r1', PARTS, slowly), replies.send('r1', PARTS, slowly)];
    goOn();
    await Promise.all(attempts);
    expect(taken).toEqual(['one', 'two', 'three']);
  });

  it('are remembered for the latest 1,000 replies', async () => {
    const { taken, refusing, take } = platform();
    const replies = new ReplyParts();
    refusing.add('two');
    for (let n = 0; n <= 1000; n++) await replies.send(`r${n}`, PARTS, take).catch(() => undefined);
    refusing.clear();
    taken.length = 0;
    await replies.send('r0', PARTS, take);
    expect(taken).toEqual(['one', 'two', 'three']);
    taken.length = 0;
    await replies.send('r1000', PARTS, take);
    expect(taken).toEqual(['two', 'three']);
  });

  describe('with a store that outlives the process', () => {
    function memory() {
      const sent = new Map<string, number>();
      const noted: number[] = [];
      let fails = false;
      return {
        noted,
        fail(failing: boolean) {
          fails = failing;
        },
        sent: async (reply_id: string) => sent.get(reply_id) ?? 0,
        async note(reply_id: string, parts: number) {
          if (fails) throw new Error('the disk is full');
          noted.push(parts);
          sent.set(reply_id, parts);
        },
      };
    }

    it('are sent in another process, beginning with the part that failed', async () => {
      const { taken, refusing, take } = platform();
      const remembered = memory();
      refusing.add('three');
      await expect(new ReplyParts(remembered).send('r1', PARTS, take)).rejects.toThrow('refused three');
      refusing.clear();
      await new ReplyParts(remembered).send('r1', PARTS, take);
      expect(taken).toEqual(['one', 'two', 'three']);
      // The last part is recorded by the caller, together with the end of the reply.
      expect(remembered.noted).toEqual([1, 2]);
    });

    it('are not sent again in this process if recording a part failed', async () => {
      const { taken, take } = platform();
      const remembered = memory();
      const replies = new ReplyParts(remembered);
      remembered.fail(true);
      await expect(replies.send('r1', PARTS, take)).rejects.toThrow('the disk is full');
      remembered.fail(false);
      await replies.send('r1', PARTS, take);
      expect(taken).toEqual(['one', 'two', 'three']);
    });

    it('cause no write if the reply has only one part', async () => {
      const remembered = memory();
      await new ReplyParts(remembered).send('r1', () => ['one'], platform().take);
      expect(remembered.noted).toEqual([]);
    });
  });
});
