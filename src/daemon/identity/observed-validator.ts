import type { Observer } from '../trace/observer.ts';
import type { TokenValidator } from './identity.ts';

/** Wraps a validator, to report the result of each validation to the observer. */
export function observedValidator(
  validator: TokenValidator,
  observer: Pick<Observer, 'tokenChecked'>,
): TokenValidator {
  return {
    async validate(token, request_id) {
      const verdict = await validator.validate(token, request_id);
      observer.tokenChecked(
        verdict.valid ? 'valid' : verdict.reason,
        verdict.valid ? verdict.key : undefined,
      );
      return verdict;
    },
  };
}
