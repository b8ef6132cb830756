import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import type { DocumentSurvey } from '../openapi/survey-document.ts';
import { documentOf } from '../support/openapi.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const folder = temporaryFolder('survey');

const survey = (...args: string[]) =>
  spawnSync(process.execPath, ['test/openapi/survey.ts', ...args], { cwd: ROOT, encoding: 'utf8' });

const OK = { responses: { default: { description: '' } } };
const body = (schema: object, examples: object) => ({
  requestBody: { content: { 'application/json': { schema, examples } } },
  ...OK,
});
const count = { type: 'object', properties: { n: { type: 'integer' } } };

function written(name: string, document: object): string {
  const path = join(folder, name);
  writeFileSync(path, JSON.stringify(document));
  return path;
}

const shop = written(
  'shop.json',
  documentOf({
    '/count': { post: body(count, { right: { value: { n: 1 } }, wrong: { value: { n: 'many' } } }) },
    '/text': { post: body(count, { text: { value: '{"n": 2}' } }) },
    '/search/{id}': {
      get: {
        parameters: [
          { in: 'path', name: 'id', required: true, schema: { type: 'string' }, example: 'heads/main' },
        ],
        ...OK,
      },
    },
    '/needs-a-body': { get: { requestBody: { required: true, content: {} }, ...OK } },
  }),
);

it('the survey says which documents cannot be read, which operations of the others become tools, and which examples are accepted', () => {
  const old = written('old.json', { swagger: '2.0', paths: {} });
  const { status, stdout, stderr } = survey(old, shop, '--json');
  expect([status, stderr]).toEqual([1, expect.stringContaining('old.json: is a Swagger 2.0 document')]);
  const [found, ...others] = JSON.parse(stdout) as DocumentSurvey[];
  expect(others).toEqual([]);
  expect(found).toMatchObject({
    document: 'shop',
    openapi: '3.0.3',
    version: '1',
    operations: 4,
    tools: 3,
    refused: [
      {
        operation: 'GET /needs-a-body',
        reason: 'requires a body, which a GET request does not have',
      },
    ],
    examples: {
      found: 4,
      accepted: 2,
      refused: [
        { reason: 'The argument `body.n` must be of type integer.', plain: 'value/n must be integer' },
        { reason: expect.stringContaining('`id` cannot contain `/`'), plain: null },
      ],
    },
  });
  for (const name of ['start_cpu_ms', 'compile_cpu_ms', 'heap_mib'] as const)
    expect(found?.[name], name).toBeGreaterThanOrEqual(0);
});

it('the survey prints a table, and each reason with one place', () => {
  const { status, stdout, stderr } = survey(shop);
  expect([status, stderr]).toEqual([0, '']);
  expect(stdout).toMatch(/^shop +1 +3\.0\.3 +4 +3 +75\.0 +2\/4 +50\.0 /m);
  expect(stdout).toContain('  1  requires a body, which a GET request does not have (GET /needs-a-body)\n');
  expect(stdout).toMatch(/contradict their schema\n {2}1 {2}The argument `body\.n` must be of type integer/);
  expect(stdout).toContain('3 of 4 operations are tools (75.0 %), 2 of 4 examples are accepted (50.0 %)');
});

it('the survey needs a document', () => {
  expect(survey()).toMatchObject({ status: 2, stderr: expect.stringContaining('usage: ') });
});
