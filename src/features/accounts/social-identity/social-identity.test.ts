import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { z } from 'zod'
import { type EventIssuer, forge, startEventIssuer } from '../../../../tests/harness/doubles/event-issuer.ts'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { json, read } from '../../../../tests/harness/requests.ts'

const VERIFY = '/api/auth/social-id/verify'
const REFRESH = '/api/auth/social-id/refresh'
const GATE = '/api/auth/token-gating/verify'
const ADDRESS = `0x${'Ab'.repeat(20)}`
const CONTRACT = `0x${'11'.repeat(20)}`

const Tokens = z.object({ sessionToken: z.string(), refreshToken: z.string() })

let issuer: EventIssuer
let chain: ReturnType<typeof startChain>
beforeAll(async () => {
  issuer = await startEventIssuer()
  chain = startChain()
})
afterAll(() => {
  issuer[Symbol.dispose]()
  chain.stop()
})

/** A Base RPC that returns the same balance for every address. */
function startChain() {
  let balance = 0n
  let status = 200
  let reads = 0
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      if (status !== 200) return new Response('down', { status })
      const Call = z.object({ id: z.number(), method: z.string() })
      const { id, method } = Call.parse(await request.json())
      if (method === 'eth_chainId') return Response.json({ jsonrpc: '2.0', id, result: '0x2105' })
      reads++
      return Response.json({ jsonrpc: '2.0', id, result: `0x${balance.toString(16).padStart(64, '0')}` })
    },
  })
  return {
    url: `${server.url.origin}/v2/secret-key`,
    origin: server.url.origin,
    reads: () => reads,
    hold: (amount: bigint) => {
      balance = amount
    },
    answerWith: (next: number) => {
      status = next
    },
    stop: () => server.stop(true),
  }
}

function configured(environment: Record<string, string> = {}) {
  chain.hold(0n)
  chain.answerWith(200)
  const test = testPlatform({
    environment: {
      SOCIAL_ID_ISSUER: issuer.issuer,
      SOCIAL_ID_AUDIENCE: 'stead-client',
      BASE_RPC_URL: chain.url,
      TOKEN_GATING_ADDRESS: CONTRACT,
      ...environment,
    },
  })
  return { ...test, post: (path: string, body: unknown) => test.web.request(path, json('POST', body)) }
}

const identityToken = (claims: Record<string, unknown> = {}, header: Record<string, unknown> = {}) =>
  issuer.sign({ sub: '1234', exp: Math.floor(Date.now() / 1000) + 300, ...claims }, header)

