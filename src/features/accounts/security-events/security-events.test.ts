import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { eq, sql } from 'drizzle-orm'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import {
  type EventIssuer,
  forge,
  settingsFor,
  startEventIssuer,
} from '../../../../tests/harness/doubles/event-issuer.ts'
import { startJobs } from '../../../../tests/harness/jobs.ts'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { until } from '../../../../tests/harness/until.ts'
import { sha256 } from '../../../core/secrets.ts'
import { write } from '../../../db/write.ts'
import { auditLog } from '../audit/tables.ts'
import { identities } from '../sign-in/tables.ts'
import { sessions, users } from '../users/tables.ts'
import { securityEvents } from './tables.ts'

const RISC = 'https://schemas.openid.net/secevent/risc/event-type/'
const OAUTH = 'https://schemas.openid.net/secevent/oauth/event-type/'
const SUBJECT = 'subject-of-ada'
const LEGACY = '/api/auth/idp-b/risc'
const CURRENT = '/api/security/risc'

let issuer: EventIssuer
beforeAll(async () => {
  issuer = await startEventIssuer()
})
afterAll(() => issuer[Symbol.dispose]())

/** Ada, signed in twice and linked to the issuer, on a platform that listens to it. */
async function adaAtHome(from: EventIssuer = issuer, environment: Record<string, string> = {}) {
  const test = testPlatform({ environment: { ...settingsFor(from), ...environment } })
  const { platform, web, clock } = test
  const { user, cookie } = await test.signIn('ada@example.com')
  await platform.sessions.create(user.id)
  const link = { issuer: from.issuer, subject: SUBJECT, userId: user.id, provider: 'idp-b', email: user.email } as const
  await write(platform.db, (tx) => {
    tx.update(users).set({ emailVerifiedAt: clock.now() }).where(eq(users.id, user.id)).run()
    tx.insert(identities)
      .values({
        ...link,
        refreshToken: 'sealed',
        refreshTokenHash: sha256('refresh-token'),
        createdAt: clock.now(),
        lastUsedAt: clock.now(),
      })
      .run()
  })
  const row = () => platform.db.select().from(users).where(eq(users.id, user.id)).get()
  return {
    ...test,
    user,
    cookie,
    row,
    send: (token: string, path = CURRENT, headers: Record<string, string> = {}) =>
      web.request(path, { method: 'POST', body: token, headers }),
    sessionsLeft: () => platform.db.select().from(sessions).where(eq(sessions.userId, user.id)).all().length,
    identity: () => platform.db.select().from(identities).where(eq(identities.userId, user.id)).get(),
    events: () => platform.db.select().from(securityEvents).all(),
    audit: () =>
      platform.db
        .select()
        .from(auditLog)
        .all()
        .filter(({ action }) => action.startsWith('security-event.')),
    /** Waits until every stored event was acted on. */
    settled: () =>
      until('events handled', () => {
        const rows = platform.db.select().from(securityEvents).all()
        return rows.length > 0 && rows.every(({ handledAt }) => handledAt !== null)
      }),
  }
}

function revoked(subject: unknown = { sub: SUBJECT }): Record<string, unknown> {
  return { events: { [`${RISC}sessions-revoked`]: { subject } } }
}

