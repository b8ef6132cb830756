import type { ChannelPlugin, ChannelSettings, IncomingMessage, OutgoingReply } from '../index.ts';
import type { Evidence } from './evidence.ts';

/** A request as a client or a platform would send it. */
export interface SampleRequest {
  method?: string;
  /** With its query. */
  path: string;
  headers?: Readonly<Record<string, string>>;
  body?: string | Uint8Array;
}

export interface ConformanceOptions {
  plugin: ChannelPlugin;
  /** With which the channel is configured; those of its simulator are filled in where it has one. */
  settings?: ChannelSettings;
  /** Deliveries, each with the messages that must come of it; beside those of the plugin's simulator. */
  messages?: readonly { request: SampleRequest; expect: readonly Partial<IncomingMessage>[] }[];
  /** Requests that must be refused, each with the code of the problem; nothing of them may get through. */
  refused?: readonly { title: string; request: SampleRequest; code: string }[];
  /**
   * For channels that answer later: a reply, and what its platform answers to it. Where the plugin has a
   * simulator, that answers, and only what `refused` says is taken from here.
   */
  send?: {
    reply: OutgoingReply;
    accepted: () => Response;
    /** A refusal that no repetition mends. */
    refused: () => Response;
    /** A refusal of the channel's credentials. */
    credentialsRefused?: () => Response;
  };
}

export interface ConformanceCase {
  name: string;
  run(): Promise<void>;
}

/** The options, and what is noted of the case that is run with them. */
export interface TrialOptions extends ConformanceOptions {
  evidence: Evidence;
}

/** What is tried in a case; it rejects if the channel does not keep to the contract. */
export type Trial = (options: TrialOptions) => Promise<void>;
