/** The channel contract ("agentd/channel"). A plugin may also import "agentd/channel/markdown". */
export type * from './channel.ts';
export { CHANNEL_API_VERSION } from './channel.ts';
export { isTooLong, TEXT_MAX } from './characters.ts';
export type * from './message.ts';
export { pressPayload, readPressPayload, retryAfterSeconds } from './payload.ts';
export type * from './route.ts';
export type * from './scope.ts';
export type * from './setting.ts';
export { fillIn, placeholdersOf } from './setting.ts';
export type * from './simulator.ts';
