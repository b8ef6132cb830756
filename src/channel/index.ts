/** The channel contract ("agentd/channel"). A plugin may also import "agentd/channel/markdown". */
export type {
  Channel,
  ChannelCapabilities,
  ChannelCheck,
  ChannelHealth,
  ChannelLinking,
  ChannelLinks,
  ChannelLogger,
  ChannelPlugin,
  ChannelProblemCode,
  ChannelRequest,
  ChannelResponse,
  ChannelScope,
  ChannelStreams,
  ChannelTranslations,
  DeliveryFailure,
  EnqueueOutcome,
  EventStreamPaths,
  FieldError,
  LinkAnswer,
  LinkOptions,
  LinkRequest,
  NotifyOptions,
  OpenStream,
  PressOutcome,
  ResponseStream,
  Route,
  RouteProblem,
  StreamReader,
  StreamTokens,
  TokenAnswer,
  TokenSource,
  UnlinkAnswer,
} from './channel.ts';
export { CHANNEL_API_VERSION } from './channel.ts';
export type {
  Confirmation,
  ConfirmationAnswer,
  ConversationEvent,
  EditedMessage,
  IncomingMessage,
  JsonObject,
  JsonValue,
  MessageMetadata,
  OutgoingReply,
  ReplyConfirmation,
  StreamEvent,
  StreamEventName,
  ToolStatus,
} from './message.ts';
export { pressPayload, readPressPayload } from './press-payload.ts';
export { retryAfterSeconds } from './retry-after.ts';
export type { ChannelSettings, SecretValue, SettingRecord, SettingValue } from './setting.ts';
export type { ChannelSetup, SetupOutcome } from './setup.ts';
export type {
  PlatformSimulator,
  Shown,
  ShownButton,
  SimulatedApi,
  SimulatedApiAnswer,
  SimulatedApiCall,
  SimulatedEvent,
  SimulatedRefusal,
  SimulatedRefused,
  SimulatedRequest,
} from './simulator.ts';
export { type ChannelText, fillIn, placeholdersOf } from './text.ts';
export { isTooLong, TEXT_MAX } from './text-length.ts';
