import fc from 'fast-check'

/** A request before it is adapted to a route and a user. */
export type Draft = {
  route: number
  caller: number
  /** Null uses the route's method. */
  method: string | null
  /** Replaces each `:name` of the path; null is an existing resource of the caller. */
  id: string | null
  suffix: string
  query: [name: string, value: string][]
  headers: [name: string, value: string][]
  contentType: string | null
  body: BodyDraft
}

/** `changed` modifies a body that the route accepts. */
export type BodyDraft =
  | { kind: 'valid' }
  | { kind: 'none' }
  | { kind: 'changed'; changes: Change[] }
  | { kind: 'json'; value: unknown }
  | { kind: 'cut'; length: number }
  | { kind: 'text'; text: string }
  | { kind: 'bytes'; bytes: Uint8Array<ArrayBuffer> }

/** Sets the existing field with the index `field`, or the field `name` if given. */
export type Change = { field: number; name: string | null; value: unknown }

const QUERY_NAMES = [
  ...['agentId', 'limit', 'before', 'userId', 'days', 'period', 'action', 'path', 'q', 'in', 'origin', 'code', 'state'],
  ...['token', 'cursor', 'after', 'page', 'model', 'url', 'sort', 'email', 'redirect', '__proto__', 'constructor'],
]
const HOSTILE_TEXT = [
  ...[
    '',
    ' ',
    '\0',
    'a\0b',
    '\u{1F600}',
    '\u202Eabc',
    '\uFEFF',
    'é'.repeat(300),
    '../../etc/passwd',
    '%00',
    '%',
    '%zz',
  ],
  ...[
    'null',
    'undefined',
    'NaN',
    '-1',
    '0',
    '1e999',
    '99999999999999999999',
    '0x10',
    "'; DROP TABLE users; --",
    '<script>',
  ],
  ...[
    '__proto__',
    'constructor',
    'toString',
    'hasOwnProperty',
    'http://127.0.0.1:1/',
    'javascript:alert(1)',
    'file:///etc',
  ],
  ...[
    'x'.repeat(5000),
    '{"a":1}',
    '[]',
    'a@b.c',
    '2026-02-30T99:99:99Z',
    '* * * * *',
    'sk_',
    'usr_',
    '\ud800',
    '\n',
    '\r\n',
  ],
]
const HOSTILE_NUMBERS = [
  0,
  -0,
  -1,
  0.1,
  1.5,
  1e21,
  1e308,
  -1e308,
  2 ** 31,
  2 ** 53,
  -(2 ** 63),
  Number.MIN_VALUE,
  8.64e15 + 1,
]

const hostileText = fc.oneof(fc.constantFrom(...HOSTILE_TEXT), fc.string({ unit: 'binary', maxLength: 40 }))
const headerText = fc.oneof(
  fc.constantFrom('', 'a', '*', '*/*;q=x', 'Bearer', 'Bearer  ', 'Basic Og==', '1e9', '"', ',,,', 'x'.repeat(4000)),
  fc.string({ maxLength: 30 }).map((text) => text.replace(/[^\x20-\x7e]/g, '').trim()),
)
const value = fc.oneof(
  { weight: 4, arbitrary: hostileText },
  { weight: 3, arbitrary: fc.constantFrom<unknown>(null, true, false, [], {}, [[]], [null], '', ...HOSTILE_NUMBERS) },
  { weight: 2, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 70 }).map(toNested) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<unknown>({ __proto__: null, constructor: { prototype: { isAdmin: true } } }),
  },
  { weight: 1, arbitrary: fc.constantFrom(2000, 60_000).map((length) => Array.from({ length }, (_, index) => index)) },
)
const change = fc.record<Change>({
  field: fc.nat(9),
  name: fc.option(fc.constantFrom('__proto__', 'constructor', 'isAdmin', 'plan', 'id', 'userId', 'ownerId', 'length')),
  value,
})
const body: fc.Arbitrary<BodyDraft> = fc.oneof(
  { weight: 2, arbitrary: fc.constant<BodyDraft>({ kind: 'valid' }) },
  { weight: 1, arbitrary: fc.constant<BodyDraft>({ kind: 'none' }) },
  {
    weight: 8,
    arbitrary: fc
      .array(change, { minLength: 1, maxLength: 3 })
      .map((changes): BodyDraft => ({ kind: 'changed', changes })),
  },
  { weight: 2, arbitrary: value.map((json): BodyDraft => ({ kind: 'json', value: json })) },
  { weight: 1, arbitrary: fc.nat(60).map((length): BodyDraft => ({ kind: 'cut', length })) },
  { weight: 1, arbitrary: hostileText.map((text): BodyDraft => ({ kind: 'text', text })) },
  {
    weight: 1,
    arbitrary: fc
      .uint8Array({ maxLength: 200 })
      .map((bytes): BodyDraft => ({ kind: 'bytes', bytes: new Uint8Array(bytes) })),
  },
)
const HEADER_NAMES = [
  ...[
    'accept',
    'accept-encoding',
    'range',
    'if-none-match',
    'origin',
    'referer',
    'sec-fetch-site',
    'x-csrf-token',
    'prefer',
  ],
  ...[
    'x-forwarded-for',
    'x-forwarded-proto',
    'idempotency-key',
    'x-user-id',
    'x-user-plan',
    'user-agent',
    'webhook-id',
  ],
  ...[
    'webhook-signature',
    'webhook-timestamp',
    'x-request-id',
    'last-event-id',
    'x-session-key',
    'authorization',
    'cookie',
  ],
]

/** Returns `count` drafts that depend only on the seed. */
export function draftRequests(seed: number, count: number): Draft[] {
  const draft = fc.record<Draft>({
    route: fc.nat(),
    caller: fc.nat(),
    method: fc.oneof(
      { weight: 9, arbitrary: fc.constant(null) },
      { weight: 1, arbitrary: fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS') },
    ),
    id: fc.oneof({ weight: 5, arbitrary: fc.constant(null) }, { weight: 2, arbitrary: hostileText }),
    suffix: fc.oneof(
      { weight: 20, arbitrary: fc.constant('') },
      { weight: 1, arbitrary: fc.constantFrom('/', '//', '/..', '/%2e%2e/', '%00', '%ff', ';a=b', '/x/y/z', '.json') },
    ),
    query: fc.array(fc.tuple(fc.constantFrom(...QUERY_NAMES), hostileText), { maxLength: 3 }),
    headers: fc.array(fc.tuple(fc.constantFrom(...HEADER_NAMES), headerText), { maxLength: 2 }),
    contentType: fc.oneof(
      { weight: 9, arbitrary: fc.constant('application/json') },
      {
        weight: 2,
        arbitrary: fc.constantFrom(null, 'text/plain', 'application/json; charset=utf-16', 'multipart/form-data', 'a'),
      },
    ),
    body,
  })
  return fc.sample(draft, { seed, numRuns: count })
}

function toNested(depth: number): unknown {
  let nested: unknown = 1
  for (let level = 0; level < depth; level++) nested = level % 2 === 0 ? [nested] : { a: nested }
  return nested
}
