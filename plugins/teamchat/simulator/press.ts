import type { SimulatedEvent } from '../../../src/channel/index.ts';
import type { Timestamps } from './deliveries.ts';
import { APP, BOT_ID, BOT_USER, channelOf, rootOf, TEAM } from './workspace.ts';

/**
 * The form that the platform posts when a button is pressed
 * (https://docs.slack.dev/reference/interaction-payloads/block_actions-payload).
 */
export function pressForm(event: SimulatedEvent, timestamps: Timestamps): string {
  const ts = timestamps.of(event);
  const channel = channelOf(event);
  // In a channel, the bot answers in the thread of the message. A message outside of threads begins a new thread.
  const root = event.thread === undefined ? ts : rootOf(event.thread);
  const thread = event.thread === undefined && event.place === 'direct' ? {} : { thread_ts: root };
  const payload = {
    type: 'block_actions',
    user: {
      id: event.user,
      username: event.user.toLowerCase(),
      name: event.user.toLowerCase(),
      team_id: TEAM,
    },
    api_app_id: APP,
    token: 'an-old-verification-token',
    container: { type: 'message', message_ts: ts, channel_id: channel, is_ephemeral: false, ...thread },
    trigger_id: `${event.number}.${event.number}.simulated`,
    team: { id: TEAM, domain: 'simulate' },
    enterprise: null,
    is_enterprise_install: false,
    channel: { id: channel, name: event.place === 'group' ? 'lounge' : 'directmessage' },
    message: {
      type: 'message',
      user: BOT_USER,
      bot_id: BOT_ID,
      app_id: APP,
      ts,
      team: TEAM,
      text: '',
      ...thread,
    },
    state: { values: {} },
    response_url: `https://hooks.slack.com/actions/${TEAM}/${event.number}/simulated`,
    actions: [
      {
        type: 'button',
        action_id: 'simulated',
        block_id: 'b1',
        text: { type: 'plain_text', text: 'Button', emoji: false },
        value: event.text,
        action_ts: `${Math.floor(event.sent_at / 1000)}.${String(event.number % 1_000_000).padStart(6, '0')}`,
      },
    ],
  };
  return new URLSearchParams({ payload: JSON.stringify(payload) }).toString();
}
