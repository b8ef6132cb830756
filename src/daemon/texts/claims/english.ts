import { anyOf, type ClaimPatterns, pattern } from './claim-patterns.ts';

/** What agents say that they did. Words such as `checked` and `found` change nothing, and `confirmed` means two things. */
const DONE = anyOf(`
  activated added adjusted amended applied approved archived arranged assigned attached blocked booked bought cancell?ed
  changed charged cleared closed completed converted copied corrected created credited deactivated debited deleted
  deployed disabled dismissed downgraded edited e-?mailed enabled enroll?ed escalated exchanged
  executed extended filed finali[sz]ed fixed forwarded frozen granted initiated inserted installed invited issued
  launched locked logged lowered marked merged modified moved notified opened ordered paid paused placed posted
  processed published purchased raised rebooked recorded redeemed refunded registered rejected released removed renamed
  renewed reordered replaced reported requested rescheduled reserved reset resolved restarted restored resumed
  returned reversed revoked saved scheduled sent set shared signed stored submitted subscribed suspended
  swapped switched terminated transferred triggered unblocked unlocked unsubscribed updated upgraded uploaded voided
  waived withdrawn withdrew wired
`);

/** What is said to be so now, as an announcement. */
const STATE = anyOf(`
  booked(?!\\s(?:out|up|solid)) cancell?ed changed completed confirmed deleted done finali[sz]ed paid refunded removed rescheduled reserved saved
  submitted updated
`);

/** What a short notice is about: "Email sent". */
const THING = anyOf(`
  account address alarm appointment booking cancellation changes? emails? e-mails? event file invitation invite invoice
  item meeting messages? note order password payment purchase record refund reminder request reservation subscription
  task ticket transfer update
`);

const parts = {
  DONE: `${DONE}|(?:turned|switched|checked|signed|logged) (?:on|off|in|out|(?:you|it|them|everyone) (?:on|off|in|out))|taken care of|put (?:in|through|a|an|your|the|it)`,
  STATE: `${STATE}|taken care of|set (?:for|to)`,
  THING,
  ADV: anyOf('just now also already successfully immediately then officially finally safely both all gone'),
  I: "(?:i|we)(?:'ve| have)?",
};

export const ENGLISH: ClaimPatterns = {
  own: [
    pattern(String.raw`\b<I>(?: <ADV>){0,3} <DONE>\b`, parts),
    pattern(String.raw`\b<I>(?: <ADV>){0,2} (?:gone|went) ahead and (?:<ADV> )?<DONE>\b`, parts),
    pattern(String.raw`\b<I>(?: <ADV>){0,2} (?:made|done) (?:the|that|this|it|your|all)\b`, parts),
    pattern(String.raw`\b<I>(?: <ADV>)? (?:took|taken) care of\b`, parts),
    pattern(
      String.raw`\b<I>(?: <ADV>)? (?:turned|switched|taken|took|put) (?:\S+ ){1,5}(?:on|off|out|up|down|back)\b`,
      parts,
    ),
    pattern(String.raw`\b<I>(?: <ADV>)? got (?:you|it|that|this|them)(?: all)? <DONE>\b`, parts),
    pattern('^(?:your |the )?<THING> (?:successfully )?<DONE>(?: (?:to|for|from) .{1,60})?$', parts),
    pattern(String.raw`^(?:all |that's |it's |it is |and )*(?:done|all set)(?=$|[\s]*[,;:.!–—-])`),
    pattern(String.raw`^(?:you're|you are|everything is|everything's) (?:now )?all set\b`),
    pattern(String.raw`\bconsider (?:it|that) done\b`),
    pattern('^(?:and )?(?:successfully )?<DONE>$', parts),
    pattern(String.raw`^successfully <DONE>\b`, parts),
  ],
  passive: [
    pattern(String.raw`\b(?:has|have)(?: <ADV>){0,2} been (?:<ADV> ){0,2}(?:\p{L}+ and )?<DONE>\b`, parts),
    pattern(String.raw`\b(?:was|were) (?:<ADV> ){0,2}<DONE>\b`, parts),
    pattern(String.raw`(?:\b(?:is|are)|'(?:s|re)) (?:<ADV> ){1,2}<DONE>\b`, parts),
    pattern(String.raw`(?:\bis|'s|'re) <STATE>\b`, parts),
    pattern(String.raw`\b(?:your|both|all|these|those|they|you)\b.{0,40} are <STATE>\b`, parts),
    pattern(
      String.raw`\b(?:e-?mail|message|refund|confirmation|invitation)\b.{0,30} (?:is|are) on (?:its|the|their) way\b`,
    ),
    pattern(String.raw`\b(?:changes?|update|new \p{L}+) (?:is|are) (?:now )?live\b`),
    pattern(String.raw`\b(?:is|are) now (?:on|off|live|active|inactive)\b`),
    pattern(
      String.raw`\b(?:transfers?|payments?|changes?|bookings?|reservations?|requests?|orders?|corrections?)\b.{0,30} (?:has|have) been made\b`,
    ),
    pattern(
      String.raw`\b(?:payment|transfer|refund|order|booking|purchase|request|change)\b[^?!]{0,40} (?:went|has gone) through\b`,
    ),
    pattern(
      String.raw`\b(?:order|booking|reservation|appointment|payment|transfer|change|cancellation|refund) (?:confirmed|complete|completed|successful)$`,
    ),
  ],
  denied: pattern(
    String.raw`\b(?:not|never|nothing|nobody|none|neither|nor|without|unable|cannot|no(?! ?\.? ?\d)|could|would|should|might|may|can(?! confirm)|will|must|if|unless|once|when|whenever|after|before|until|as soon as|while|in case|whether|because|since|assuming|looks? like|seems?|appears?|i (?:can )?(?:see|found)|i've found|shows?|says?|states?|reports? that|according to|of which|to be)\b|n't\b|'(?:ll|d)\b|\b(?:that|which|who) (?:has|have|is|are|was|were)\b|\b(?<!(?:can|to|happy to|i) )(?:confirmed|said|told \w+|reported) (?:that )?`,
  ),
  elsewhere: pattern(
    String.raw`\b(?:yesterday|ago|already|previously|originally|earlier (?:today|this)|last (?:week|month|year|night|time|\w+day)|on (?:the )?\d+(?:st|nd|rd|th)?|on (?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\p{L}*|on (?:mon|tues|wednes|thurs|fri|satur|sun)day|in (?:january|february|march|april|may|june|july|august|september|october|november|december|20\d\d)|by (?:the|a|an|your|our|his|her|their|its|another|someone|somebody)|(?:is|are|was) (?:listed|marked|shown|recorded|registered) as|within \S+ (?:\p{L}+ )?(?:minutes|hours|days|weeks)|according to|last)\b`,
  ),
  asks: pattern(
    String.raw`^(?:so |and |or |but )?(?:do|does|did|is|are|was|were|has|have|had|can|could|would|will|shall|should|may|which|what|when|where|who|how|why)(?:n't)?\b`,
  ),
  tag: pattern(
    "^(?:right|correct|okay|ok|yes|no|or not|(?:is|was|has|have|did|does|do)n't (?:it|you|they|that)|is it|was it|has it)$",
  ),
};