describe('effects of events', () => {
  test.each([
    [
      'account-disabled, hijacking',
      { [`${RISC}account-disabled`]: { subject: { sub: SUBJECT }, reason: 'hijacking' } },
      0,
      true,
    ],
    [
      'account-disabled, bulk',
      { [`${RISC}account-disabled`]: { subject: { sub: SUBJECT }, reason: 'bulk-account' } },
      0,
      false,
    ],
    ['account-disabled, no reason', { [`${RISC}account-disabled`]: { subject: { sub: SUBJECT } } }, 0, false],
    ['sessions-revoked', { [`${RISC}sessions-revoked`]: { subject: { sub: SUBJECT } } }, 0, false],
    ['tokens-revoked', { [`${OAUTH}tokens-revoked`]: { subject: { sub: SUBJECT } } }, 0, false],
    ['credential change', { [`${RISC}account-credential-change-required`]: { subject: { sub: SUBJECT } } }, 2, false],
    ['verification', { [`${RISC}verification`]: { state: 'hello' } }, 2, false],
    ['an unknown event', { 'https://example.com/party': { subject: { sub: SUBJECT } } }, 2, false],
    [
      'two events',
      { [`${RISC}verification`]: {}, [`${RISC}sessions-revoked`]: { subject: { sub: SUBJECT } } },
      0,
      false,
    ],
    ['a linked e-mail', { [`${RISC}sessions-revoked`]: { subject: { email: 'Ada@example.com' } } }, 0, false],
    [
      'another issuer’s subject',
      { [`${RISC}sessions-revoked`]: { subject: { iss: 'https://evil.example', sub: SUBJECT } } },
      2,
      false,
    ],
    [
      'an unknown subject with her e-mail',
      { [`${RISC}sessions-revoked`]: { subject: { sub: 'other', email: 'ada@example.com' } } },
      0,
      false,
    ],
    ['an odd body', { [`${RISC}sessions-revoked`]: 'what' }, 2, false],
  ])('POST /api/security/risc: 202 for %s', async (_name, events, left, isDisabled) => {
    const ada = await adaAtHome()
    await using _jobs = startJobs(ada.platform)
    const response = await ada.send(await issuer.sign({ events }))
    expect([response.status, await response.text()]).toEqual([202, ''])
    await ada.settled()
    expect(ada.sessionsLeft()).toBe(left)
    expect(ada.row()?.externalSignInDisabledAt !== null).toBe(isDisabled)
    expect(ada.audit()).toHaveLength(Object.keys(events).length)
  })

  test('POST /api/security/risc: 202 for account-enabled, which allows external sign-in again', async () => {
    const ada = await adaAtHome()
    await using _jobs = startJobs(ada.platform)
    const hijacked = { [`${RISC}account-disabled`]: { subject: { sub: SUBJECT }, reason: 'hijacking' } }
    await ada.send(await issuer.sign({ events: hijacked }))
    await until('disabled', () => ada.row()?.externalSignInDisabledAt)
    await ada.send(await issuer.sign({ events: { [`${RISC}account-enabled`]: { subject: { sub: SUBJECT } } } }))
    await until('enabled', () => ada.row()?.externalSignInDisabledAt === null)
    expect(ada.audit().map(({ action, actor, target }) => [action, actor, target])).toEqual([
      ['security-event.account-disabled', 'system', ada.user.id],
      ['security-event.account-enabled', 'system', ada.user.id],
    ])
  })

  test.each([
    ['tokens-revoked by subject', 'tokens-revoked', { sub: SUBJECT }],
    ['token-revoked by token', 'token-revoked', { subject_type: 'oauth_token', token: 'refresh-token' }],
    ['tokens-revoked by hash', 'tokens-revoked', { token: sha256('refresh-token') }],
  ])('POST /api/security/risc: 202 for %s, which deletes the stored refresh token', async (_name, event, subject) => {
    const ada = await adaAtHome()
    await using _jobs = startJobs(ada.platform)
    await ada.send(await issuer.sign({ events: { [`${OAUTH}${event}`]: { subject } } }))
    await ada.settled()
    expect(ada.identity()).toMatchObject({ refreshToken: null, refreshTokenHash: null })
    expect(ada.sessionsLeft()).toBe(0)
  })

  test.each([
    ['e-mail alone', { email: 'Bo@example.com' }],
    ['an unknown subject and e-mail', { sub: 'subject-of-bo', email: 'bo@example.com' }],
    ['an unknown token and e-mail', { token: 'token-of-bo', email: 'bo@example.com' }],
  ])(
    'POST /api/security/risc: 202 ends the sessions of an account that never linked the provider, by %s',
    async (_by, subject) => {
      const ada = await adaAtHome()
      const bo = await ada.signIn('bo@example.com')
      await using _jobs = startJobs(ada.platform)
      await ada.send(await issuer.sign(revoked(subject)))
      await ada.settled()
      expect(await ada.platform.sessions.find(bo.token)).toBeNull()
      expect(ada.events()[0]?.outcome).toBe(`sessions-revoked: ${bo.user.id}`)
      expect(ada.sessionsLeft()).toBe(2)
    },
  )

  test.each([
    ['an unknown e-mail', { email: 'eve@example.com' }],
    ['an unknown subject', { sub: 'subject-of-bo' }],
    ['an e-mail at another issuer', { iss: 'https://evil.example', email: 'bo@example.com' }],
  ])('POST /api/security/risc: 202 and no session ends for %s', async (_by, subject) => {
    const ada = await adaAtHome()
    const bo = await ada.signIn('bo@example.com')
    await using _jobs = startJobs(ada.platform)
    await ada.send(await issuer.sign(revoked(subject)))
    await ada.settled()
    expect(await ada.platform.sessions.find(bo.token)).not.toBeNull()
    expect(ada.events()[0]?.outcome).toBe('sessions-revoked: nobody here')
  })

  test('POST /api/security/risc: 202 when the issuer of events ends with a slash and the one of accounts does not', async () => {
    const ada = await adaAtHome(issuer, { RISC_ISSUER: `${issuer.issuer}/` })
    await using _jobs = startJobs(ada.platform)
    const subject = { subject_type: 'iss-sub', iss: `${issuer.issuer}/`, sub: SUBJECT }
    expect((await ada.send(await issuer.sign({ ...revoked(subject), iss: `${issuer.issuer}/` }))).status).toBe(202)
    await ada.settled()
    expect(ada.sessionsLeft()).toBe(0)
  })

  test('POST /api/security/risc: 202 and other users stay signed in when the event is about Ada', async () => {
    const ada = await adaAtHome()
    const bo = await ada.signIn('bo@example.com')
    await using _jobs = startJobs(ada.platform)
    await ada.send(await issuer.sign(revoked()))
    await ada.settled()
    expect(await ada.platform.sessions.find(bo.token)).not.toBeNull()
    expect(await (await ada.web.request('/api/auth/session', { headers: ada.cookie })).json()).toEqual({ user: null })
  })
})

