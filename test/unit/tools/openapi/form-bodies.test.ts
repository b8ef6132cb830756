import { describe, expect, it } from 'vitest';
import type { ToolRequest } from '../../../../src/daemon/tools/downstream/client.ts';
import type { EncodedBody } from '../../../../src/daemon/tools/downstream/form-body.ts';
import { checkArguments } from '../../../../src/daemon/tools/schema/check-arguments.ts';
import type { ToolEntry } from '../../../../src/daemon/tools/source-entry.ts';
import type { Sent, Tool } from '../../../../src/daemon/tools/tool.ts';
import { documentOf, problemsOf, toolsOf } from '../../../support/openapi.ts';

const OK = { responses: { default: { description: '' } } };
const FORM = 'application/x-www-form-urlencoded';
const MULTIPART = 'multipart/form-data';
const text = { type: 'string' };
const file = { type: 'string', format: 'binary' };

const posting = (type: string, properties: object, encoding: object = {}, rest: object = {}) =>
  documentOf({
    '/a': {
      post: {
        operationId: 'a',
        requestBody: {
          required: true,
          content: { [type]: { schema: { type: 'object', properties, ...rest }, encoding } },
        },
        ...OK,
      },
    },
  });

async function toolOf(document: object, told: ToolEntry = {}): Promise<Tool> {
  const [tool] = await toolsOf(document, { a: told });
  return tool as Tool;
}

/** The outcome of a call with this body, and the body that the tool sent. Null if nothing was sent. */
async function send(tool: Tool, body: unknown): Promise<{ sent: Sent; encoded: EncodedBody | null }> {
  let request: ToolRequest | null = null;
  const client = {
    request: async (given: ToolRequest) => {
      request = given;
      return { outcome: 'answered', status: 200, body: null };
    },
  };
  const sent = await tool.send({ body }, { client, idempotency_key: null } as never);
  return { sent, encoded: (request as ToolRequest | null)?.encoded ?? null };
}

/** The form that a server reads, as it was written. */
async function formOf(tool: Tool, body: unknown): Promise<[string, string][]> {
  const { encoded } = await send(tool, body);
  expect(encoded?.content_type).toBe(FORM);
  return [...new URLSearchParams(encoded?.content as string)];
}

async function refusalOf(tool: Tool, body: unknown): Promise<string> {
  const { sent, encoded } = await send(tool, body);
  expect(encoded).toBeNull();
  const refusal = sent.outcome === 'failed' ? sent.message : '';
  // A write is refused before the person is asked.
  expect(tool.unusable?.({ body })).toBe(refusal);
  return refusal;
}

/** The parts as an independent parser reads them: name, and the value or the file. */
async function partsOf(tool: Tool, body: unknown): Promise<unknown[][]> {
  const { sent, encoded } = await send(tool, body);
  expect(sent).toMatchObject({ outcome: 'answered' });
  const form = await new Response(encoded?.content as never, {
    headers: { 'content-type': encoded?.content_type ?? '' },
  }).formData();
  return Promise.all(
    [...form].map(async ([name, value]) =>
      typeof value === 'string' ? [name, value] : [name, value.name, value.type, await value.text()],
    ),
  );
}

