import { describe, expect, test } from 'bun:test'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { solve } from '../../../../tests/harness/proof.ts'
import { json, read } from '../../../../tests/harness/requests.ts'
import { countRows } from '../../../../tests/harness/rows/dump.ts'
import { sha256 } from '../../../core/secrets.ts'
import { throttles } from '../users/tables.ts'
import { createProofOfWork } from './bot-detection.ts'
import { ProofChallenge } from './schemas.ts'

const ADA = { email: 'ada@example.com', password: 'correct horse' }

/** A platform that asks for proof of work. */
function withProofs(environment: Record<string, string> = { BOT_DETECTION: 'pow' }) {
  const platform = testPlatform({ environment })
  return {
    ...platform,
    challenge: () => read(ProofChallenge, platform.web.request('/api/auth/challenge')),
    register: async (proof: unknown, email = ADA.email) =>
      platform.web.request('/api/register', json('POST', { ...ADA, email, proof })),
  }
}

test('GET /api/auth/challenge: 200 with a challenge of ten minutes', async () => {
  const { challenge, clock } = withProofs()
  const first = await challenge()
  expect(first.difficulty).toBe(18)
  expect(Date.parse(first.expiresAt) - clock.now().getTime()).toBe(600_000)
  expect((await challenge()).challenge).not.toBe(first.challenge)
})

test('GET /api/auth/challenge: 200 with difficulty 0 when no proof is required', async () => {
  const { challenge, register } = withProofs({})
  expect((await challenge()).difficulty).toBe(0)
  expect((await register(undefined)).status).toBe(200)
})

describe('when one network signed up 100 times within an hour', () => {
  const crowdOf = async (environment: Record<string, string> = {}) => {
    const it = testPlatform({ environment })
    const send = (address: string, email: string, proof?: unknown) =>
      it.api('web', { address }).request('/api/register', json('POST', { ...ADA, email, proof }))
    const challenge = (address: string) =>
      read(ProofChallenge, it.api('web', { address }).request('/api/auth/challenge'))
    /** Few enough at once that the hasher takes all of them. */
    const fill = async (addressOf: (index: number) => string, count = 100) => {
      const statuses: number[] = []
      for (let from = 0; from < count; from += 10) {
        const some = Array.from({ length: Math.min(10, count - from) }, (_, index) => from + index)
        const answers = await Promise.all(some.map((index) => send(addressOf(index), `user${index}@example.com`)))
        statuses.push(...answers.map(({ status }) => status))
      }
      return statuses
    }
    return { ...it, send, challenge, fill }
  }

  test.each([
    ['IPv4 addresses of one /24', (index: number) => `198.51.100.${index}`, '198.51.100.200', '198.51.101.1'],
    ['IPv6 addresses of one /64', (index: number) => `2001:db8::${index}`, '2001:db8::1:1', '2001:db8:0:1::1'],
    ['loopback', () => '127.0.0.1', '127.0.0.1', '198.51.100.1'],
  ])(
    'POST /api/register: 403 PROOF_REQUIRED without a proof of work, from %s',
    async (_what, addressOf, same, other) => {
      const it = await crowdOf()
      const statuses = await it.fill(addressOf, 120)
      expect(statuses.filter((status) => status === 200)).toHaveLength(100)
      expect(statuses.filter((status) => status === 403)).toHaveLength(20)
      const refused = await it.send(same, 'late@example.com')
      expect([refused.status, await refused.json()]).toEqual([403, { error: 'Access denied', code: 'PROOF_REQUIRED' }])
      expect(countRows(it.platform.db).users).toBe(100)

      const { challenge, difficulty } = await it.challenge(same)
      expect(difficulty).toBe(18)
      expect((await it.send(same, 'late@example.com', solve(challenge))).status).toBe(200)
      expect((await it.send(same, 'later@example.com', solve(challenge))).status).toBe(403)
      expect((await it.challenge(other)).difficulty).toBe(0)
      expect((await it.send(other, 'other@example.com')).status).toBe(200)
    },
  )

  test('POST /api/register: 200 without a proof of work when the hour is over', async () => {
    const it = await crowdOf()
    await it.fill(() => '198.51.100.1')
    expect((await it.send('198.51.100.1', 'late@example.com')).status).toBe(403)
    it.clock.advance(3_600_000)
    expect((await it.send('198.51.100.1', 'late@example.com')).status).toBe(200)
  })

  test('POST /api/register: 200 without a proof of work when BOT_DETECTION=off', async () => {
    const it = await crowdOf({ BOT_DETECTION: 'off' })
    await it.fill(() => '198.51.100.1')
    expect((await it.challenge('198.51.100.1')).difficulty).toBe(0)
    expect((await it.send('198.51.100.1', 'late@example.com')).status).toBe(200)
  })

  test('POST /api/register: 409 when the address is taken, which does not count towards the proof of work', async () => {
    const it = await crowdOf()
    await it.fill(() => '198.51.100.1', 1)
    for (let again = 0; again < 120; again++)
      expect((await it.send('198.51.100.1', 'user0@example.com')).status).toBe(409)
    expect((await it.challenge('198.51.100.1')).difficulty).toBe(0)
  })
})

