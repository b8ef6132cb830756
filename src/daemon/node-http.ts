/**
 * The parts of Node's own `http` that are used. An `import` of it looks at each of its exports, which loads the
 * whole of `fetch` and `WebSocket` (about 30 ms of each start), also if neither is ever used.
 */
export const { createServer, STATUS_CODES, validateHeaderName, validateHeaderValue } =
  process.getBuiltinModule('node:http');
