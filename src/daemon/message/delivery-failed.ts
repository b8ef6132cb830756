import type { DeliveryFailure } from '../../channel/index.ts';

/**
 * The error of a channel's `send` when the platform did not take a text (`scope.deliveryFailed`). Any other
 * error counts as one that may be tried again.
 */
export class DeliveryFailed extends Error {
  /** The platform refused this text; it would refuse it again. */
  readonly final: boolean;
  /** Seconds that the platform asks to wait for; 0 if it does not. */
  readonly retryAfterSeconds: number;
  /** What the failure says of the platform as a whole; null: it concerns this text, or the rate. */
  readonly platform: 'unreachable' | 'credentials' | null;

  /** @param reason in the platform's words, for the operator; never a secret. */
  constructor(reason: string, { final, retryAfterSeconds = 0, platform }: DeliveryFailure) {
    super(reason);
    this.name = 'DeliveryFailed';
    this.platform = platform ?? null;
    // A platform that is out of reach, or does not know the channel, has not judged the text.
    this.final = final && this.platform === null;
    this.retryAfterSeconds = retryAfterSeconds > 0 ? retryAfterSeconds : 0;
  }
}
