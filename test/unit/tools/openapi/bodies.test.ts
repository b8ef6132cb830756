import { describe, expect, it } from 'vitest';
import { buildQuestion } from '../../../../src/daemon/tools/confirmation/question.ts';
import type { ToolRequest } from '../../../../src/daemon/tools/downstream/client.ts';
import { checkArguments } from '../../../../src/daemon/tools/schema/check-arguments.ts';
import type { JsonSchema, Tool } from '../../../../src/daemon/tools/tool.ts';
import { documentOf, toolsOf } from '../../../support/openapi.ts';

// Bodies in the style of real documents. Each schema is the body of one operation.

const OK = { responses: { default: { description: '' } } };

async function toolFor(schema: object, schemas: object = {}, openapi = '3.0.3'): Promise<Tool> {
  const requestBody = { content: { 'application/json': { schema } }, required: true };
  const [tool] = await toolsOf(
    documentOf(
      { '/a': { post: { operationId: 'a', requestBody, ...OK } } },
      { openapi, components: { schemas } },
    ),
    { a: {} },
  );
  return tool ?? expect.fail('the operation must become a tool');
}

async function checker(...given: Parameters<typeof toolFor>): Promise<(body: unknown) => true | string> {
  const { parameters } = await toolFor(...given);
  return (body) => {
    const checked = checkArguments(parameters, { body });
    if (!checked.ok) return checked.message;
    expect(checked.args).toEqual({ body });
    return true;
  };
}

async function sentBy(tool: Tool, args: object): Promise<ToolRequest | undefined> {
  const checked = checkArguments(tool.parameters, args);
  if (!checked.ok) expect.fail(checked.message);
  const sent: ToolRequest[] = [];
  const client = {
    request: async (request: ToolRequest) => {
      sent.push(request);
      return { outcome: 'answered', status: 200, body: null };
    },
  };
  await tool.send(checked.args, { client, idempotency_key: null } as never);
  return sent[0];
}

const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });

describe('null in a body', () => {
  // Box: a shared link is removed with `{"shared_link": null}`.
  const Link = { type: 'object', properties: { access: { type: 'string', enum: ['open', 'company'] } } };

  it.each<[string, JsonSchema]>([
    ['a type', { type: 'object', nullable: true, properties: { access: { type: 'string' } } }],
    ['`allOf`', { allOf: [ref('Link')], nullable: true, description: 'The link.' }],
    ['`allOf` and a type', { type: 'object', allOf: [ref('Link')], nullable: true }],
    ['`oneOf`', { oneOf: [ref('Link'), { type: 'string' }], nullable: true }],
    ['`anyOf`', { anyOf: [ref('Link')], nullable: true }],
    ['`$ref`', { ...ref('Link'), nullable: true }],
    ['`enum`', { type: 'string', enum: ['a'], nullable: true }],
    ['`enum` without a type', { enum: ['a'], nullable: true }],
    ['nothing', { nullable: true }],
  ])('is allowed and sent by `nullable` beside %s', async (_, shared_link) => {
    for (const openapi of ['3.0.3', '3.1.0']) {
      const tool = await toolFor({ type: 'object', properties: { shared_link } }, { Link }, openapi);
      const sent = await sentBy(tool, { body: { shared_link: null } });
      expect(JSON.stringify(sent?.body)).toBe('{"shared_link":null}');
      const other = await toolFor(
        { type: 'object', properties: { shared_link: { ...shared_link, nullable: false } } },
        { Link },
        openapi,
      );
      const refused = checkArguments(other.parameters, { body: { shared_link: null } });
      if (JSON.stringify(shared_link) !== '{"nullable":true}') expect(refused).toMatchObject({ ok: false });
    }
  });

  it('is asked about: a null is not an empty body', async () => {
    const tool = await toolFor(
      { type: 'object', properties: { shared_link: { ...ref('Link'), nullable: true } } },
      { Link },
    );
    const question = buildQuestion(tool, { body: { shared_link: null } });
    expect(question?.details).toEqual([
      { label: 'body.shared_link', value: expect.stringContaining('null') },
    ]);
  });

  it('still checks the other values, and keeps the description for the model', async () => {
    const shared_link = { allOf: [ref('Link')], nullable: true, description: 'The link.' };
    const { parameters } = await toolFor({ type: 'object', properties: { shared_link } }, { Link });
    const check = (value: unknown) => checkArguments(parameters, { body: { shared_link: value } });
    expect(check({ access: 'open' })).toMatchObject({ ok: true });
    expect(check({ access: 'all' })).toMatchObject({
      ok: false,
      message: expect.stringContaining('`body.shared_link.access` must be one of ["open","company"]'),
    });
    expect(JSON.stringify(parameters)).toContain('"shared_link":{"description":"The link."');
  });

  it('is allowed by the types of OpenAPI 3.1', async () => {
    const schema = {
      type: 'object',
      properties: { a: { type: ['string', 'null'] }, b: { anyOf: [ref('Link'), { type: 'null' }] } },
    };
    const check = await checker(schema, { Link }, '3.1.0');
    expect(check({ a: null, b: null })).toBe(true);
  });

  it('is told to the model where it is not allowed, at any depth', async () => {
    const check = await checker({
      type: 'object',
      properties: {
        list: { type: 'array', items: { type: 'object', properties: { n: { type: 'integer' } } } },
      },
    });
    expect(check({ list: [{ n: 1 }, { n: null }] })).toBe(
      'The argument `body.list.1.n` cannot be null. Leave it out, or give it a value of type integer.',
    );
  });
});

