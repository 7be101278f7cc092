import { expect, test } from 'bun:test'
import { z } from 'zod'
import { signUp } from '../harness/client.ts'
import { startProvider } from '../harness/doubles/provider.ts'
import { json, read } from '../harness/requests.ts'
import { roundsOf } from '../harness/rounds.ts'
import { openHouse } from '../harness/server.ts'
import { until } from '../harness/until.ts'
import { withProvider } from '../journeys/main-job.ts'

/** Callers at once of each kind. */
const LANES = 8
const ROUNDS = roundsOf('DRAIN_ROUNDS', 2)
const SLOW_MS = 400
const PROMISED_MS = 10_000
const NEVER_MS = 300_000

const Key = z.object({ key: z.string() })

/** `cut` is a connection that waited to be taken when its port was shut: the system breaks it off, unread. */
type Outcome = 'answered' | 'refused' | 'cut' | 'failed'

async function outcomeOf(url: string, init: RequestInit): Promise<Outcome> {
  try {
    // A connection that is kept says nothing of a port that is shut.
    const response = await fetch(url, { ...init, headers: { ...init.headers, connection: 'close' }, keepalive: false })
    await response.text()
    return response.status === 200 ? 'answered' : 'failed'
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    if (/REFUSED|ConnectionRefused/.test(code)) return 'refused'
    return /RESET|ConnectionClosed/.test(code) ? 'cut' : 'failed'
  }
}

test(
  'SIGTERM under load: every request that was begun is answered, whoever comes later is refused, and it ends within 10 s with 0',
  async () => {
    await using provider = await startProvider(async () => {
      await Bun.sleep(SLOW_MS)
      return { text: 'Late, but whole.' }
    })
    await using house = await openHouse({ environment: withProvider(provider) })
    for (let round = 0; round < ROUNDS; round++) {
      const program = await house.start()
      const person = await signUp(program.urls.web, `ada${round}@example.com`)
      await house.run(['user', 'set-plan', person.email, 'network'])
      const { key } = await read(Key, person.post('/api/keys', { name: 'load' }))
      const body = { model: 'openai/gpt-4o-mini', messages: [{ role: 'user', content: 'Hello' }] }
      const asked = json('POST', body, { authorization: `Bearer ${key}` })
      const kinds = {
        session: [`${program.urls.web}/api/auth/session`, { headers: person.cookie }],
        settings: [`${program.urls.web}/api/settings`, json('PATCH', { name: 'Ada' }, person.cookie)],
        completion: [`${program.urls.backend}/v1/chat/completions`, asked],
      } as const satisfies Record<string, [string, RequestInit]>
      const counts = new Map<string, number>()
      const countOf = (kind: string, outcome: Outcome) => counts.get(`${kind} ${outcome}`) ?? 0
      const lane = async ([kind, [url, init]]: [string, readonly [string, RequestInit]]) => {
        for (let outcome: Outcome = 'answered'; outcome !== 'refused'; ) {
          outcome = await outcomeOf(url, init)
          counts.set(`${kind} ${outcome}`, countOf(kind, outcome) + 1)
        }
      }
      const before = provider.chats.length
      const lanes = Object.entries(kinds).flatMap((kind) => Array.from({ length: LANES }, () => lane(kind)))
      await until('the load', () => Object.keys(kinds).every((kind) => countOf(kind, 'answered') > LANES))
      const startedAt = performance.now()
      const { exitCode } = await program.stop()
      const tookMs = performance.now() - startedAt
      await Promise.all(lanes)
      console.log(
        `drain: ${JSON.stringify(Object.fromEntries(counts))} in ${Math.round(tookMs)} ms, at the provider ${provider.chats.length - before}`,
      )
      expect([exitCode, provider.chats.length - before]).toEqual([0, countOf('completion', 'answered')])
      for (const kind of Object.keys(kinds)) {
        expect([kind, countOf(kind, 'failed'), countOf(kind, 'refused')]).toEqual([kind, 0, LANES])
        // Of each caller at most the one connection that it was making.
        expect(countOf(kind, 'cut')).toBeLessThanOrEqual(LANES)
      }
      expect(tookMs).toBeLessThan(PROMISED_MS)
    }
  },
  NEVER_MS,
)
