import { type IncomingMessage, readPressPayload } from '../../src/channel/index.ts';
import { type Fields, fieldsOf, isId, isTimestamp, listOf, UNTOLD_TEAM } from './payload.ts';

/** A press of a question's button. */
export interface Press {
  message: IncomingMessage;
  /** The id of the person who pressed the button, for calls of the platform's API. */
  user: string;
}

/**
 * Reads a `block_actions` payload (https://docs.slack.dev/reference/interaction-payloads/block_actions-payload). Never
 * throws, whatever the payload. The sender and the channel come from the signed delivery, never from the button.
 * @returns the press, or why this is not a press of a question's button
 */
export function readPress(payload: Fields): Press | string {
  if (payload.type !== 'block_actions') return 'an interaction of another type';
  const action = listOf(payload.actions)[0] ?? {};
  const confirm = readPressPayload(action.value);
  if (confirm === null) return 'a button of something else';
  const channel = fieldsOf(payload.channel).id ?? fieldsOf(payload.container).channel_id;
  const user = fieldsOf(payload.user).id;
  const { action_ts } = action;
  const isDated = action_ts !== undefined;
  if (!isId(channel) || !isId(user) || (isDated && !isTimestamp(action_ts)))
    return 'ids are not as documented';
  const root = [fieldsOf(payload.message).thread_ts, fieldsOf(payload.container).thread_ts].find(isTimestamp);
  const team = [fieldsOf(payload.team).id, fieldsOf(payload.user).team_id].find(isId) ?? UNTOLD_TEAM;
  const message: IncomingMessage = {
    platform: 'teamchat',
    user_id: userIdOf(payload, user),
    channel_id: channel,
    thread_id: `teamchat:${team}:${channel}${root === undefined ? '' : `:${root}`}`,
    text: '',
    confirm,
    metadata: {},
    // If the payload contains no time, for example because a gateway made it, a second press of the button counts as
    // the same press.
    message_id: `press:${channel}:${user}:${isDated ? action_ts : String(action.value)}`,
    ...(isDated ? { sent_at: Math.floor(Number(action_ts) * 1000) } : {}),
    shared: !channel.startsWith('D'),
    reply_to: root === undefined ? { channel } : { channel, thread_ts: root },
  };
  return { message, user };
}

/**
 * The id of a sender, as in events. If the sender belongs to another company, the id includes that company's workspace.
 */
function userIdOf(payload: Fields, user: string): string {
  const theirs = fieldsOf(payload.user).team_id;
  const ours = fieldsOf(payload.team).id;
  const isOther = isId(theirs) && isId(ours) && theirs !== ours && !isId(fieldsOf(payload.enterprise).id);
  return isOther ? `${theirs}:${user}` : user;
}