describe('valid tokens', () => {
  test.each<[string, Record<string, unknown>, Record<string, unknown>]>([
    ['aud as a list', { aud: ['other', 'stead-client'] }, {}],
    ['typ secevent+jwt', {}, { typ: 'secevent+jwt' }],
    ['typ JWT', {}, { typ: 'JWT' }],
    ['iat 20 days ago', { iat: now() - 20 * 86_400 }, {}],
    ['iat 50 s ahead', { iat: now() + 50 }, {}],
    ['an exp that is over', { exp: now() - 86_400 }, {}],
  ])('POST /api/security/risc: 202 for %s', async (_name, claims, header) => {
    const ada = await adaAtHome()
    expect((await ada.send(await issuer.sign({ ...revoked(), ...claims }, header))).status).toBe(202)
    expect(ada.events()).toHaveLength(1)
  })

  test.each(['application/secevent+jwt', 'application/json', 'text/plain', 'application/x-www-form-urlencoded'])(
    'POST /api/security/risc: 202 whatever the content type: %s',
    async (contentType) => {
      const ada = await adaAtHome()
      const response = await ada.send(await issuer.sign(revoked()), CURRENT, { 'content-type': contentType })
      expect(response.status).toBe(202)
    },
  )
})

describe('invalid tokens', () => {
  const refusals: [string, (from: EventIssuer) => Promise<string> | string, err: string][] = [
    ['no token', () => 'hello', 'invalid_request'],
    ['two parts', () => 'a.b', 'invalid_request'],
    ['rubbish in three parts', () => 'a.b.c', 'invalid_request'],
    ['another issuer', (from) => from.sign({ ...revoked(), iss: 'https://evil.example' }), 'invalid_issuer'],
    ['the issuer with a slash more', (from) => from.sign({ ...revoked(), iss: `${from.issuer}/` }), 'invalid_issuer'],
    ['no issuer', (from) => from.sign({ ...revoked(), iss: undefined }), 'invalid_issuer'],
    ['another audience', (from) => from.sign({ ...revoked(), aud: 'other' }), 'invalid_audience'],
    ['other audiences', (from) => from.sign({ ...revoked(), aud: ['a', 'b'] }), 'invalid_audience'],
    ['no audience', (from) => from.sign({ ...revoked(), aud: undefined }), 'invalid_audience'],
    ['an unknown key', (from) => from.sign(revoked(), { kid: 'made-up' }), 'invalid_key'],
    ['no kid', (from) => from.sign(revoked(), { kid: undefined }), 'invalid_key'],
    ['its own key', async (from) => signedByStranger(from, true), 'invalid_key'],
    ['a key at its own address', (from) => from.sign(revoked(), { jku: 'https://evil.example/keys' }), 'invalid_key'],
    [
      'a certificate at its own address',
      (from) => from.sign(revoked(), { x5u: 'https://evil.example' }),
      'invalid_key',
    ],
    ['a stranger’s signature', (from) => signedByStranger(from, false), 'authentication_failed'],
    ['an altered payload', async (from) => alter(await from.sign(revoked())), 'authentication_failed'],
    ['another kind of token', (from) => from.sign(revoked(), { typ: 'at+jwt' }), 'invalid_request'],
    ['no jti', (from) => from.sign({ ...revoked(), jti: undefined }), 'invalid_request'],
    ['no events, as in an ID token', (from) => from.sign({ sub: SUBJECT }), 'invalid_request'],
    ['empty events', (from) => from.sign({ events: {} }), 'invalid_request'],
    ['iat an hour ahead', (from) => from.sign({ ...revoked(), iat: now() + 3600 }), 'invalid_request'],
    [
      'iat longer ago than events are remembered',
      (from) => from.sign({ ...revoked(), iat: now() - 401 * 86_400 }),
      'invalid_request',
    ],
    ['alg none', (from) => forge({ alg: 'none', kid: 'key-1' }, claimsOf(from)), 'invalid_key'],
    ['alg HS256', (from) => forge({ alg: 'HS256', kid: 'key-1' }, claimsOf(from), 'the public key'), 'invalid_key'],
  ]

  test.each(refusals)('POST /api/security/risc: 400 for %s, and nothing is stored', async (_name, make, err) => {
    const ada = await adaAtHome()
    const response = await ada.send(await make(issuer))
    expect(response.status).toBe(400)
    expect(await response.json()).toEqual({ error: 'Invalid token', err })
    expect(ada.events()).toEqual([])
    expect(ada.sessionsLeft()).toBe(2)
  })

  test.each(refusals.filter(([name]) => name !== 'no jti'))(
    'POST /api/auth/idp-b/risc: 400 for %s',
    async (_n, make) => {
      const ada = await adaAtHome()
      const response = await ada.send(await make(issuer), LEGACY)
      expect(response.status).toBe(400)
      expect(await response.json()).toMatchObject({ error: 'Invalid token' })
      expect(ada.events()).toEqual([])
    },
  )

  test('POST /api/security/risc: 400 Empty body, 413 above 1 MB', async () => {
    const ada = await adaAtHome()
    for (const body of ['', ' \n']) {
      const response = await ada.send(body)
      expect(response.status).toBe(400)
      expect(await response.json()).toEqual({ error: 'Empty body', err: 'invalid_request' })
    }
    expect((await ada.send('x'.repeat(1024 * 1024 + 1))).status).toBe(413)
  })

  test('POST /api/security/risc: 400 when no audience is configured', async () => {
    const ada = await adaAtHome(issuer, { RISC_AUDIENCES: '' })
    const response = await ada.send(await issuer.sign(revoked()))
    expect(response.status).toBe(400)
    expect(await response.json()).toEqual({ error: 'Invalid token', err: 'invalid_audience' })
  })
})

