import { join } from 'node:path';
import { expect, it } from 'vitest';
import { command } from '../support/command.ts';
import { startAgentd } from '../support/daemon.ts';
import { FakeExchange } from '../support/fake-exchange.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { post } from '../support/webchat.ts';

// Messages that are answered together (COLLECT_MS).

it('answers the same messages together after a kill -9, and names the turn for each of them', async () => {
  const directory = temporaryFolder('collecting');
  const exchange = await FakeExchange.start();
  const env = { ...exchange.env(directory), COLLECT_MS: '400' };
  let daemon = await startAgentd({ directory, env });
  const tell = async (...texts: string[]) => {
    const messages = texts.map((text) => ({ id: text, user: 'u1', thread: 't1', text }));
    const { status } = await post(daemon.url, { messages }, { path: '/telex' });
    expect(status).toBe(200);
  };

  exchange.holdRun = () => new Promise(() => {});
  await tell('one');
  await tell('two');
  await exchange.until(() => exchange.runs.length === 1);
  await daemon.stop('SIGKILL');
  exchange.holdRun = async () => {};
  daemon = await startAgentd({ directory, env });
  await tell('three');
  await exchange.until(() => exchange.taken.length === 2);
  expect(exchange.runs.map(({ text }) => text)).toEqual(['one\ntwo', 'one\ntwo', 'three']);
  expect(exchange.textsTo('t1')).toEqual(['re: one\ntwo', 're: three']);

  const cli = async (...args: string[]) =>
    JSON.parse(
      (await command([...args, '--json'], { env: { ...env, STATE_DIR: join(directory, 'state') } })).stdout,
    );
  const first = await cli('inbox', 'show', 'one');
  const second = await cli('inbox', 'show', 'two');
  expect(second).toMatchObject({ turn_id: first.id, state: 'done', text: 'two' });
  expect(first).toMatchObject({ turn_id: null, collected: [second.id], text: 'one' });
  const { traces } = await cli('explain', 'telex:two');
  expect(traces).toMatchObject([{ turn_id: first.id, collected: [{ id: second.id, message_id: 'two' }] }]);
});