describe('a union with a discriminator', () => {
  // Adyen, Plaid: the mapping names the forms; their own property is any text.
  const schemas = {
    Card: {
      type: 'object',
      properties: { type: { type: 'string' }, number: { type: 'string' }, cvc: { type: 'string' } },
      required: ['type', 'number'],
    },
    Bank: {
      type: 'object',
      properties: { type: { type: 'string' }, number: { type: 'string' }, iban: { type: 'string' } },
      required: ['type', 'iban'],
    },
    Any: { type: 'object', properties: { type: { type: 'string' } } },
  };
  const oneOf = [ref('Card'), ref('Bank'), ref('Any')];
  const mapping = { scheme: '#/components/schemas/Card', giropay: 'Bank', sepa: ref('Bank').$ref };

  it('checks the form that the mapping names, though the value fits other forms, too', async () => {
    const check = await checker({ oneOf, discriminator: { propertyName: 'type', mapping } }, schemas);
    expect(check({ type: 'scheme', number: '4111' })).toBe(true);
    expect(check({ type: 'sepa', iban: 'DE00' })).toBe(true);
    expect(check({ type: 'giropay', iban: 'DE00', number: '1' })).toBe(true);
    // Without a place in the mapping, a form has the name of its schema.
    expect(check({ type: 'Any', number: 7 })).toBe(true);
    expect(check({ type: 'sepa', number: '1' })).toBe('The argument `body.iban` is missing.');
    expect(check({ type: 'scheme', number: 4111 })).toBe(
      'The argument `body.number` must be of type string.',
    );
    expect(check({ type: 'cash' })).toBe(
      'The argument `body.type` must be one of ["scheme","giropay","sepa","Any"].',
    );
  });

  it('checks the form with the name of a schema if there is no mapping', async () => {
    const check = await checker({ oneOf, discriminator: { propertyName: 'type' } }, schemas);
    expect(check({ type: 'Card', number: '4111' })).toBe(true);
    expect(check({ type: 'Bank', number: '4111' })).toBe('The argument `body.iban` is missing.');
    expect(check({ type: 'Sepa' })).toBe('The argument `body.type` must be one of ["Card","Bank","Any"].');
  });

  it('shows the model the values that name each form', async () => {
    const { parameters } = await toolFor(
      { oneOf, discriminator: { propertyName: 'type', mapping } },
      schemas,
    );
    expect(JSON.stringify(parameters)).toContain('"enum":["giropay","sepa"]');
  });

  it('takes the values that the forms themselves have before the names of their schemas', async () => {
    const kind = (value: string) => ({
      type: 'object',
      properties: { type: { type: 'string', enum: [value] } },
    });
    const check = await checker(
      { oneOf: [ref('OneCard'), ref('OneBank')], discriminator: { propertyName: 'type' } },
      {
        OneCard: {
          allOf: [kind('card'), { properties: { number: { type: 'string' } }, required: ['number'] }],
        },
        OneBank: kind('bank'),
      },
    );
    expect(check({ type: 'bank' })).toBe(true);
    expect(check({ type: 'card' })).toBe('The argument `body.number` is missing.');
    expect(check({ type: 'OneBank' })).toBe('The argument `body.type` must be one of ["card","bank"].');
  });

  it.each([
    ['file names', { scheme: './schemas/Card.yaml', sepa: 'Bank.json', any: '../Any.yaml#/Any' }],
    ['names with a path', { scheme: 'components/Card', sepa: 'https://example.com/s/Bank.json', any: 'Any' }],
  ])('reads a mapping of %s, which bundlers leave as they were', async (_, names) => {
    const check = await checker({ oneOf, discriminator: { propertyName: 'type', mapping: names } }, schemas);
    expect([check({ type: 'scheme', number: '4111' }), check({ type: 'any' })]).toEqual([true, true]);
    expect(check({ type: 'sepa', number: '1' })).toBe('The argument `body.iban` is missing.');
  });

  it('is not read if its mapping names no form of the union', async () => {
    const names = { scheme: './one.yaml', sepa: './two.yaml' };
    const check = await checker({ oneOf, discriminator: { propertyName: 'type', mapping: names } }, schemas);
    expect([check({ type: 'scheme', number: '4111' }), check({ type: 'sepa', iban: 'DE00' })]).toEqual([
      true,
      true,
    ]);
    expect(check({ type: 7 })).toContain('fits none of its 3 forms');
  });

  it('checks all forms if the property is not given', async () => {
    const check = await checker({ anyOf: oneOf, discriminator: { propertyName: 'type', mapping } }, schemas);
    expect(check({ number: '1' })).toBe(true);
  });
});

