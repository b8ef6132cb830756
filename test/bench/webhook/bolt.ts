import type { AddressInfo } from 'node:net';
import { App, HTTPReceiver, LogLevel } from '@slack/bolt';
import { PATH, REPLY, SIGNING_SECRET } from './deliveries.ts';

/**
 * Bolt, the library with which most people build bots for this platform. It checks the signature, passes the event to a
 * listener, and stores nothing. If its argument is the address of a platform, the listener posts a reply.
 */
const platform = process.argv[2];
const receiver = new HTTPReceiver({
  signingSecret: SIGNING_SECRET,
  endpoints: [PATH],
  logLevel: LogLevel.ERROR,
});
const app = new App({
  receiver,
  logLevel: LogLevel.ERROR,
  ...(platform === undefined ? {} : { clientOptions: { slackApiUrl: platform } }),
  authorize: async () => ({ botToken: 'none', botId: 'B0BENCHMARK', botUserId: 'U0BOT' }),
});
app.message(async ({ say }) => {
  if (platform !== undefined) await say(REPLY);
});

const server = await receiver.start({ port: 0, host: '127.0.0.1' });
console.log(`ready on http://127.0.0.1:${(server.address() as AddressInfo).port}`);
process.once('SIGTERM', () => {
  server.close();
  if ('closeAllConnections' in server) server.closeAllConnections();
});
