/**
 * The parts of Node's own `http` that are used. An `import` of `http` reads each of its exports, which loads all of
 * `fetch` and `WebSocket` (about 30 ms of each start), even if neither is ever used.
 */
export const { createServer, STATUS_CODES, validateHeaderName, validateHeaderValue } =
  process.getBuiltinModule('node:http');
