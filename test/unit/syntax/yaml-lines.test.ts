import { describe, expect, it } from 'vitest';
import { createLineFinder } from '../../../src/daemon/syntax/yaml-lines.ts';

const YAML = `# settings
PORT: 1
tools:
  - openapi: ./shop.yaml
    operations: { listOrders: { bind: { customer: sub } },
      "GET /x": }
    headers: &fixed
      X-Key: a
  - mcp: |
      two
      lines
    headers: *fixed
    name: !!str docs
`;

describe('the line of a value', () => {
  const findLine = createLineFinder(YAML);

  it.each([
    [['PORT'], 2],
    [['tools'], 3],
    [['tools', 0], 4],
    [['tools', 0, 'operations', 'listOrders', 'bind', 'customer'], 5],
    [['tools', 0, 'operations', 'GET /x'], 6],
    [['tools', 0, 'headers', 'X-Key'], 8],
    [['tools', 1], 9],
    [['tools', 1, 'name'], 13],
  ])('is the line of its name: %j', (path, line) => {
    expect(findLine(path)).toBe(line);
  });

  it.each([
    [['tools', 0, 'operations', 'unknown', 'bind'], 5],
    [['tools', 7], 3],
    [['tools', 1, 'headers', 'X-Key'], 12],
    [['PORT', 'deeper'], 2],
  ])('is the line of the deepest value that exists: %j', (path, line) => {
    expect(findLine(path)).toBe(line);
  });

  it('is also found in JSON', () => {
    const json = '{\n\t"a": [\n\t\t{"b": 1},\n\t\t{"b":\n\t\t2}\n\t]\n}\n';
    expect(createLineFinder(json)(['a', 1, 'b'])).toBe(4);
  });

  it.each(['', 'a: [', '%'])('is unknown in a text that cannot be parsed: %j', (text) => {
    expect(createLineFinder(text)(['a'])).toBeNull();
  });
});
