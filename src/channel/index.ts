/** The channel contract ("agentd/channel"). A plugin may also import "agentd/channel/markdown". */
export {
  failureOfStatus,
  readAnswer,
  retryAfterSeconds,
  whyUnanswered,
  withTimeout,
} from './answer.ts';
export type * from './channel.ts';
export { CHANNEL_API_VERSION } from './channel.ts';
export { isTooLong, TEXT_MAX } from './characters.ts';
export { jsonObject, jsonObjectOrNull } from './json-object.ts';
export type * from './message.ts';
export {
  asFields,
  asObjects,
  type Fields,
  isRecent,
  isSameSecret,
  pressPayload,
  readPressPayload,
} from './payload.ts';
export { RecentMap } from './recent-map.ts';
export type * from './route.ts';
export type * from './scope.ts';
export type * from './setting.ts';
export { channelTexts, fillIn, findPlaceholders, formatMinute, readSecret } from './setting.ts';
export type * from './simulator.ts';
