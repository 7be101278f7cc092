import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { isAllowedAddress } from '../../../src/adapters/egress/addresses.ts'
import { createEgress, type Egress } from '../../../src/adapters/egress/egress.ts'
import { EgressError } from '../../../src/adapters/egress/error.ts'
import { roundsOf } from '../../harness/rounds.ts'
import { openInternet, PUBLIC, PUBLIC_V6 } from './internet.ts'
import { hostileUrls, INSIDE_V4, INSIDE_V6, spell } from './spellings.ts'

const REQUEST = { timeoutMs: 60_000 }
const REDIRECTS = [301, 302, 303, 307, 308]

/** Addresses by host name; every non-public address counts as private. */
function resolve(hostname: string): string[] {
  if (hostname === 'pages.example') return [PUBLIC]
  if (hostname === 'mixed.example') return [PUBLIC, '10.0.0.1']
  if (hostname === 'mixed6.example') return [PUBLIC_V6, '::1']
  if (hostname === 'empty.example') return []
  return ['127.0.0.1']
}

test('over a thousand hostile URLs, and redirects to them, cause no private connection and one error message', async () => {
  const urls = hostileUrls()
  let target = ''
  let status = 302
  const internet = await openInternet({
    resolve,
    handler(_request, response) {
      response.writeHead(status, { location: Buffer.from(target).toString('latin1') })
      response.end()
    },
  })
  const egress = createEgress({ allowPrivate: false, network: internet.network })

  for (const url of urls) expect(await failureOf(egress, url)).toBe(`unreachable Could not reach ${url}`)
  expect(internet.dialled).toEqual([])

  const start = 'http://pages.example/start'
  // Only absolute URLs that fit into a header; a relative one leads to the same public server.
  const targets = urls.filter((url) => /^[a-z]+:\/\/[^\0\s]+$/i.test(url) && url.length < 8000)
  for (const [index, url] of targets.entries()) {
    target = url
    status = REDIRECTS[index % REDIRECTS.length] ?? 302
    expect(await failureOf(egress, start)).toBe(`unreachable Could not reach ${start}`)
  }
  expect(urls.length + targets.length).toBeGreaterThan(1000)
  expect(internet.dialled).toEqual(targets.map(() => PUBLIC))
  expect(internet.canaryHits()).toBe(0)
}, 300_000)

/** Rounds of DNS rebinding; `bun run stress hostile` raises them. */
const REBINDS = roundsOf('REBINDS', 600)

test(`${REBINDS} changing answers of a name server cause no private connection`, async () => {
  let turn = 0
  const answers = [
    [PUBLIC],
    ['127.0.0.1'],
    [PUBLIC, '127.0.0.1'],
    ['::ffff:127.0.0.1', PUBLIC],
    [PUBLIC, PUBLIC_V6],
    ['169.254.169.254'],
  ]
  const internet = await openInternet({ resolve: () => answers[turn++ % answers.length] ?? [] })
  const egress = createEgress({ allowPrivate: false, network: internet.network })

  let reached = 0
  for (let attempt = 0; attempt < REBINDS; attempt++) {
    const before = turn
    try {
      const response = await egress.request(`http://rebind-${attempt}.example/`, REQUEST)
      expect(new TextDecoder().decode(await response.bytes())).toBe('public')
      reached++
    } catch (error) {
      expect(error).toBeInstanceOf(EgressError)
    }
    // Resolved once, so the address that was checked is the one that is dialled.
    expect(turn - before).toBe(1)
  }
  expect(reached).toBe(REBINDS / 3)
  expect(new Set(internet.dialled)).toEqual(new Set([PUBLIC, PUBLIC_V6]))
  expect(internet.canaryHits()).toBe(0)
}, 300_000)

test('a private address is contacted when it is allowed, which shows that the test would notice', async () => {
  const internet = await openInternet({ resolve })
  const egress = createEgress({ allowPrivate: true, network: internet.network })
  await expect(egress.request('http://127.0.0.1/', REQUEST)).rejects.toThrow()
  expect(internet.canaryHits()).toBe(1)
})

test('isAllowedAddress refuses private addresses of every family, and accepts public ones', () => {
  for (const address of [
    ...INSIDE_V4,
    ...INSIDE_V6,
    '::ffff:8.8.8.8',
    '64:ff9b::808:808',
    '2002:808:808::',
    'fe80::1%eth0',
    'x',
    '',
  ]) {
    expect([address, isAllowedAddress(address, false)]).toEqual([address, false])
  }
  for (const address of [PUBLIC, PUBLIC_V6, '8.8.8.8', '1.1.1.1', '2001:4860:4860::8888']) {
    expect([address, isAllowedAddress(address, false)]).toEqual([address, true])
  }
})

test('the setting permits loopback and private addresses, never metadata, multicast or broadcast', () => {
  for (const address of ['127.0.0.1', '::1', '10.1.2.3', '172.20.0.1', '192.168.1.1', 'fd00::1', '100.64.0.1']) {
    expect([address, isAllowedAddress(address, true)]).toEqual([address, true])
  }
  for (const address of [
    '169.254.169.254',
    'fe80::1',
    '224.0.0.1',
    '255.255.255.255',
    '0.0.0.0',
    '::',
    '168.63.129.16',
    '::127.0.0.1',
  ]) {
    expect([address, isAllowedAddress(address, true)]).toEqual([address, false])
  }
})

test('a private address is refused in every spelling', () => {
  const inside = fc.oneof(
    fc.tuple(fc.constant(10), fc.nat(255), fc.nat(255), fc.nat(255)),
    fc.tuple(fc.constant(127), fc.nat(255), fc.nat(255), fc.nat(255)),
    fc.tuple(fc.constant(172), fc.integer({ min: 16, max: 31 }), fc.nat(255), fc.nat(255)),
    fc.tuple(fc.constant(192), fc.constant(168), fc.nat(255), fc.nat(255)),
    fc.tuple(fc.constant(169), fc.constant(254), fc.nat(255), fc.nat(255)),
  )
  fc.assert(
    fc.property(inside, (parts) => {
      for (const spelling of spell(parts.join('.'))) {
        const host = URL.parse(`http://${spelling}/`)?.hostname.replace(/^\[|\]$/g, '') ?? ''
        expect([spelling, isAllowedAddress(host, false)]).toEqual([spelling, false])
      }
    }),
    { numRuns: 200 },
  )
})

async function failureOf(egress: Egress, url: string): Promise<string> {
  try {
    const response = await egress.request(url, REQUEST)
    response.cancel()
    return `reached ${response.url} with ${response.status}`
  } catch (error) {
    if (!(error instanceof EgressError)) throw error
    return `${error.failure} ${error.message}`
  }
}
