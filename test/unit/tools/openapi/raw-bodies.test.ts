import { describe, expect, it } from 'vitest';
import type { ToolRequest } from '../../../../src/daemon/tools/downstream/client.ts';
import type { EncodedBody } from '../../../../src/daemon/tools/downstream/form-body.ts';
import { checkArguments } from '../../../../src/daemon/tools/schema/check-arguments.ts';
import type { JsonSchema, Tool } from '../../../../src/daemon/tools/tool.ts';
import { documentOf, problemsOf, toolsOf } from '../../../support/openapi.ts';

// Bodies that are one text or one file, in the style of real documents. Each is the body of one operation.

const OK = { responses: { default: { description: '' } } };
const KIB = 1024;

function posting(content: object, openapi = '3.0.3', method = 'post', required = true): object {
  const requestBody = { content, required, description: 'The body.' };
  return documentOf({ '/a': { [method]: { operationId: 'a', requestBody, ...OK } } }, { openapi });
}

async function toolOf(...given: Parameters<typeof posting>): Promise<Tool> {
  const [tool] = await toolsOf(posting(...given), { a: {} });
  return tool ?? expect.fail('the operation must become a tool');
}

/** What the tool sends with this body. A text says why it sends nothing. */
async function send(
  tool: Tool,
  body: unknown,
): Promise<Pick<EncodedBody, 'content_type' | 'content'> | string> {
  const checked = checkArguments(tool.parameters, { body });
  if (!checked.ok) return checked.message;
  const unusable = tool.unusable?.(checked.args) ?? null;
  const requests: ToolRequest[] = [];
  const client = {
    request: async (request: ToolRequest) => {
      requests.push(request);
      return { outcome: 'answered', status: 200, body: null };
    },
  };
  const sent = await tool.send(checked.args, { client, idempotency_key: null } as never);
  // A write is refused before the person is asked.
  if (sent.outcome === 'failed') expect(unusable).toBe(sent.message);
  const encoded = requests[0]?.encoded;
  if (encoded === undefined) return unusable ?? 'nothing was sent';
  const { content_type, content } = encoded;
  return { content_type, content: Buffer.from(content as Uint8Array).toString() };
}

const bodyOf = ({ parameters }: Tool) => (parameters.properties as { body: JsonSchema }).body;

describe('a body that is a text', () => {
  it('is sent as it is, with the type in the document', async () => {
    // GitHub: Markdown to be rendered.
    const schema = { type: 'string' };
    const tool = await toolOf({ 'text/plain': { schema }, 'text/x-markdown': { schema } });
    expect(bodyOf(tool)).toEqual({ type: 'string', description: 'The body.' });
    expect(await send(tool, 'Hello **wörld** "7"\n')).toEqual({
      content_type: 'text/plain; charset=utf-8',
      content: 'Hello **wörld** "7"\n',
    });
    expect(await send(tool, { text: 'Hello' })).toBe('The argument `body` must be of type string.');
  });

  it.each([
    ['integer', 150, '150'],
    ['boolean', false, 'false'],
  ])('may be an %s', async (type, value, content) => {
    // Meilisearch: one setting, as `text/plain`.
    const tool = await toolOf({ 'text/plain': { schema: { type } } }, '3.1.0', 'put');
    expect(await send(tool, value)).toEqual({ content_type: 'text/plain; charset=utf-8', content });
    expect(await send(tool, 'many')).toBe(`The argument \`body\` must be of type ${type}.`);
  });

  it.each([
    ['application/xml', 'application/xml'],
    ['text/csv; header=present', 'text/csv; header=present; charset=utf-8'],
    ['text/csv;charset=us-ascii', 'text/csv;charset=us-ascii'],
    ['application/x-ndjson', 'application/x-ndjson'],
    ['image/svg+xml', 'image/svg+xml'],
    ['application/x-yaml', 'application/x-yaml'],
  ])('may have the type %s', async (type, content_type) => {
    expect(await send(await toolOf({ [type]: { schema: { type: 'string' } } }), 'a,b')).toEqual({
      content_type,
      content: 'a,b',
    });
  });

  it('is plain text if the document allows every type of text', async () => {
    const tool = await toolOf({ 'text/*': { schema: { type: 'string' } } });
    expect(await send(tool, 'a')).toMatchObject({ content_type: 'text/plain; charset=utf-8' });
  });

  it('is a text if the document has no schema, and cannot be null', async () => {
    const tool = await toolOf({ 'text/plain': {} });
    expect(bodyOf(tool)).toEqual({ type: 'string', description: 'The body.' });
    const nullable = await toolOf({ 'text/plain': { schema: { type: 'string', nullable: true } } });
    expect(await send(nullable, null)).toBe('The argument `body` must be a text, a number or a boolean.');
  });
});

