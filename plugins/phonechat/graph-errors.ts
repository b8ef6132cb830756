/** What an error of the platform means for the message that it answers. */
export interface GraphError {
  /** The same text will be refused again. */
  final: boolean;
  /** Seconds to wait for at least; undefined where the platform does not say. */
  retryAfterSeconds?: number;
  /** Set if this concerns the platform as a whole (`DeliveryFailure.platform`). */
  platform?: 'unreachable' | 'credentials';
  /** What is the matter with our account or credentials; undefined where it is about this message alone. */
  account?: string;
}

interface Meaning extends GraphError {
  codes: readonly number[];
}

/** Codes in this range are permissions that were not granted or have been taken away. */
const PERMISSIONS = { first: 200, last: 299 };
const REFUSED = 'the platform refuses PHONECHAT_ACCESS_TOKEN';
export const LACKS_PERMISSION = `${REFUSED}: it lacks a permission`;

/**
 * The documented codes that say more than their status does (WhatsApp Business Platform, "Error codes"). All
 * others go by it: 429 and 5xx are tried again, any other 4xx is final (decisions §6).
 */
const MEANINGS: readonly Meaning[] = [
  // Rate. Some of them come with 400, and none of them with a header that says how long.
  { codes: [130429], final: false },
  { codes: [131056], final: false, retryAfterSeconds: 6 },
  { codes: [4, 80007], final: false, retryAfterSeconds: 60 },
  // Trouble of its own. The platform advises to go by the code: 131000, an error of unknown cause, is documented with
  // 500, comes with 400 as well, and the same message passes later.
  { codes: [1, 2, 131000, 131016, 131057, 133004, 133005], final: false },
  // The 24 hours within which a person can be answered have passed; 470 is the older code of the same.
  { codes: [131047, 470], final: true },
  // The token itself is refused: every reply waits until an operator has set another one.
  {
    codes: [0, 102, 190, 463, 467],
    final: false,
    platform: 'credentials',
    account: `${REFUSED}: it is wrong or has expired`,
  },
  // The account: the reply stays in the failed list, from where it can be sent once the account is in order.
  { codes: [3, 10, 131005], final: true, account: LACKS_PERMISSION },
  { codes: [33], final: true, account: 'the platform does not know PHONECHAT_PHONE_NUMBER_ID' },
  { codes: [133010], final: true, account: 'the business number is not registered for the Cloud API' },
  { codes: [131031, 368], final: true, account: 'the business account is locked or restricted' },
  { codes: [131042], final: true, account: 'the business account has a problem with its payment' },
  { codes: [131037, 131045], final: true, account: 'the business number is not ready to send' },
  { codes: [131048], final: true, account: 'the platform holds the business number for a sender of spam' },
];

const BY_CODE: ReadonlyMap<number, GraphError> = new Map(
  MEANINGS.flatMap(({ codes, ...meaning }) => codes.map((code) => [code, meaning] as const)),
);

/** @param subcode tells objects that do not exist from other invalid parameters */
export function meaningOf(status: number, code: number | undefined, subcode: number | undefined): GraphError {
  const known = knownMeaning(code, subcode);
  if (known?.platform === 'credentials') return known;
  if (status >= 500) return { ...known, final: false, platform: 'unreachable' };
  const isTemporary = status === 408 || status === 429;
  if (known !== undefined) return isTemporary ? { ...known, final: false } : known;
  // A redirection is no answer of the platform's API: something stands in between.
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