test('GET /api/auth/challenge: 429 when one address exceeds its rate', async () => {
  const { web } = testPlatform({ environment: { RATE_LIMIT_REGISTER: '1' } })
  await web.request('/api/auth/challenge')
  expect((await web.request('/api/auth/challenge')).status).toBe(429)
})

test('POST /api/register: 200 with a solved challenge, 403 when it is used again', async () => {
  const { challenge, register, platform } = withProofs()
  const proof = solve((await challenge()).challenge)
  expect((await register(proof)).status).toBe(200)
  const again = await register(proof, 'eve@example.com')
  expect(again.status).toBe(403)
  expect(await again.json()).toEqual({ error: 'Access denied', code: 'PROOF_REQUIRED' })
  expect(countRows(platform.db).users).toBe(1)
})

test('POST /api/register: 200 once when 200 concurrent requests send the same solution', async () => {
  const { challenge, register, platform } = withProofs()
  const proof = solve((await challenge()).challenge)
  const answers = await Promise.all(Array.from({ length: 200 }, (_, n) => register(proof, `user${n}@example.com`)))
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
  expect(answers.filter(({ status }) => status === 403)).toHaveLength(199)
  expect(countRows(platform.db).users).toBe(1)
})

test('POST /api/register: 403 without a proof and with a wrong one, and nothing is written', async () => {
  const { challenge, register, platform } = withProofs()
  const right = solve((await challenge()).challenge)
  const before = countRows(platform.db)
  for (const proof of [undefined, { ...right, nonce: `${right.nonce}?` }, { ...right, nonce: '' }]) {
    const response = await register(proof)
    expect(response.status).toBe(403)
    expect(await response.json()).toEqual({ error: 'Access denied', code: 'PROOF_REQUIRED' })
  }
  expect(countRows(platform.db)).toEqual(before)
  expect((await register({ ...right, nonce: Number(right.nonce) })).status).toBe(200)
})

test('a solution is rejected when its challenge was made elsewhere or modified', async () => {
  const { db, clock } = testPlatform().platform
  const proofsOf = (key: number) => createProofOfWork({ db, clock, key: Buffer.alloc(32, key), difficulty: 4 })
  const ours = proofsOf(1)
  const { challenge } = ours.issue()
  const [id = '', expiry = '', signature = ''] = challenge.split('.')
  const forged = [
    '',
    `${id}.${expiry}`,
    `${id}.${expiry}.`,
    `${challenge}.`,
    `.NaN.${signature}`,
    `${id}.${(Number.parseInt(expiry, 16) + 1000).toString(16)}.${signature}`,
    `${id.replace(/^./, (digit) => (digit === '0' ? '1' : '0'))}.${expiry}.${signature}`,
    proofsOf(2).issue().challenge,
  ]
  for (const text of forged) expect([text, await ours.accept(solve(text, 4))]).toEqual([text, false])
  expect(countRows(db).throttles).toBe(0)
  expect(await ours.accept(solve(challenge, 4))).toBe(true)
})

test('a solution is accepted only when it has at least the number of zero bits of the difficulty', async () => {
  const { db, clock } = testPlatform().platform
  const key = Buffer.alloc(32, 1)
  for (const difficulty of [1, 3, 4, 5, 8, 9]) {
    const proofs = createProofOfWork({ db, clock, key, difficulty })
    const { challenge } = proofs.issue()
    for (let nonce = 0; nonce < 64; nonce++) {
      const bits = BigInt(`0x1${sha256(`${challenge}:${nonce}`)}`)
        .toString(2)
        .slice(1)
      if (bits.startsWith('0'.repeat(difficulty))) break
      expect(await proofs.accept({ challenge, nonce: String(nonce) })).toBe(false)
    }
    expect(await proofs.accept(solve(challenge, difficulty))).toBe(true)
  }
})

test('POST /api/register: 403 when a solution is used or its challenge expired, also after the cleanup', async () => {
  const { challenge, register, platform, clock } = withProofs()
  const [used, late] = [solve((await challenge()).challenge), solve((await challenge()).challenge)]
  clock.advance(600_000 - 1)
  expect((await register(used)).status).toBe(200)
  clock.advance(1)
  expect((await register(late, 'eve@example.com')).status).toBe(403)
  expect((await register(used, 'eve@example.com')).status).toBe(403)
  const keys = platform.db.select({ key: throttles.key }).from(throttles).all()
  expect(keys.filter(({ key }) => key.startsWith('proof:'))).toHaveLength(1)
})

test('POST /api/register: 403 when the honeypot is filled, also with a proof', async () => {
  const { challenge, web } = withProofs()
  const proof = solve((await challenge()).challenge)
  const response = await web.request('/api/register', json('POST', { ...ADA, proof, website: 'https://spam.example' }))
  expect(response.status).toBe(403)
  expect(await response.json()).toEqual({ error: 'Access denied' })
})
