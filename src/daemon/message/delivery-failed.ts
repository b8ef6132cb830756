import type { DeliveryFailure } from '../../channel/index.ts';

/**
 * The error that a channel's `send` throws when the platform did not accept a text (`scope.deliveryFailed`). After any
 * other error, the text may be sent again.
 */
export class DeliveryFailed extends Error {
  /** The platform refused this text; it would refuse it again. */
  readonly final: boolean;
  /** Seconds that the platform asks to wait for; 0 if it does not. */
  readonly retryAfterSeconds: number;
  /** What the failure means for the platform as a whole. Null if it concerns only this text, or the rate of texts. */
  readonly platform: 'unreachable' | 'credentials' | null;

  /** @param reason in the platform's words, for the operator; never a secret. */
  constructor(reason: string, { final, retryAfterSeconds = 0, platform }: DeliveryFailure) {
    super(reason);
    this.name = 'DeliveryFailed';
    this.platform = platform ?? null;
    // A platform that is out of reach, or refuses the channel's credentials, has not judged the text.
    this.final = final && this.platform === null;
    this.retryAfterSeconds = retryAfterSeconds > 0 ? retryAfterSeconds : 0;
  }
}