describe('POST /api/auth/social-id/verify', () => {
  test('200 with our tokens when the issuer signed the token', async () => {
    const { post, clock } = configured()
    const response = await post(VERIFY, { fidToken: await identityToken() })
    expect(response.status).toBe(200)
    const body = await response.json()
    expect(body).toEqual({
      success: true,
      sessionToken: expect.any(String),
      refreshToken: expect.any(String),
      address: null,
      message: 'Social identity verification successful',
      tokenGated: false,
      accessLevel: 'basic',
    })
    const claims = claimsOf(Tokens.parse(body).sessionToken)
    expect(claims).toMatchObject({ use: 'session', sub: '1234', address: null, verified: true })
    expect(claims.exp).toBe(Math.floor(clock.now().getTime() / 1000) + 86_400)
  })

  test('200 when the network has numeric user ids', async () => {
    const { post } = configured()
    const { sessionToken } = await read(Tokens, post(VERIFY, { fidToken: await identityToken({ sub: 77 }) }))
    expect(claimsOf(sessionToken).sub).toBe('77')
  })

  test.each<[string, () => Promise<string> | string]>([
    ['no token at all', () => 'hello'],
    ['another issuer', () => identityToken({ iss: 'https://evil.example' })],
    ['another audience', () => identityToken({ aud: 'other' })],
    ['a token past its time', () => identityToken({ exp: Math.floor(Date.now() / 1000) - 1 })],
    ['a token without an end', () => identityToken({ exp: undefined })],
    ['a token about nobody', () => identityToken({ sub: undefined })],
    ['an unknown key', () => identityToken({}, { kid: 'made-up' })],
    ['alg none', () => forge({ alg: 'none', kid: 'key-1' }, { iss: issuer.issuer, aud: 'stead-client', sub: '1' })],
    ['HS256', () => forge({ alg: 'HS256', kid: 'key-1' }, { iss: issuer.issuer, aud: 'stead-client', sub: '1' }, 'x')],
  ])('401 when the token is %s', async (_name, make) => {
    const { post } = configured()
    const response = await post(VERIFY, { fidToken: await make() })
    expect([response.status, await response.json()]).toEqual([401, { error: 'Invalid identity token' }])
  })

  test('401 without a token, 400 when the address is invalid', async () => {
    const { post } = configured()
    for (const body of [{}, { fidToken: '' }, { fidToken: 7 }]) {
      const response = await post(VERIFY, body)
      expect([response.status, await response.json()]).toEqual([401, { error: 'Missing Farcaster ID token' }])
    }
    expect((await post(VERIFY, { fidToken: 'x', address: '0x12' })).status).toBe(400)
  })

  test('200 premium when an address has enough tokens, 403 with the terms when not', async () => {
    const { post, clock } = configured()
    const ask = async () => post(VERIFY, { fidToken: await identityToken(), address: ADDRESS })
    chain.hold(10n ** 18n - 1n)
    const refused = await ask()
    expect(refused.status).toBe(403)
    expect(await refused.json()).toEqual({
      error: 'Token gating failed',
      message: expect.any(String),
      required: 'RAVE',
      minBalance: '1000000000000000000',
    })
    chain.hold(10n ** 18n)
    clock.advance(30_000)
    expect(await (await ask()).json()).toMatchObject({ address: ADDRESS, tokenGated: true, accessLevel: 'premium' })
  })

  test('503 without a token when an address is sent and the chain is unreachable', async () => {
    const { post } = configured()
    chain.answerWith(500)
    const response = await post(VERIFY, { fidToken: await identityToken(), address: ADDRESS })
    expect(response.status).toBe(503)
    expect(await response.text()).not.toContain('sessionToken')
  })

  test('503 when the issuer’s keys cannot be fetched', async () => {
    using down = await startEventIssuer()
    down.answerWith(500)
    const { post } = configured({ SOCIAL_ID_ISSUER: down.issuer })
    expect((await post(VERIFY, { fidToken: await down.sign({ sub: '1' }) })).status).toBe(503)
  })
})

describe('POST /api/auth/social-id/refresh', () => {
  test('200 with new tokens once per refresh token; a second use ends all tokens that descend from it', async () => {
    const { post } = configured()
    const first = await read(Tokens, post(VERIFY, { fidToken: await identityToken() }))
    const response = await post(REFRESH, { refreshToken: first.refreshToken })
    const body = await response.json()
    expect(body).toEqual({
      success: true,
      sessionToken: expect.any(String),
      refreshToken: expect.any(String),
      expiresIn: 86_400,
      message: 'Token refreshed successfully',
    })
    const second = Tokens.parse(body)
    expect(claimsOf(second.sessionToken).sub).toBe('1234')

    expect((await post(REFRESH, { refreshToken: first.refreshToken })).status).toBe(401)
    expect((await post(REFRESH, { refreshToken: second.refreshToken })).status).toBe(401)
    const other = await read(Tokens, post(VERIFY, { fidToken: await identityToken() }))
    expect((await post(REFRESH, { refreshToken: other.refreshToken })).status).toBe(200)
  })

  test('200 for one of 50 concurrent requests with one token', async () => {
    const { post } = configured()
    const { refreshToken } = await read(Tokens, post(VERIFY, { fidToken: await identityToken() }))
    const statuses = await Promise.all(
      Array.from({ length: 50 }, async () => (await post(REFRESH, { refreshToken })).status),
    )
    expect(statuses.filter((status) => status === 200)).toHaveLength(1)
    expect(statuses.filter((status) => status === 401)).toHaveLength(49)
  })

  test('401 when the token is of a session, modified, expired or invented', async () => {
    const { post, clock } = configured()
    const { sessionToken, refreshToken } = await read(Tokens, post(VERIFY, { fidToken: await identityToken() }))
    const [, signature = ''] = refreshToken.split('.')
    const altered = encode({ ...claimsOf(refreshToken), sub: 'somebody else' })
    const madeUp = encode({ fidToken: 'x', address: ADDRESS })
    for (const token of [sessionToken, `${altered}.${signature}`, madeUp, `${madeUp}.`, 'x', `${refreshToken}.x`]) {
      const response = await post(REFRESH, { refreshToken: token })
      expect([response.status, await response.json()]).toEqual([401, { error: 'Invalid refresh token' }])
    }
    clock.advance(30 * 86_400_000)
    expect((await post(REFRESH, { refreshToken })).status).toBe(401)
  })

  test('400 without a token', async () => {
    const { post } = configured()
    const response = await post(REFRESH, {})
    expect([response.status, await response.json()]).toEqual([400, { error: 'Missing refresh token' }])
  })
})

