import { afterAll, beforeAll, expect, test } from 'bun:test'
import { concatHex, padHex, toHex } from 'viem'
import { z } from 'zod'
import { type Anvil, hasAnvil, startAnvil } from '../../../../tests/harness/chain/anvil.ts'
import { startMuxDouble } from '../../../../tests/harness/doubles/mux.ts'
import { startJobs } from '../../../../tests/harness/jobs.ts'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { json, read } from '../../../../tests/harness/requests.ts'
import { dumpTables } from '../../../../tests/harness/rows/dump.ts'
import { until } from '../../../../tests/harness/until.ts'
import { write } from '../../../db/write.ts'
import { wallets } from '../../accounts/sign-in/tables.ts'
import { LiveDj, OwnStream } from './schemas.ts'
import { abandonStreams, applyStreamEvent } from './streams.ts'
import { radioStreams } from './tables.ts'

const WALLET = `0x${'Ab'.repeat(20)}`
const NEEDED = 1_250_000n * 10n ** 18n
const REFUSAL = 'Insufficient RAVE tokens. Need 1,250,000 RAVE for DJ access.'

const Created = z.object({ stream: z.object({ id: z.string(), streamKey: z.string(), playbackId: z.string() }) })
const Live = z.object({ djs: z.array(LiveDj), count: z.number() })
const Own = z.object({ streams: z.array(OwnStream), count: z.number() })

let chain: Anvil
let rich: string
let poor: string
beforeAll(async () => {
  if (!hasAnvil) return
  chain = await startAnvil(8453)
  rich = await chain.deploy(tokenOf(NEEDED))
  poor = await chain.deploy(tokenOf(NEEDED - 1n))
})
afterAll(() => chain?.stop())

/** A token of which every address holds `balance`: PUSH32 balance, MSTORE at 0, RETURN(0, 32). */
function tokenOf(balance: bigint) {
  return concatHex(['0x7f', padHex(toHex(balance), { size: 32 }), '0x60005260206000f3'])
}

async function openTestInstallation(environment: Record<string, string> = {}) {
  const mux = startMuxDouble()
  const test = testPlatform({
    environment: {
      ...mux.environment,
      BASE_RPC_URL: chain.rpcUrl,
      TOKEN_GATING_ADDRESS: rich,
      TOKEN_GATING_MIN_BALANCE: NEEDED.toString(),
      ...environment,
    },
  })
  const { user, cookie } = await test.signIn()
  const row = { chainId: 8453, address: WALLET.toLowerCase(), userId: user.id, createdAt: test.clock.now() }
  await write(test.platform.db, (tx) => tx.insert(wallets).values(row).run())
  const call = (method: string, path: string, headers: Record<string, string>) =>
    test.web.request(path, { method, headers })
  return {
    ...test,
    mux,
    cookie,
    live: () => call('GET', '/api/radio/live', {}),
    list: (headers = cookie) => call('GET', '/api/radio/streams', headers),
    create: (body: object = { wallet: WALLET, name: 'DJ Ada' }, headers: Record<string, string> = cookie) =>
      test.web.request('/api/radio/streams', json('POST', body, headers)),
    remove: (id: string, headers = cookie) => call('DELETE', `/api/radio/streams/${id}`, headers),
    rows: () => test.platform.db.select().from(radioStreams).all(),
    [Symbol.asyncDispose]: async () => mux.stop(),
  }
}

test.skipIf(!hasAnvil)('POST /api/radio/streams: 200 when an own wallet has enough tokens', async () => {
  await using test = await openTestInstallation()
  const response = await test.create()
  expect(response.status).toBe(200)
  const body: unknown = await response.json()
  const { stream } = Created.parse(body)
  const server = 'rtmps://global-live.mux.com:443/app'
  expect(body).toEqual({
    success: true,
    stream: {
      id: stream.id,
      name: 'DJ Ada',
      wallet: WALLET.toLowerCase(),
      streamKey: expect.stringMatching(/^secret-key-/),
      rtmpUrl: server,
      fullRtmpUrl: `${server}/${stream.streamKey}`,
      playbackId: expect.stringMatching(/^playback-/),
      status: 'created',
    },
    obsSettings: {
      server,
      streamKey: stream.streamKey,
      recommended: { audioBitrate: '256-320 kbps', encoder: 'AAC', sampleRate: '44.1 kHz', channels: 'Stereo' },
    },
  })
  expect(test.mux.streams.has(stream.id)).toBe(true)
  expect(dumpTables(test.platform.db) + test.logLines.join('\n')).not.toContain(stream.streamKey)
})