describe('a union without a discriminator', () => {
  it('accepts a value that fits several forms of `oneOf`', async () => {
    // GitHub, Asana: labels are names or objects, and an object fits both object forms.
    const check = await checker({
      type: 'object',
      properties: {
        labels: {
          type: 'array',
          items: {
            oneOf: [
              { type: 'string' },
              { type: 'object', properties: { id: { type: 'integer' } } },
              { type: 'object', properties: { name: { type: 'string' } } },
            ],
          },
        },
      },
    });
    expect(check({ labels: ['bug', { name: 'x', id: 7 }, {}] })).toBe(true);
    expect(check({ labels: [true] })).toBe('The argument `body.labels.0` must be of type string or object.');
  });

  it('is checked by a property that has another value in each form, beside forms that are no objects', async () => {
    // Notion: blocks and property values with `type`, and null.
    const text = { type: 'object', properties: { content: { type: 'string' } }, required: ['content'] };
    const form = (type: string, rest: object) => ({
      type: 'object',
      title: type,
      properties: { ...rest, type: { const: type } },
      required: ['type'],
      additionalProperties: false,
    });
    const block = {
      oneOf: [
        form('text', { text }),
        form('todo', { text, checked: { type: 'boolean' } }),
        form('list', { children: { type: 'array', items: ref('Block') } }),
        { type: 'null' },
      ],
    };
    const check = await checker(ref('Block'), { Block: block }, '3.1.0');
    expect(check({ type: 'list', children: [{ type: 'todo', checked: true }, null] })).toBe(true);
    expect(check({ type: 'list', children: [{ type: 'todo', checked: 'yes' }] })).toBe(
      'The argument `body.children.0.checked` must be of type boolean.',
    );
    expect(check({ type: 'list', children: [{ type: 'heading' }] })).toBe(
      'The argument `body.children.0.type` must be one of ["text","todo","list"].',
    );
    expect(check({ type: 'text', checked: true })).toBe('There is no argument `body.checked`.');
  });

  it('names the closest form and its mistake, or what each form misses', async () => {
    const check = await checker(
      { type: 'object', properties: { query: { oneOf: [ref('Match'), ref('Range'), { type: 'string' }] } } },
      {
        Match: {
          type: 'object',
          properties: { match: { type: 'object', additionalProperties: { type: 'string' } } },
          required: ['match'],
        },
        Range: { type: 'object', properties: { range: { type: 'object' } }, required: ['range'] },
      },
    );
    expect(check({ query: { match: { title: 7 } } })).toBe(
      'The argument `body.query` fits none of its 3 forms. The closest is form 1 (match): The argument `body.query.match.title` must be of type string.',
    );
    expect(check({ query: {} })).toBe(
      'The argument `body.query` fits none of its 3 forms. form 1 (match): The argument `body.query.match` is missing. form 2 (range): The argument `body.query.range` is missing. form 3: The argument `body.query` must be of type string.',
    );
  });
});