describe('a body with the type application/x-www-form-urlencoded', () => {
  it('has nested objects and lists in the form that Stripe documents', async () => {
    const deep = { style: 'deepObject', explode: true };
    const properties = {
      amount: { type: 'integer' },
      metadata: { type: 'object' },
      expand: { type: 'array', items: text },
    };
    const tool = await toolOf(
      posting(
        FORM,
        { ...properties, line_items: { type: 'array', items: { type: 'object' } } },
        { metadata: deep, expand: deep, line_items: deep },
      ),
    );
    const body = {
      amount: 1000,
      metadata: { 'a&b': 'c=d', note: 'ä +' },
      expand: ['customer', 'invoice'],
      line_items: [
        { price: 'p_1', tax_rates: ['t1', 't2'], price_data: { currency: 'chf' } },
        { price: 'p_2' },
      ],
    };
    expect(await formOf(tool, body)).toEqual([
      ['amount', '1000'],
      ['metadata[a&b]', 'c=d'],
      ['metadata[note]', 'ä +'],
      ['expand[]', 'customer'],
      ['expand[]', 'invoice'],
      ['line_items[0][price]', 'p_1'],
      ['line_items[0][tax_rates][]', 't1'],
      ['line_items[0][tax_rates][]', 't2'],
      ['line_items[0][price_data][currency]', 'chf'],
      ['line_items[1][price]', 'p_2'],
    ]);
  });

  it('repeats the name of a list as Twilio documents, and has an object as JSON', async () => {
    const tool = await toolOf(
      posting(FORM, {
        To: text,
        MediaUrl: { type: 'array', items: text },
        Data: { type: 'object' },
        Send: { type: 'boolean' },
      }),
    );
    const body = { To: '+41', MediaUrl: ['https://a', 'https://b'], Data: { n: [1, null] }, Send: true };
    expect(await formOf(tool, body)).toEqual([
      ['To', '+41'],
      ['MediaUrl', 'https://a'],
      ['MediaUrl', 'https://b'],
      ['Data', '{"n":[1,null]}'],
      ['Send', 'true'],
    ]);
  });

  it('follows style, explode and contentType of `encoding`', async () => {
    const list = { type: 'array', items: text };
    const object = { type: 'object' };
    const tool = await toolOf(
      posting(
        FORM,
        { commas: list, pipes: list, json: list, spread: object, flat: object },
        {
          commas: { explode: false },
          pipes: { style: 'pipeDelimited', explode: false },
          json: { contentType: 'application/json' },
          spread: { style: 'form' },
          flat: { explode: false },
        },
      ),
    );
    const both = ['a', 'b'];
    expect(
      await formOf(tool, { commas: both, pipes: both, json: both, spread: { x: 1, y: 2 }, flat: { x: 1 } }),
    ).toEqual([
      ['commas', 'a,b'],
      ['pipes', 'a|b'],
      ['json', '["a","b"]'],
      ['x', '1'],
      ['y', '2'],
      ['flat', 'x,1'],
    ]);
  });

  it.each([
    [{ a: null }, 'The argument `body.a` cannot be null, because a form has no null: leave it out.'],
    [
      { o: { b: { c: null } } },
      'The argument `body.o.b.c` cannot be null, because a form has no null: leave it out.',
    ],
    [
      { o: {} },
      'The argument `body.o` cannot be empty, because a form has no empty list or object: leave it out.',
    ],
    [
      { o: { b: [] } },
      'The argument `body.o.b` cannot be empty, because a form has no empty list or object: leave it out.',
    ],
    ['text', 'The argument `body` must be an object.'],
  ])('is refused if the form would lose a part of %j', async (body, refusal) => {
    const tool = await toolOf(
      posting(FORM, { a: text, o: { type: 'object' } }, { o: { style: 'deepObject', explode: true } }),
    );
    expect(await refusalOf(tool, body)).toBe(refusal);
  });

  it.each([
    ...['owner[]', 'Owner', 'owner[id]', ' owner', 'account.id', 'account id', 'account[id', 'accountId'],
    ...[
      'owner\0',
      'owner\0x',
      '[owner]',
      'owner]',
      'owner.id',
      'ow\u200bner',
      'ｏwner',
      'account-id',
      'ow\\ner',
    ],
  ])('cannot replace a field of the document by the name %j', async (name) => {
    const tool = await toolOf(
      posting(FORM, { owner: text, account_id: text, note: text }, {}, { additionalProperties: true }),
    );
    expect(await refusalOf(tool, { note: 'x', [name]: 'bob' })).toBe(
      `The argument \`body\` cannot contain \`${name}\`.`,
    );
    const spread = await toolOf(
      posting(FORM, { owner: text, account_id: text, o: { type: 'object' } }, { o: { style: 'form' } }),
    );
    expect(await refusalOf(spread, { o: { [name]: 'bob' } })).toBe(
      `The argument \`body.o\` cannot contain \`${name}\`.`,
    );
  });

  it('refuses a style that a form does not have', async () => {
    const [problem] = await problemsOf(posting(FORM, { a: text }, { a: { style: 'matrix' } }), { a: {} });
    expect(problem).toContain('encoding/a');
  });

  it('is preferred to multipart/form-data, and JSON to both', async () => {
    const schema = { type: 'object' };
    const document = (types: string[]) =>
      documentOf({
        '/a': {
          post: {
            operationId: 'a',
            requestBody: { content: Object.fromEntries(types.map((type) => [type, { schema }])) },
            ...OK,
          },
        },
      });
    expect((await send(await toolOf(document([MULTIPART, FORM])), { n: 1 })).encoded?.content_type).toBe(
      FORM,
    );
    expect(
      (await send(await toolOf(document([MULTIPART, FORM, 'application/json'])), { n: 1 })).encoded,
    ).toBeNull();
  });
});