test.skipIf(!hasAnvil)(
  'GET /api/radio/live: 200 without authentication, with live users and without stream keys',
  async () => {
    await using test = await openTestInstallation()
    expect(await (await test.live()).json()).toEqual({ djs: [], count: 0 })
    const { stream } = await read(Created, test.create())
    const foreign = test.mux.add('active')
    test.mux.add('idle')
    test.mux.setStatus(stream.id, 'active')
    const active = { id: stream.id, playback_ids: [] }
    const createdAt = new Date('2026-01-01T10:00:00Z')
    await write(test.platform.db, (tx) =>
      applyStreamEvent(tx, { type: 'video.live_stream.active', createdAt, data: active }),
    )
    test.clock.advance(5001)
    const response = await test.live()
    const text = await response.clone().text()
    expect(text).not.toContain('secret-key')
    const { djs, count } = await read(Live, response)
    expect(count).toBe(2)
    expect(djs.find(({ id }) => id === stream.id)).toEqual({
      id: stream.id,
      name: 'DJ Ada',
      wallet: WALLET.toLowerCase(),
      playbackId: stream.playbackId,
      status: 'active',
      startedAt: createdAt.getTime() / 1000,
      hlsUrl: `https://stream.mux.com/${stream.playbackId}.m3u8`,
      embedUrl: `https://player.mux.com/${stream.playbackId}`,
    })
    expect(djs.find(({ id }) => id === foreign.id)).toMatchObject({
      name: 'Anonymous DJ',
      wallet: null,
      startedAt: 1_700_000_000,
    })
  },
)

test.skipIf(!hasAnvil)(
  'GET /api/radio/live: 200 with one call to the provider for requests within five seconds',
  async () => {
    await using test = await openTestInstallation()
    await Promise.all(Array.from({ length: 50 }, () => test.live()))
    expect(test.mux.requests).toEqual(['GET /video/v1/live-streams?limit=100&status=active'])
    test.clock.advance(5000)
    await test.live()
    expect(test.mux.requests).toHaveLength(2)
  },
)

test.skipIf(!hasAnvil)(
  'POST /api/radio/streams: 403 when the wallet is another user’s or has too few tokens',
  async () => {
    await using test = await openTestInstallation()
    const foreign = await test.create({ wallet: `0x${'11'.repeat(20)}` })
    const reason = 'The wallet is not one that you signed in with'
    expect([foreign.status, await foreign.json()]).toEqual([403, { error: REFUSAL, reason }])
    const eve = (await test.signIn('eve@example.com')).cookie
    expect((await test.create({ wallet: WALLET }, eve)).status).toBe(403)
    expect(test.mux.requests).toEqual([])

    await using another = await openTestInstallation({ TOKEN_GATING_ADDRESS: poor })
    const tooLittle = await another.create()
    const why = 'The wallet does not hold enough'
    expect([tooLittle.status, await tooLittle.json()]).toEqual([403, { error: REFUSAL, reason: why }])
    expect(another.rows()).toEqual([])
  },
)

test.skipIf(!hasAnvil).each([
  [{}, 'Wallet address required'],
  [{ wallet: '' }, 'Wallet address required'],
  [{ wallet: 7 }, 'Wallet address required'],
  [{ wallet: '0x12' }, 'wallet must be 0x and 40 hex digits'],
  [{ wallet: WALLET, name: 'x'.repeat(101) }, 'name must be at most 100 characters'],
])('POST /api/radio/streams: 400 when the body is %j', async (body, error) => {
  await using test = await openTestInstallation()
  const response = await test.create(body)
  expect([response.status, await response.json()]).toEqual([400, { error }])
})