describe('order of the checks', () => {
  test('POST /api/security/risc: 400 for issuer, then audience, before keys are fetched', async () => {
    using from = await startEventIssuer()
    const ada = await adaAtHome(from)
    const wrong = { ...revoked(), iss: 'https://evil.example', aud: 'other' }
    const errOf = async (claims: Record<string, unknown>) =>
      (await ada.send(await from.sign(claims, { kid: 'made-up' }))).json()
    expect(await errOf(wrong)).toEqual({ error: 'Invalid token', err: 'invalid_issuer' })
    expect(await errOf({ ...wrong, iss: from.issuer })).toEqual({ error: 'Invalid token', err: 'invalid_audience' })
    expect(from.keyFetches()).toBe(0)
    expect(await errOf(revoked())).toEqual({ error: 'Invalid token', err: 'invalid_key' })
    expect(from.keyFetches()).toBeGreaterThan(0)
  })

  test.each([CURRENT, LEGACY])(
    'POST %s: 500 when the event cannot be stored, so that the issuer sends it again',
    async (path) => {
      const ada = await adaAtHome()
      const token = await issuer.sign({ ...revoked(), sub: 'ada@example.com' })
      await write(ada.platform.db, (tx) => tx.run(sql`drop table security_events`))
      const response = await ada.send(token, path)
      expect([response.status, await response.json()]).toEqual([500, { error: 'Internal error' }])
    },
  )
})