describe('a bound', () => {
  // OpenAI: a document of 3.1 that was written as 3.0.
  it.each(['3.0.3', '3.1.0'])('may be exclusive by a boolean, as in OpenAPI 3.0: %s', async (version) => {
    const n = { type: 'number', minimum: 0, exclusiveMinimum: true, maximum: 9, exclusiveMaximum: false };
    const check = await checker({ type: 'object', properties: { n } }, {}, version);
    expect([check({ n: 0.1 }), check({ n: 9 })]).toEqual([true, true]);
    expect(check({ n: 0 })).toBe('The argument `body.n` must be > 0.');
    expect(check({ n: 10 })).toBe('The argument `body.n` must be <= 9.');
  });
});

describe('a property that only answers have', () => {
  // Xero, PagerDuty: the id of a record is required, and read-only.
  const id = { type: 'string', readOnly: true };
  const name = { type: 'string' };
  const Base = { type: 'object', properties: { id, kind: { type: 'string' } }, required: ['id', 'kind'] };

  it.each<[string, object]>([
    ['in the object itself', { type: 'object', properties: { id, name }, required: ['id', 'name'] }],
    ['by `allOf`', { allOf: [ref('Base'), { properties: { name }, required: ['id', 'name'] }] }],
    ['by a reference', { type: 'object', properties: { id: ref('Id'), name }, required: ['id', 'name'] }],
    ['beside `allOf`', { allOf: [ref('Base')], properties: { name }, required: ['id', 'name'] }],
    ['in a form', { oneOf: [{ allOf: [ref('Base'), { properties: { name }, required: ['name'] }] }] }],
  ])('is neither required of a request nor offered to the model: %s', async (_, schema) => {
    const schemas = { Base, Id: id };
    expect(JSON.stringify((await toolFor(schema, schemas)).parameters)).not.toContain('"id"');
    const check = await checker(schema, schemas);
    expect(check({ kind: 'a', name: 'b' })).toBe(true);
    expect(check({ kind: 'a' })).toContain('`body.name` is missing.');
  });

  it('is required of no item of a list, and not in a recursive schema', async () => {
    const Page = {
      type: 'object',
      properties: { id, name, pages: { type: 'array', items: ref('Page') } },
      required: ['id', 'name'],
    };
    const check = await checker({ type: 'array', items: ref('Page') }, { Page });
    expect(check([{ name: 'a', pages: [{ name: 'b' }] }])).toBe(true);
    expect(check([{ name: 'a', pages: [{}] }])).toBe('The argument `body.0.pages.0.name` is missing.');
  });
});

describe('values as documents describe them', () => {
  it('may be null beside an `enum` that does not list null', async () => {
    const level = { type: 'string', nullable: true, enum: ['low', 'high'] };
    const check = await checker({ type: 'object', properties: { level } });
    expect([check({ level: null }), check({ level: 'low' })]).toEqual([true, true]);
    expect(check({ level: 'x' })).toBe('The argument `body.level` must be one of ["low","high",null].');
  });

  it('may have a format that only the document knows', async () => {
    // Meilisearch, Twilio.
    const properties = {
      n: { type: 'integer', format: 'u-int32' },
      phone: { type: 'string', format: 'phone-number' },
      when: { type: 'integer', format: 'date-time' },
    };
    const check = await checker({ type: 'object', properties });
    expect(check({ n: 7, phone: '+1 555', when: 7 })).toBe(true);
    expect(check({ n: '7' })).toBe('The argument `body.n` must be of type integer.');
  });

  it('are the same as in place if the document is YAML with anchors', async () => {
    const document = [
      'openapi: 3.0.3',
      'info: { title: Shop, version: "1" }',
      'x-text: &text { type: string, maxLength: 3 }',
      'paths:',
      '  /a:',
      '    post:',
      '      operationId: a',
      '      requestBody:',
      '        content:',
      '          application/json:',
      '            schema:',
      '              type: object',
      '              properties: { a: *text, b: { <<: *text, maxLength: 1 } }',
      '      responses: { default: { description: "" } }',
    ].join('\n');
    const [{ parameters } = expect.fail('there is no tool')] = await toolsOf(document, { a: {} });
    const { body } = parameters.properties as { body: JsonSchema };
    expect(body.properties).toEqual({
      a: { type: 'string', maxLength: 3 },
      b: { type: 'string', maxLength: 1 },
    });
  });
});