test.skipIf(!hasAnvil)('POST /api/radio/streams: 429 at five streams, also when requests are concurrent', async () => {
  await using test = await openTestInstallation()
  const answers = await Promise.all(Array.from({ length: 12 }, () => test.create()))
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(5)
  expect(answers.filter(({ status }) => status === 429)).toHaveLength(7)
  expect(test.mux.streams.size).toBe(5)
})

test.skipIf(!hasAnvil).each(['status', 'html', 'wrong shape'] as const)(
  '/api/radio: 502 when the provider fails with %s, and no stream is left',
  async (fault) => {
    await using test = await openTestInstallation()
    test.mux.failWith(fault)
    for (const response of [await test.create(), await test.live()]) {
      expect(response.status).toBe(502)
      expect(await response.json()).toEqual({ error: 'The radio provider did not do what it was asked' })
    }
    expect(test.rows()).toEqual([])
    test.mux.failWith(null)
    expect((await test.live()).status).toBe(200)
  },
)

test.skipIf(!hasAnvil)(
  'GET /api/radio/streams and DELETE /api/radio/streams/:id: 200 for own streams, 404 for a stranger',
  async () => {
    await using test = await openTestInstallation()
    const { stream } = await read(Created, test.create())
    const { streams } = await read(Own, test.list())
    expect(streams).toEqual([
      expect.objectContaining({ id: stream.id, name: 'DJ Ada', status: 'created', recording: null }),
    ])
    const eve = (await test.signIn('eve@example.com')).cookie
    expect(await read(Own, test.list(eve))).toEqual({ streams: [], count: 0 })
    const foreign = await test.remove(stream.id, eve)
    expect([foreign.status, await foreign.json()]).toEqual([404, { error: 'Stream not found' }])
    expect(test.mux.streams.has(stream.id)).toBe(true)

    test.mux.failWith('status')
    expect((await test.remove(stream.id)).status).toBe(502)
    expect(test.rows()).toHaveLength(1)
    test.mux.failWith(null)
    expect(await (await test.remove(stream.id)).json()).toEqual({ id: stream.id, deleted: true })
    expect(test.mux.streams.has(stream.id)).toBe(false)
    expect((await test.remove(stream.id)).status).toBe(404)
  },
)

test.skipIf(!hasAnvil)('DELETE /api/settings/account: 200 ends the user’s streams at the provider', async () => {
  await using test = await openTestInstallation()
  await test.create()
  await using _jobs = startJobs(test.platform)
  const { db, enqueue } = test.platform
  const userId = test.rows()[0]?.userId ?? ''
  await write(db, (tx) => abandonStreams(tx, enqueue, userId))
  await until('the end of the stream', () => test.mux.streams.size === 0)
  expect(test.rows()).toEqual([])
})

test('/api/radio: 503 without credentials, 401 without a session', async () => {
  const { web, signIn } = testPlatform()
  const { cookie } = await signIn()
  const body = json('POST', { wallet: WALLET }, cookie)
  const answers = [
    web.request('/api/radio/live'),
    web.request('/api/radio/streams', { headers: cookie }),
    web.request('/api/radio/streams', body),
    web.request('/api/radio/streams/any', { method: 'DELETE', headers: cookie }),
  ]
  for (const response of await Promise.all(answers)) {
    expect(response.status).toBe(503)
    expect(await response.json()).toEqual({
      error: 'Radio is not configured: set RADIO_API_ID and RADIO_API_TOKEN',
      code: 'NOT_CONFIGURED',
    })
  }
  expect((await web.request('/api/radio/streams')).status).toBe(401)
  expect((await web.request('/api/radio/streams', json('POST', { wallet: WALLET }))).status).toBe(401)
  expect((await web.request('/api/radio/streams/any', { method: 'DELETE' })).status).toBe(401)
})