describe('the issuer’s keys', () => {
  test('are fetched once in 24 hours', async () => {
    using own = await startEventIssuer()
    const ada = await adaAtHome(own)
    const send = async () => (await ada.send(await own.sign(revoked()))).status
    expect([await send(), await send()]).toEqual([202, 202])
    ada.clock.advance(24 * 3_600_000 - 1)
    expect(await send()).toBe(202)
    expect(own.keyFetches()).toBe(1)
    ada.clock.advance(1)
    expect(await send()).toBe(202)
    expect(own.keyFetches()).toBe(2)
  })

  test('are fetched again for an unknown kid, at most every 30 s', async () => {
    using own = await startEventIssuer()
    const ada = await adaAtHome(own)
    await ada.send(await own.sign(revoked()))
    const old = await own.sign(revoked())
    await own.rotate()
    ada.clock.advance(30_000)
    expect((await ada.send(await own.sign(revoked()))).status).toBe(202)
    expect((await ada.send(old)).status).toBe(400)
    const flood = Array.from({ length: 50 }, (_, n) => own.sign(revoked(), { kid: `made-up-${n}` }))
    await Promise.all((await Promise.all(flood)).map((token) => ada.send(token)))
    expect(own.keyFetches()).toBe(2)
  })

  test('are used from the cache while the issuer is unreachable; without a cache 400, and nothing is stored', async () => {
    using own = await startEventIssuer()
    const ada = await adaAtHome(own)
    own.answerWith(503)
    expect((await ada.send(await own.sign(revoked()))).status).toBe(400)
    expect((await ada.send(await own.sign(revoked()), LEGACY)).status).toBe(400)
    expect(ada.events()).toEqual([])
    own.answerWith(200)
    ada.clock.advance(5000)
    expect((await ada.send(await own.sign(revoked()))).status).toBe(202)
    own.answerWith(503)
    ada.clock.advance(60_000)
    expect((await ada.send(await own.sign(revoked()))).status).toBe(202)
    expect((await ada.send(await own.sign(revoked(), { kid: 'new' }))).status).toBe(400)
  })

  test('are fetched once for concurrent callers', async () => {
    using own = await startEventIssuer()
    const ada = await adaAtHome(own)
    const tokens = await Promise.all(Array.from({ length: 20 }, () => own.sign(revoked())))
    const statuses = await Promise.all(tokens.map(async (token) => (await ada.send(token)).status))
    expect(new Set(statuses)).toEqual(new Set([202]))
    expect(own.keyFetches()).toBe(1)
  })
})

test('POST /api/security/risc: 202 for 500 concurrent copies of a token, which is handled once', async () => {
  const ada = await adaAtHome()
  await using _jobs = startJobs(ada.platform)
  const token = await issuer.sign(revoked())
  const statuses = await Promise.all(Array.from({ length: 500 }, async () => (await ada.send(token)).status))
  expect(new Set(statuses)).toEqual(new Set([202]))
  await ada.settled()
  expect([ada.events().length, ada.audit().length]).toEqual([1, 1])

  const again = await ada.platform.sessions.create(ada.user.id)
  expect((await ada.send(token)).status).toBe(202)
  expect((await ada.send(token, LEGACY)).status).toBe(200)
  expect(await ada.platform.sessions.find(again)).not.toBeNull()
})

test('POST /api/security/risc: 202 for an event that is handled after a restart', async () => {
  const ada = await adaAtHome()
  expect((await ada.send(await issuer.sign(revoked()))).status).toBe(202)
  expect(ada.sessionsLeft()).toBe(2)
  await using _jobs = startJobs(ada.platform)
  await ada.settled()
  expect(ada.sessionsLeft()).toBe(0)
})

test('GET /api/security/risc: 200 with the six events, without credentials', async () => {
  const { web } = testPlatform()
  expect(await (await web.request(CURRENT)).json()).toEqual({
    status: 'ok',
    endpoint: CURRENT,
    description: expect.any(String),
    events_supported: [
      'account-disabled',
      'account-enabled',
      'sessions-revoked',
      'tokens-revoked',
      'account-credential-change-required',
      'verification',
    ],
  })
})

