import type { ChannelPlugin, ChannelSettings, IncomingMessage, OutgoingReply } from '../index.ts';
import type { Evidence } from './evidence.ts';

/** A request of a client or of a platform. */
export interface SampleRequest {
  method?: string;
  /** Path and query. */
  path: string;
  headers?: Readonly<Record<string, string>>;
  body?: string | Uint8Array;
}

export interface ConformanceOptions {
  plugin: ChannelPlugin;
  /** The channel's settings. If the plugin has a simulator, its `devSettings` provide the settings that are missing. */
  settings?: ChannelSettings;
  /** Deliveries besides those of the simulator, each with the messages that the channel must make of it. */
  messages?: readonly { request: SampleRequest; expect: readonly Partial<IncomingMessage>[] }[];
  /** Requests that must be refused, each with the code of the problem. No message may be enqueued. */
  refused?: readonly { title: string; request: SampleRequest; code: string }[];
  /**
   * For channels that deliver by push: a reply, and the platform's answers to it. If the plugin has a simulator, the
   * simulator provides `reply` and `accepted`, and these two members are ignored.
   */
  send?: {
    reply: OutgoingReply;
    accepted: () => Response;
    /** A refusal that is final: the platform would refuse the reply again. */
    refused: () => Response;
    /** A refusal of the channel's credentials. */
    credentialsRefused?: () => Response;
  };
}

export interface ConformanceCase {
  name: string;
  run(): Promise<void>;
}

/** The options, and the record of the case that is running. */
export interface TrialOptions extends ConformanceOptions {
  evidence: Evidence;
}

/** One case. It rejects if the channel breaks the contract. */
export type Trial = (options: TrialOptions) => Promise<void>;
