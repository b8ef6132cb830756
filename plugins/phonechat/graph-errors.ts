/** What an error of the platform means for the message. */
export interface GraphError {
  /** Whether the same text would be refused again. */
  final: boolean;
  /** Minimum wait, in seconds. Undefined if the platform does not name one. */
  retry_after_seconds?: number;
  /** Set if the failure concerns the platform as a whole (`DeliveryFailure.platform`). */
  platform?: 'unreachable' | 'credentials';
  /** The problem with the account or its credentials. Undefined if the failure concerns only this message. */
  account?: string;
}

interface Meaning extends GraphError {
  codes: readonly number[];
}

/** A code in this range means that a permission is missing. */
const PERMISSIONS = { first: 200, last: 299 };
const REFUSED = 'the platform refuses PHONECHAT_ACCESS_TOKEN';
export const LACKS_PERMISSION = `${REFUSED}: it lacks a permission`;

/**
 * Documented codes that are more specific than their status (WhatsApp Business Platform, "Error codes"). For other
 * codes, the status decides: 408, 429 and 5xx are retried, 401 is a refusal of the credentials, and any other 4xx is
 * final.
 */
const MEANINGS: readonly Meaning[] = [
  // Rate limits. Some have status 400, and none of them has a header that says how long to wait.
  { codes: [130429], final: false },
  { codes: [131056], final: false, retry_after_seconds: 6 },
  { codes: [4, 80007], final: false, retry_after_seconds: 60 },
  // Failures of the platform. According to its documentation, the code matters and not the status. For example, 131000
  // is an error of unknown cause. It is documented with status 500, but also arrives with 400, and the same message is
  // accepted later.
  { codes: [1, 2, 131000, 131016, 131057, 133004, 133005], final: false },
  // The 24-hour window for replies is closed. 470 is an older code for the same error.
  { codes: [131047, 470], final: true },
  // The platform refuses the token: all replies wait until an operator sets another token.
  {
    codes: [0, 102, 190, 463, 467],
    final: false,
    platform: 'credentials',
    account: `${REFUSED}: it is wrong or has expired`,
  },
  // A problem with the account. The reply stays in the list of failed messages; send it again when the account works.
  { codes: [3, 10, 131005], final: true, account: LACKS_PERMISSION },
  { codes: [33], final: true, account: 'the platform does not know PHONECHAT_PHONE_NUMBER_ID' },
  { codes: [133010], final: true, account: 'the business number is not registered for the Cloud API' },
  { codes: [131031, 368], final: true, account: 'the business account is locked or restricted' },
  { codes: [131042], final: true, account: 'the business account has a payment problem' },
  { codes: [131037, 131045], final: true, account: 'the business number is not ready to send' },
  { codes: [131048], final: true, account: 'the platform treats the business number as a sender of spam' },
];

const BY_CODE: ReadonlyMap<number, GraphError> = new Map(
  MEANINGS.flatMap(({ codes, ...meaning }) => codes.map((code) => [code, meaning] as const)),
);

/** @param subcode distinguishes objects that do not exist from other invalid parameters */
export function meaningOf(status: number, code: number | undefined, subcode: number | undefined): GraphError {
  const known = knownMeaning(code, subcode);
  if (known?.platform === 'credentials') return known;
  if (status >= 500) return { ...known, final: false, platform: 'unreachable' };
  const isTemporary = status === 408 || status === 429;
  if (known !== undefined) return isTemporary ? { ...known, final: false } : known;
  // The platform's API does not redirect. The answer comes from a proxy or gateway.
  if (status < 400) return { final: false, platform: 'unreachable' };
  if (status === 401) return { final: false, platform: 'credentials', account: REFUSED };
  return status === 403 ? { final: true, account: REFUSED } : { final: !isTemporary };
}

function knownMeaning(code: number | undefined, subcode: number | undefined): GraphError | undefined {
  if (code === undefined) return undefined;
  if (code === 100) return subcode === 33 ? BY_CODE.get(33) : undefined;
  if (code >= PERMISSIONS.first && code <= PERMISSIONS.last) return BY_CODE.get(10);
  return BY_CODE.get(code);
}