describe('a body with the type multipart/form-data', () => {
  it('has fields, and files that the model gives as text or base64, with the fields first', async () => {
    const tool = await toolOf(
      posting(MULTIPART, {
        file,
        files: { type: 'array', items: file },
        note: text,
        attributes: { type: 'object' },
        n: { type: 'integer' },
      }),
    );
    const body = {
      file: { text: 'a;ü\n', file_name: 'Übersicht 1.csv', content_type: 'text/csv' },
      files: [{ base64: Buffer.from('\u0000\u0001', 'latin1').toString('base64') }, { text: 'x' }],
      note: 'line\r\n--x',
      attributes: { parent: { id: '0' } },
      n: 7,
    };
    expect(checkArguments(tool.parameters, { body })).toMatchObject({ ok: true });
    expect(await partsOf(tool, body)).toEqual([
      ['note', 'line\r\n--x'],
      ['attributes', '{"parent":{"id":"0"}}'],
      ['n', '7'],
      ['file', 'Übersicht 1.csv', 'text/csv', 'a;ü\n'],
      ['files', 'file', 'application/octet-stream', '\u0000\u0001'],
      ['files', 'file', 'text/plain; charset=utf-8', 'x'],
    ]);
  });

  it('describes a file to the model as an object', async () => {
    const tool = await toolOf(
      posting(MULTIPART, { file: { ...file, description: 'The photo.' }, note: text }),
    );
    const { body } = tool.parameters.properties as { body: { properties: Record<string, object> } };
    expect(body.properties.note).toEqual(text);
    expect(body.properties.file).toMatchObject({
      type: 'object',
      description:
        'The photo. The file: its content as `text`, or as `base64` if it is not text. At most 64 KiB.',
      additionalProperties: false,
    });
    expect(Object.keys((body.properties.file as { properties: object }).properties)).toEqual([
      'text',
      'base64',
      'file_name',
      'content_type',
    ]);
  });

  it('knows the files of OpenAPI 3.1, of references and of alternatives', async () => {
    const document = {
      ...posting(MULTIPART, {
        a: { type: 'string', contentMediaType: 'image/png' },
        b: { contentMediaType: 'application/octet-stream' },
        c: { $ref: '#/components/schemas/File' },
        d: {
          anyOf: [
            { $ref: '#/components/schemas/File' },
            { type: 'array', items: { $ref: '#/components/schemas/File' } },
          ],
        },
        e: { type: 'string', contentMediaType: 'image/png', contentEncoding: 'base64' },
      }),
      openapi: '3.1.0',
      components: { schemas: { File: file } },
    };
    const tool = await toolOf(document);
    const one = { text: 'x' };
    const body = { a: one, b: one, c: one, d: [one, one], e: 'eA==' };
    expect(checkArguments(tool.parameters, { body })).toMatchObject({ ok: true });
    expect((await partsOf(tool, body)).map(([name, value]) => `${name} ${value}`)).toEqual([
      'e eA==',
      'a file',
      'b file',
      'c file',
      'd file',
      'd file',
    ]);
  });

  it.each([
    ['../../etc/passwd', 'passwd'],
    ['C:\\Users\\a\\b.txt', 'b.txt'],
    ['a"; filename="b.html', 'a filename=b.html'],
    ['a\r\nContent-Type: text/html\r\n\r\nx', 'htmlx'],
    ['\u202egnp.exe', 'gnp.exe'],
    ['.htaccess', 'htaccess'],
    ['..', 'file'],
    ['', 'file'],
    [`${'x'.repeat(300)}.txt`, 'x'.repeat(100)],
  ])('has the file name %j in a safe form', async (file_name, safe) => {
    const tool = await toolOf(posting(MULTIPART, { file }));
    const parts = await partsOf(tool, { file: { text: 'x', file_name } });
    expect(parts.map(([name, shown]) => [name, shown])).toEqual([['file', safe]]);
  });

  it.each([
    [{ text: 'x', base64: 'eA==' }, 'needs exactly one of `text` and `base64`'],
    [{}, 'needs exactly one of `text` and `base64`'],
    [{ file_name: 'a.png', content_type: 'image/png' }, 'needs exactly one of `text` and `base64`'],
    [{ base64: 'not base64!' }, 'has a `base64` that is not valid base64'],
    [{ base64: 'eA' }, 'has a `base64` that is not valid base64'],
    [
      { text: 'x', content_type: 'text/html\r\nX-Evil: 1' },
      'has a `content_type` that is not a media type such as `image/png`',
    ],
    [{ text: 'ü'.repeat(32_769) }, 'is larger than 64 KiB'],
  ])('is refused with a file %o', async (given, refusal) => {
    const tool = await toolOf(posting(MULTIPART, { file }));
    expect(await refusalOf(tool, { file: given })).toBe(`The argument \`body.file\` ${refusal}.`);
  });

  it('has only the content types of a file that `encoding` allows, the first one by default', async () => {
    const tool = await toolOf(
      posting(MULTIPART, { file }, { file: { contentType: 'image/png, image/svg+xml, text/*' } }),
    );
    const typeOf = async (content_type?: string) => {
      const given = { text: 'x', ...(content_type === undefined ? {} : { content_type }) };
      return (await partsOf(tool, { file: given }))[0]?.[2];
    };
    expect([await typeOf(), await typeOf('image/svg+xml'), await typeOf('text/html')]).toEqual([
      'image/png',
      'image/svg+xml',
      'text/html',
    ]);
    expect(await refusalOf(tool, { file: { text: 'x', content_type: 'application/pdf' } })).toBe(
      'The argument `body.file.content_type` must be one of image/png, image/svg+xml, text/*.',
    );
  });

  it('cannot get another part or header from the name of a field', async () => {
    const tool = await toolOf(posting(MULTIPART, { note: text }, {}, { additionalProperties: true }));
    const name = 'a"\r\n\r\nx\r\n--b';
    expect(await partsOf(tool, { [name]: 'v' })).toEqual([[expect.stringMatching(/^a/), 'v']]);
    expect(await refusalOf(tool, { 'note[]': 'v' })).toBe('The argument `body` cannot contain `note[]`.');
    expect(await refusalOf(tool, { note: [] })).toContain('cannot be empty');
  });

  it('has another boundary each time', async () => {
    const tool = await toolOf(posting(MULTIPART, { note: text }));
    const types = await Promise.all(
      [1, 2].map(async () => (await send(tool, { note: 'x' })).encoded?.content_type),
    );
    expect(types[0]).toMatch(/^multipart\/form-data; boundary=agentd-[0-9a-f]{48}$/);
    expect(types[0]).not.toBe(types[1]);
  });
});
