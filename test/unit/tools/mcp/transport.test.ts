import { expect, test } from 'vitest';
import { parseMessage } from '../../../../src/daemon/tools/mcp/transport.ts';

const answer = (result: string) => parseMessage(`{"jsonrpc":"2.0","id":1,"result":${result}}`);

test('a long number in a result keeps its digits, because the rounded number could be the id of another record', () => {
  expect(answer('{"content":[],"structuredContent":{"id":9007199254740993}}')).toMatchObject({
    id: 1,
    result: { structuredContent: { id: '9007199254740993' } },
  });
});

test('a long number in a schema stays a number', () => {
  const schema = '{"type":"object","properties":{"id":{"maximum":18446744073709551615}}}';
  expect(answer(`{"tools":[{"name":"x","inputSchema":${schema}}]}`)).toMatchObject({
    result: { tools: [{ inputSchema: { properties: { id: { maximum: 2 ** 64 } } } }] },
  });
});

test.each(['null', '5', '"text"', '[]'])(
  'a result that is not an object is refused with an error: %s',
  (result) => {
    expect(() => answer(result)).toThrow('The server answered with something that is not MCP.');
  },
);
