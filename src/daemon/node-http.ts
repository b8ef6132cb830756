/**
 * What is used of Node's own `http`. An `import` of it looks at each of its exports, which loads the
 * whole of `fetch` and `WebSocket` (some 30 ms of each start), also where neither is ever used.
 */
export const { createServer, STATUS_CODES, validateHeaderName, validateHeaderValue } =
  process.getBuiltinModule('node:http');
