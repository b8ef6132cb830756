import { describe, expect, it } from 'vitest';
import { answersTo, listChannels } from '../../../../src/cli/init/answers.ts';
import { loadPlugins } from '../../../../src/daemon/channels/load.ts';

// agentd-init(1).

async function bundled() {
  const { plugins } = await loadPlugins({ entries: [], platforms: null, folders: [] });
  return plugins.map(({ plugin }) => plugin);
}

/** Runs `init` with a person who types these answers, and returns the result. */
async function interview(options: Record<string, unknown>, typed: string[] | null) {
  const asked: string[] = [];
  const notes: string[] = [];
  const answers = await answersTo(
    options,
    await bundled(),
    typed && {
      ask: async (question) => {
        asked.push(question.split(/[ ,:]/)[0] ?? '');
        return typed.shift() ?? '';
      },
      note: (text) => notes.push(text),
    },
  );
  return { answers, asked, notes: notes.join('\n') };
}

describe('the questions of agentd init', () => {
  it('are asked one by one, and each is repeated until the answer is valid', async () => {
    const typed = ['Shop', 'webchat,foo', 'webchat', 'shop.example.com', 'https://shop.example.com'];
    const { answers, asked, notes } = await interview({}, [...typed, 'ftp://x', 'https://api.example.com']);
    expect(answers).toEqual({
      name: 'Shop',
      channels: 'webchat',
      origins: 'https://shop.example.com',
      api: 'https://api.example.com',
      model: '',
      server: '',
    });
    expect(asked).toEqual([
      'Name',
      'Channels',
      'Channels',
      'Origins',
      'Origins',
      'Address',
      'Address',
      'Language',
    ]);
    expect(notes).toContain("there is no channel 'foo'\nThe channels are msgbot,");
    expect(notes).toContain('API_BASE_URL=ftp://x is not an http or https address\nRight: an http or https');
  });

  it('ask for the server of a model without a provider, and for the model again if no server is given', async () => {
    const model = { name: 'n', channels: '', origins: '', api: '' };
    const { answers, asked } = await interview(model, ['gpt-4o', '', 'llama3', 'http://127.0.0.1:1/v1']);
    expect(answers).toMatchObject({ model: 'llama3', server: 'http://127.0.0.1:1/v1' });
    expect(asked).toEqual(['Language', 'AGENT_BASE_URL', 'Language', 'AGENT_BASE_URL']);
    expect((await interview(model, ['openai:gpt-4o'])).asked).toEqual(['Language']);
  });

  it('cannot be asked without a terminal, so the error names the option for the server of a model', async () => {
    await expect(interview({ model: 'gpt-4o' }, null)).rejects.toMatchObject({
      exitCode: 2,
      advice: expect.stringContaining('Add --server with the address'),
    });
  });

  it('take the title of a channel, too, as all commands do', async () => {
    const { answers, asked } = await interview({ name: 'n' }, ['website,slack, telegram,webchat']);
    expect(asked).toEqual(['Channels', 'Origins', 'Address', 'Language']);
    expect(listChannels(answers, await bundled())).toEqual(['webchat', 'teamchat', 'msgbot']);
  });

  it.each([
    [{ model: 'provider:' }, 'AGENT_MODEL=provider: does not say where the model runs'],
    [{ model: 'gpt-4o' }, 'AGENT_MODEL=gpt-4o does not say where the model runs'],
    [{ model: 'gpt-4o', server: 'x' }, 'AGENT_BASE_URL=x is not an address'],
    [{ api: 'ftp://x' }, 'API_BASE_URL=ftp://x is not an http or https address'],
    [{ origins: '*' }, 'WEBCHAT_ALLOWED_ORIGINS=* contains * although'],
    [{ channels: 'telex' }, "there is no channel 'telex'"],
  ])('can be answered by options, which are checked, too: %j is refused', async (options, problem) => {
    await expect(interview(options, null)).rejects.toThrow(problem);
  });
});