describe('a body that is a file', () => {
  it.each<[string, object]>([
    ['a binary text', { type: 'string', format: 'binary' }],
    // Xero: attachments.
    ['a base64 text', { type: 'string', format: 'byte' }],
    ['a text', { type: 'string' }],
    ['no type', {}],
    ['a media type', { contentMediaType: 'application/octet-stream' }],
  ])('is given as text or base64: %s', async (_, schema) => {
    const tool = await toolOf({ 'application/octet-stream': { schema } }, '3.1.0');
    expect(Object.keys(bodyOf(tool).properties as object)).toEqual(['text', 'base64']);
    expect(bodyOf(tool).description).toMatch(/At most 64 KiB\.$/);
    const content_type = 'application/octet-stream';
    expect(await send(tool, { text: 'ö' })).toEqual({ content_type, content: 'ö' });
    expect(await send(tool, { base64: 'AAE=' })).toEqual({ content_type, content: '\u0000\u0001' });
  });

  it('is given so, too, if the document has no schema', async () => {
    const tool = await toolOf({ 'application/zip': {} });
    expect(await send(tool, { base64: 'AAE=' })).toMatchObject({ content_type: 'application/zip' });
  });

  it('keeps the description and the reference of its schema', async () => {
    const document = {
      ...posting({ 'application/pdf': { schema: { $ref: '#/components/schemas/Scan' } } }),
      components: { schemas: { Scan: { type: 'string', format: 'binary', description: 'The scan' } } },
    };
    const [tool] = await toolsOf(document, { a: {} });
    expect(bodyOf(tool as Tool).description).toMatch(/^The scan\. /);
  });

  it('has one of the types that the document allows', async () => {
    const schema = { type: 'string', format: 'binary' };
    const tool = await toolOf({ 'image/png': { schema }, 'image/jpeg': { schema }, 'audio/*': { schema } });
    expect(await send(tool, { base64: 'AAE=' })).toMatchObject({ content_type: 'image/png' });
    expect(await send(tool, { base64: 'AAE=', content_type: 'audio/mp4' })).toMatchObject({
      content_type: 'audio/mp4',
    });
    expect(await send(tool, { base64: 'AAE=', content_type: 'text/html' })).toBe(
      'The argument `body.content_type` must be one of image/png, image/jpeg, audio/*.',
    );
    const any = await toolOf({ '*/*': { schema } });
    expect(await send(any, { base64: 'AAE=', content_type: 'application/pdf' })).toMatchObject({
      content_type: 'application/pdf',
    });
    expect(await send(any, { base64: 'AAE=', content_type: 'a/b\r\nX: 1' })).toContain('not a media type');
  });

  it.each([
    'application/x-www-form-urlencoded',
    'Application/X-WWW-Form-Urlencoded',
    'multipart/form-data',
    'application/json',
    'application/vnd.api+json',
  ])('cannot be sent as %s, in which a field could change the method', async (content_type) => {
    const schema = { type: 'string', format: 'binary' };
    const tool = await toolOf({ '*/*': { schema } });
    expect(await send(tool, { text: '_method=DELETE', content_type })).toBe(
      'The argument `body.content_type` cannot be a form or JSON.',
    );
  });

  it('has at most 64 KiB, and exactly one content', async () => {
    const tool = await toolOf({
      'application/octet-stream': { schema: { type: 'string', format: 'binary' } },
    });
    const large = Buffer.alloc(64 * KIB + 1).toString('base64');
    expect(tool.unusable?.({ body: { base64: large } })).toBe('The argument `body` is larger than 64 KiB.');
    expect(tool.unusable?.({ body: { base64: large.slice(4) } })).toBeNull();
    expect(await send(tool, { base64: 'no base64!' })).toBe(
      'The argument `body` has a `base64` that is not valid base64.',
    );
    for (const body of [{}, { text: 'a', base64: 'YQ==' }])
      expect(await send(tool, body)).toBe('The argument `body` needs exactly one of `text` and `base64`.');
    expect(await send(tool, 'a')).toBe('The argument `body` must be of type object.');
  });

  it('shows an operator its size and not its bytes', async () => {
    const tool = await toolOf({ 'image/png': {} });
    const requests: ToolRequest[] = [];
    const client = { request: async (request: ToolRequest) => requests.push(request) };
    await tool.send({ body: { base64: 'AAE=' } }, { client, idempotency_key: null } as never);
    expect(requests[0]?.encoded?.shown).toEqual({ content_type: 'image/png', bytes: 2 });
  });
});

describe('a body in several forms', () => {
  const text = { 'text/plain': { schema: { type: 'string' } } };
  const file = { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } };

  it('is a text before it is a file, and JSON or a form before both', async () => {
    expect(bodyOf(await toolOf({ ...file, ...text }))).toMatchObject({ type: 'string' });
    const json = { 'application/json': { schema: { type: 'array', items: {} } } };
    expect(bodyOf(await toolOf({ ...file, ...text, ...json }))).toMatchObject({ type: 'array' });
  });

  it('is refused if it is an object in a form that agentd cannot write', async () => {
    const schema = { type: 'object', properties: { a: { type: 'string' } } };
    for (const type of ['application/xml', 'application/octet-stream', 'text/plain'])
      expect(await problemsOf(posting({ [type]: { schema } }), { a: {} })).toEqual([
        expect.stringContaining(`takes a body of ${type}, but agentd sends objects only as JSON and forms`),
      ]);
    // Another form can be written.
    expect(bodyOf(await toolOf({ 'application/xml': { schema }, ...text }))).toMatchObject({
      type: 'string',
    });
  });

  it('is left out of a DELETE if it is optional', async () => {
    expect((await toolOf(file, '3.0.3', 'delete', false)).parameters.properties).toEqual({});
    expect(bodyOf(await toolOf(text, '3.0.3', 'delete', true))).toMatchObject({ type: 'string' });
  });
});