describe('token gating', () => {
  test('POST and GET /api/auth/token-gating/verify: 200 with the terms, and no secret of the RPC', async () => {
    const { post, web, clock } = configured()
    chain.hold(2n * 10n ** 18n)
    const terms = { hasAccess: true, tokenGated: true, minBalance: '1000000000000000000', token: 'RAVE', chain: 'base' }
    expect(await (await post(GATE, { fid: 7, address: ADDRESS })).json()).toEqual({
      fid: 7,
      address: ADDRESS,
      ...terms,
      message: 'The address holds enough',
      timestamp: clock.now().toISOString(),
    })
    expect(await (await web.request(`${GATE}?address=${ADDRESS}`)).json()).toEqual({
      address: ADDRESS,
      ...terms,
      contractAddress: CONTRACT,
      rpcEndpoint: chain.origin,
    })
  })

  test('reads a balance again after 30 s, and never uses an older one', async () => {
    const { post, clock } = configured()
    const ask = async () => (await post(GATE, { fid: '7', address: ADDRESS })).json()
    const before = chain.reads()
    expect(await ask()).toMatchObject({ hasAccess: false })
    chain.hold(10n ** 18n)
    expect(await ask()).toMatchObject({ hasAccess: false })
    clock.advance(30_000)
    expect(await ask()).toMatchObject({ hasAccess: true })
    expect(chain.reads() - before).toBe(2)
  })

  test('503 when the chain is unreachable, also for a user who had access', async () => {
    const { post, web, clock } = configured()
    chain.hold(10n ** 18n)
    expect(await (await post(GATE, { fid: 7, address: ADDRESS })).json()).toMatchObject({ hasAccess: true })
    chain.answerWith(500)
    clock.advance(30_000)
    for (const response of [
      await post(GATE, { fid: 7, address: ADDRESS }),
      await web.request(`${GATE}?address=${ADDRESS}`),
    ]) {
      expect(response.status).toBe(503)
      expect(await response.text()).not.toContain('secret-key')
    }
  })

  test.each([
    [{}, 'Missing fid or address'],
    [{ fid: 7 }, 'Missing fid or address'],
    [{ address: ADDRESS }, 'Missing fid or address'],
    [{ fid: 7, address: '0x12' }, 'Invalid Ethereum address'],
  ])('POST /api/auth/token-gating/verify: 400 when the body is %j', async (body, error) => {
    const response = await configured().post(GATE, body)
    expect([response.status, await response.json()]).toEqual([400, { error }])
  })

  test.each(['', '?address=0x12'])('GET /api/auth/token-gating/verify%s: 400', async (query) => {
    const response = await configured().web.request(`${GATE}${query}`)
    expect([response.status, await response.json()]).toEqual([400, { error: 'Invalid or missing address parameter' }])
  })
})

test.each([
  ['POST', VERIFY, { fidToken: 'x' }, 'SOCIAL_ID_ISSUER'],
  ['POST', REFRESH, { refreshToken: 'x' }, 'SOCIAL_ID_ISSUER'],
  ['POST', GATE, { fid: 7, address: ADDRESS }, 'TOKEN_GATING_ADDRESS'],
  ['GET', `${GATE}?address=${ADDRESS}`, null, 'TOKEN_GATING_ADDRESS'],
] as const)('%s %s: 503 NOT_CONFIGURED with the settings to set', async (method, path, body, setting) => {
  const { web } = testPlatform()
  const response = await web.request(path, method === 'GET' ? {} : json(method, body))
  expect(response.status).toBe(503)
  expect(await response.json()).toEqual({ error: expect.stringContaining(setting), code: 'NOT_CONFIGURED' })
})

test.each([
  [VERIFY, ['fidToken'], ['address']],
  [REFRESH, ['refreshToken'], []],
])('GET %s: 200 with its usage', async (path, required, optional) => {
  const response = await testPlatform().web.request(path)
  expect(await response.json()).toEqual({
    endpoint: path,
    methods: ['POST'],
    description: expect.any(String),
    required,
    optional,
  })
})

function claimsOf(token: string): Record<string, unknown> {
  return z
    .record(z.string(), z.unknown())
    .parse(JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()))
}

function encode(claims: unknown): string {
  return Buffer.from(JSON.stringify(claims)).toString('base64url')
}
