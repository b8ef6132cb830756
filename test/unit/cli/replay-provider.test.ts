import { describe, expect, it } from 'vitest';
import { newProvider, providerChange, replaySettings } from '../../../src/daemon/admin/replay.ts';
import { Secret } from '../../../src/daemon/settings/secret.ts';
import type { Settings } from '../../../src/daemon/settings/settings.ts';

const settings = (changes: Partial<Settings>) => changes as Settings;
const SERVER = settings({
  AGENT_MODEL: 'large',
  AGENT_BASE_URL: 'http://model.internal/v1',
  AGENT_API_KEY: new Secret('key-of-the-server'),
  AGENT_FALLBACK_MODEL: 'small',
});
const HOSTED = settings({
  AGENT_MODEL: 'openai:large',
  AGENT_API_KEY: new Secret('key-of-openai'),
  AGENT_PROVIDER_OPTIONS: '{"baseURL": "https://gateway.example.com"}',
  AGENT_PROVIDER_HEADERS: new Secret('{"X-Gateway-Key": "key-of-the-gateway"}'),
});
/** Settings that only the server or the provider of the model may get. */
const OWN = ['AGENT_BASE_URL', 'AGENT_API_KEY', 'AGENT_PROVIDER_OPTIONS', 'AGENT_PROVIDER_HEADERS'] as const;
const recordedBy = (...providers: (string | undefined)[]) => ({
  model_calls: providers.map((provider) => ({
    ...{ model: 'm', provider, prompt: null, output: '', input_tokens: 0, output_tokens: 0 },
  })),
});

describe('the settings of a replay', () => {
  it('have no fallback model', () => {
    expect(replaySettings(SERVER, {})).toEqual({ ...SERVER, AGENT_FALLBACK_MODEL: undefined });
  });

  it('keep address and key for another model of the same server or provider', () => {
    for (const model of ['small', 'llama3:8b', 'mistral:7b'])
      expect(replaySettings(SERVER, { model })).toMatchObject({
        ...{ AGENT_MODEL: model, AGENT_BASE_URL: SERVER.AGENT_BASE_URL, AGENT_API_KEY: SERVER.AGENT_API_KEY },
      });
    expect(replaySettings(HOSTED, { model: 'openai:small' })).toMatchObject({
      ...HOSTED,
      AGENT_MODEL: 'openai:small',
    });
  });

  it.each([
    ['a server', SERVER, 'anthropic:claude'],
    ['a provider', HOSTED, 'anthropic:claude'],
    ['a provider', HOSTED, '@vendor/ai-sdk-provider:large'],
    ['a package', { ...HOSTED, AGENT_MODEL: '@vendor/ai-sdk-provider:large' }, 'openai:large'],
  ])('give nothing that is for %s to another provider', (_, from, model) => {
    const changed = replaySettings(settings({ ...HOSTED, ...from }), { model });
    expect(changed).toMatchObject({ AGENT_MODEL: model, AGENT_RUNTIME: 'llm' });
    for (const name of OWN) expect(changed[name], name).toBeUndefined();
  });
});

describe('the provider to ask about', () => {
  const ask = (from: Settings, model: string | undefined, ...recorded: (string | undefined)[]) =>
    newProvider(replaySettings(from, { model }), from, recordedBy(...recorded));

  it('is one that the recorded run has not used', () => {
    expect(ask(SERVER, 'small', 'openai')).toBeNull();
    expect(ask(HOSTED, undefined, 'openai')).toBeNull();
    expect(ask(HOSTED, 'anthropic:claude', 'openai')).toBe('anthropic');
    expect(ask(SERVER, undefined)).toBe('openai');
  });

  it('is also one that is named with its package', () => {
    const vendor = '@vendor/ai-sdk-provider';
    expect(ask(HOSTED, `${vendor}:large`, 'openai')).toBe(vendor);
    expect(ask(HOSTED, '@other/openai:large', 'openai')).toBe('@other/openai');
    expect(ask(HOSTED, `${vendor}:large`, 'vendor')).toBeNull();
    expect(ask(HOSTED, '@ai-sdk/openai:large', 'openai')).toBeNull();
    expect(providerChange(HOSTED, `${vendor}:large`)).toBe(vendor);
  });

  it('is OpenAI itself if a compatible server made the recording', () => {
    expect(ask(SERVER, 'openai:large', 'openai')).toBe('openai');
  });

  it('is none if no model is called', () => {
    expect(newProvider(settings({}), settings({}), recordedBy())).toBeNull();
  });
});
