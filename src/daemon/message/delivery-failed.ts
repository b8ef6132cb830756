import type { DeliveryFailure } from '../../channel/index.ts';

/**
 * The error that a channel's `send` throws if the platform did not accept a text (`scope.deliveryFailed`). Unless it is
 * `final`, the text may be sent again, as after any other error.
 */
export class DeliveryFailed extends Error {
  /** Whether the platform refused this text and would refuse it again. */
  readonly final: boolean;
  /** How long the platform asks to wait, seconds; 0 if it does not ask. */
  readonly retry_after_seconds: number;
  /** What the failure means for the platform as a whole. Null if it concerns only this text or the rate of texts. */
  readonly platform: 'unreachable' | 'credentials' | null;

  /** @param reason the platform's own words, for the operator; never contains a secret. */
  constructor(reason: string, { final, retry_after_seconds = 0, platform }: DeliveryFailure) {
    super(reason);
    this.name = 'DeliveryFailed';
    this.platform = platform ?? null;
    // A platform that cannot be reached, or refuses the channel's credentials, has not judged the text.
    this.final = final && this.platform === null;
    this.retry_after_seconds = retry_after_seconds > 0 ? retry_after_seconds : 0;
  }
}