describe('the former route', () => {
  test.each([
    ['account-compromised', 0],
    ['account-disabled', 0],
    ['sessions-revoked', 0],
    ['identifier-changed', 0],
    ['account-enabled', 2],
    ['verification', 2],
  ])('POST /api/auth/idp-b/risc: 200 {received} for %s with an e-mail in sub', async (event, left) => {
    const ada = await adaAtHome()
    await using _jobs = startJobs(ada.platform)
    const events = { [`${RISC}${event}`]: { reason: 'hijacking' } }
    const response = await ada.send(await issuer.sign({ sub: 'ada@example.com', events }), LEGACY)
    expect([response.status, await response.json()]).toEqual([200, { received: true }])
    await ada.settled()
    expect(ada.sessionsLeft()).toBe(left)
    expect(ada.row()?.externalSignInDisabledAt).toBeNull()
  })

  test.each([
    ['the claim `sub`', { sub: 'bo@example.com', events: { [`${RISC}sessions-revoked`]: {} } }],
    ['the subject of the event', revoked({ email: 'bo@example.com' })],
    ['an unknown claim `sub` and the subject', { ...revoked({ email: 'bo@example.com' }), sub: 'subject-of-bo' }],
  ])(
    'POST /api/auth/idp-b/risc: 200 ends the sessions of an account that never linked the provider, by e-mail in %s',
    async (_where, claims) => {
      const ada = await adaAtHome()
      const bo = await ada.signIn('bo@example.com')
      await using _jobs = startJobs(ada.platform)
      expect((await ada.send(await issuer.sign(claims), LEGACY)).status).toBe(200)
      await ada.settled()
      expect(await ada.platform.sessions.find(bo.token)).toBeNull()
      expect(ada.sessionsLeft()).toBe(2)
    },
  )

  test('POST /api/auth/idp-b/risc: 200 for a token without jti, which is handled once', async () => {
    const ada = await adaAtHome()
    await using _jobs = startJobs(ada.platform)
    const token = await issuer.sign({ ...revoked(), sub: 'ada@example.com', jti: undefined })
    for (let count = 0; count < 3; count++) expect((await ada.send(token, LEGACY)).status).toBe(200)
    await ada.settled()
    expect([ada.events().length, ada.sessionsLeft()]).toEqual([1, 0])
  })

  test('POST /api/auth/idp-b/risc: 400 for 1,000 forged tokens, and no session ends', async () => {
    const ada = await adaAtHome()
    await using _jobs = startJobs(ada.platform)
    const claims = { ...claimsOf(issuer), sub: 'ada@example.com' }
    const headers = [{ alg: 'none' }, { alg: 'HS256', kid: 'key-1' }, { alg: 'RS256', kid: 'key-1' }, { alg: 'RS256' }]
    for (let count = 0; count < 1000; count++) {
      const token = forge(headers[count % headers.length] ?? {}, { ...claims, jti: `forged-${count}` }, 'secret')
      const response = await ada.send(token, LEGACY)
      if (response.status !== 400) throw new Error(`forged token ${count} got ${response.status}`)
    }
    expect(ada.events()).toEqual([])
    expect(ada.sessionsLeft()).toBe(2)
  })
})

function claimsOf(from: EventIssuer): Record<string, unknown> {
  return { iss: from.issuer, aud: 'stead-client', jti: 'forged', ...revoked() }
}

/** Right in everything but the key; `embedded` brings that key along. */
async function signedByStranger(from: EventIssuer, embedded: boolean): Promise<string> {
  const { privateKey, publicKey } = await generateKeyPair('RS256', { extractable: true })
  const jwk = embedded ? { jwk: await exportJWK(publicKey) } : {}
  return new SignJWT(claimsOf(from)).setProtectedHeader({ alg: 'RS256', kid: 'key-1', ...jwk }).sign(privateKey)
}

function alter(token: string): string {
  const [header = '', payload = '', signature = ''] = token.split('.')
  const claims = { ...JSON.parse(Buffer.from(payload, 'base64url').toString()), jti: 'another' }
  return [header, Buffer.from(JSON.stringify(claims)).toString('base64url'), signature].join('.')
}

function now(): number {
  return Math.floor(Date.now() / 1000)
}
