/**
 * What a channel's `send` throws when the platform did not take a text (`scope.deliveryFailed`). Anything
 * else that it throws counts as one that may be tried again.
 */
export class DeliveryFailed extends Error {
  /** The platform refused it; the same text will be refused again. */
  readonly final: boolean;
  /** Seconds that the platform asks to wait for. */
  readonly retryAfterSeconds: number;

  /** @param reason in the platform's words, for the operator; never a secret. */
  constructor(reason: string, { final, retryAfterSeconds }: { final: boolean; retryAfterSeconds?: number }) {
    super(reason);
    this.name = 'DeliveryFailed';
    this.final = final;
    this.retryAfterSeconds = retryAfterSeconds !== undefined && retryAfterSeconds > 0 ? retryAfterSeconds : 0;
  }
}
