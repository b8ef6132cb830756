import { expect, it } from 'vitest';
import { Texts } from '../../../src/daemon/texts/texts.ts';
import { describeSource } from '../../../src/daemon/tools/describe-source.ts';
import type { Sent } from '../../../src/daemon/tools/tool.ts';
import { ConfirmationWorld } from '../../support/confirmation-world.ts';
import { token } from '../../support/tokens.ts';

const URL = 'https://crm.example.com/connect?id=7';

async function open(): Promise<ConfirmationWorld> {
  const source = describeSource(
    {
      kind: 'mcp',
      location: 'tools[0]',
      name: 'crm_*1*',
      server: { url: 'https://crm.example.com/mcp' },
      credentials: 'user',
      headers: {},
      tools: {},
    },
    undefined,
  );
  const texts = new Texts(new Map([['de', { open_page: '{service}: {url} ({host})' }]]));
  const world = await ConfirmationWorld.open({
    texts,
    tool: { source, effect: 'read', confirm: 'never', credentials: 'user' },
  });
  world.answer = async (): Promise<Sent> => ({
    outcome: 'input_required',
    needs: [{ message: 'Connect your account.', url: URL }],
  });
  return world;
}

it('a page that a server wants opened is at the end of the reply, in the words of the daemon', async () => {
  const world = await open();
  const { response } = await world.say('cancel 1004 and 1005', { token: await token({ sub: 'ada' }) });
  const paragraphs = response.split('\n\n');
  expect(paragraphs).toHaveLength(2);
  expect(paragraphs[0]).not.toContain(URL);
  expect(paragraphs[1]).toBe(
    `The service crm\\_\\*1\\* asks you to open this page, at crm.example.com: <${URL}>`,
  );
});

it('a reply shows at most three pages', async () => {
  const world = await open();
  let count = 0;
  world.answer = async (): Promise<Sent> => ({
    outcome: 'input_required',
    needs: [{ message: 'Connect your account.', url: `${URL}${++count}` }],
  });
  const { response } = await world.say('cancel 1 and 2 and 3 and 4', { token: await token({ sub: 'ada' }) });
  expect([count, response.match(/asks you to open this page/g)]).toEqual([
    4,
    expect.objectContaining({ length: 3 }),
  ]);
});

it('a page is shown in the language of the person', async () => {
  const world = await open();
  const ada = await token({ sub: 'ada', claims: { locale: 'de' } });
  const { response } = await world.say('cancel 1004', { token: ada });
  expect(response).toContain(`crm\\_\\*1\\*: <${URL}> (crm.example.com)`);
});
