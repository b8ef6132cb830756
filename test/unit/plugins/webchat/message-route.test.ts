import { expect, it } from 'vitest';
import webchat from '../../../../plugins/webchat/index.ts';
import { readMessage, readToken } from '../../../../src/channel/read-message.ts';

/** The route of messages, with settings of the channel. Each conversation ends with this event. */
async function messageRoute(event: object = {}, settings: object = {}) {
  const path = '/api/chat';
  const scope = {
    settings: { WEBCHAT_WEBHOOK_PATH: path, ...settings },
    readToken,
    readMessage: (request: never, sources: never) =>
      readMessage('webchat', request, sources, () => new Error()),
    translations: () => ({ languages: {}, default_locale: 'en' }),
    async *converse() {
      yield {
        type: 'complete',
        response: 'Hi.',
        session_id: 's',
        message_id: 'm1',
        replayed: false,
        ...event,
      };
    },
  };
  const { routes } = await webchat.create(scope as never);
  const route = routes.find((one) => one.path === path);
  if (!route) throw new Error('there is no such route');
  return { route, paths: routes.map((one) => one.path) };
}

const posted = (body: object, authorization?: string) => {
  return { headers: authorization === undefined ? {} : { authorization }, json: () => body } as never;
};

it('has the token of the header, the body or the metadata, in this order, and the thread of its session', async () => {
  const { route } = await messageRoute();
  const body = { jwt_token: 'b', metadata: { jwt_token: 'm' }, session_id: 's' };
  expect(route.token?.(posted(body, 'Bearer h'))).toBe('h');
  expect(route.token?.(posted(body))).toBe('b');
  expect(route.token?.(posted({ metadata: body.metadata }))).toBe('m');
  expect(route.thread?.(posted(body))).toBe('s');
  expect(route).toMatchObject({ method: 'POST', contentType: 'application/json', cors: true, limited: true });
});

it('is answered with the reply, its id, and whether it is the first answer again', async () => {
  const { route } = await messageRoute({ replayed: true });
  const answer = await route.handle(posted({ user_id: 'u', message: 'Hello' }));
  expect(answer).toMatchObject({
    headers: { 'Idempotency-Replayed': 'true' },
    body: {
      ...{ response: 'Hi.', session_id: 's' },
      metadata: { platform: 'webchat', user_id: 'u', message_id: 'm1' },
    },
  });
});

it('is served at WEBCHAT_WEBHOOK_PATH only', async () => {
  const { paths } = await messageRoute();
  expect(paths).toContain('/api/chat');
  expect(paths).not.toContain('/webchat/message');
});

it('is beside the page only if that is set', async () => {
  expect((await messageRoute({}, { WEBCHAT_PAGE: false })).paths).not.toContain('/chat');
  expect((await messageRoute({}, { WEBCHAT_PAGE: true })).paths).toContain('/chat');
});
