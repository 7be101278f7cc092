/** A pattern that prose must not contain, and the term to use instead. */
type Rule = { pattern: RegExp; instead: string }

/** Words of the glossary that have a standard term. They are refused in comments, test titles, UI texts and documents. */
export const WORD_RULES: readonly Rule[] = [
  { pattern: /\brooms?\b/i, instead: 'feature' },
  { pattern: /\bwings?\b/i, instead: 'domain' },
  { pattern: /\bhouses?\b/i, instead: 'platform, installation or admin' },
  { pattern: /\bfaces?\b/i, instead: 'API (web, backend, summarizer)' },
  { pattern: /\bfloors?\b/i, instead: 'layer' },
  { pattern: /\bways? in\b/i, instead: 'sign-in method' },
  { pattern: /\b(?:stands?|standing) back\b|\bstood back\b/i, instead: 'standby' },
  { pattern: /\bresidences?\b/i, instead: 'instance ownership' },
  { pattern: /\b(?:tells?|told|telling)\b/i, instead: 'notify, report, return, log or say which' },
  { pattern: /\b(?:stands|stood)\b/i, instead: 'is, is listed in, is stored in' },
  { pattern: /\bknock(?:s|ed|ing)?\b/i, instead: 'connect' },
  { pattern: /\bnewcomers?\b/i, instead: 'new connection, new user' },
  { pattern: /\bshel(?:f|ves)\b/i, instead: 'backup store' },
  { pattern: /\bstrays?\b/i, instead: 'orphan' },
  { pattern: /\btortur(?:e|es|ed|ing)\b/i, instead: 'stress test' },
  { pattern: /\bdeeds?\b/i, instead: 'action' },
  { pattern: /\bdesks?\b/i, instead: 'a plain noun' },
  { pattern: /\buntold\b/i, instead: 'unknown, unreported' },
  { pattern: /\bupwards\b/i, instead: 'callbacks of higher domains' },
  { pattern: /\bso (?:many|much)\b/i, instead: 'the limit, the number, maxX' },
  { pattern: /\b(?:whoever|somebody|nobody)\b/i, instead: 'the caller, the owner, the visitor, no one' },
  { pattern: /\b(?:held|hold|holds) to a limit\b/i, instead: 'limited to' },
  { pattern: /\bset aside\b|\bsets aside\b|\bsetting aside\b/i, instead: 'reserve' },
]

/** Openings that leave a sentence without a concrete subject. */
export const OPENING = /^(?:What|Who|Whoever|Whose|Whether|So many|So much|Once|Has|Is it)\s/

/** Parts of identifiers and file names that the glossary replaced, in lower case words. */
export const NAME_WORDS: ReadonlySet<string> = new Set([
  ...['room', 'rooms', 'wing', 'wings', 'house', 'houses', 'residence', 'told', 'tell', 'tells', 'untold', 'shelf'],
  ...[
    'strays',
    'stray',
    'torture',
    'deed',
    'deeds',
    'newcomer',
    'newcomers',
    'upwards',
    'whoever',
    'nobody',
    'somebody',
  ],
])

/** Texts that are allowed to break a rule: the exact line as it is reported, and the reason. */
export const ALLOWED: ReadonlyMap<string, string> = new Map([])
