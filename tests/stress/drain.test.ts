import { expect, test } from 'bun:test'
import { z } from 'zod'
import { signUp } from '../harness/client.ts'
import { startProvider } from '../harness/doubles/provider.ts'
import { json, read } from '../harness/requests.ts'
import { roundsOf } from '../harness/rounds.ts'
import { openInstallation } from '../harness/server.ts'
import { until } from '../harness/until.ts'
import { withProvider } from '../integration/journeys/main-job.ts'

/** Concurrent callers of each kind. */
const CALLERS = 8
const ROUNDS = roundsOf('DRAIN_ROUNDS', 2)
const SLOW_MS = 400
const PROMISED_MS = 10_000
const NEVER_MS = 300_000

const Key = z.object({ key: z.string() })

/** `refused` is a connection closed before any response, because the server no longer listens. */
type Outcome = 'answered' | 'refused' | 'failed'
type Asked = { url: string; init: RequestInit; isKept?: true }

/** Sends a request on its own connection, or on one that is kept alive. */
async function outcomeOf({ url, init, isKept }: Asked): Promise<Outcome> {
  const closing = { headers: { ...init.headers, connection: 'close' }, keepalive: false }
  const response = await fetch(url, { ...init, ...(!isKept && closing) }).catch(() => null)
  if (!response) return 'refused'
  const isWhole = await response.text().then(
    () => true,
    () => false,
  )
  return isWhole && response.status === 200 ? 'answered' : 'failed'
}

test(
  'SIGTERM under load: running requests are answered, new connections are refused, and the service exits with 0 within 10 s',
  async () => {
    await using provider = await startProvider(async () => {
      await Bun.sleep(SLOW_MS)
      return { text: 'Late, but whole.' }
    })
    await using installation = await openInstallation({ environment: withProvider(provider) })
    for (let round = 0; round < ROUNDS; round++) {
      const program = await installation.start()
      const person = await signUp(program.urls.web, `ada${round}@example.com`)
      await installation.run(['user', 'set-plan', person.email, 'network'])
      const { key } = await read(Key, person.post('/api/keys', { name: 'load' }))
      const body = { model: 'openai/gpt-4o-mini', messages: [{ role: 'user', content: 'Hello' }] }
      const asked = json('POST', body, { authorization: `Bearer ${key}` })
      const kinds = {
        session: { url: `${program.urls.web}/api/auth/session`, init: { headers: person.cookie } },
        kept: { url: `${program.urls.web}/api/auth/session`, init: { headers: person.cookie }, isKept: true },
        settings: { url: `${program.urls.web}/api/settings`, init: json('PATCH', { name: 'Ada' }, person.cookie) },
        completion: { url: `${program.urls.backend}/v1/chat/completions`, init: asked },
      } as const satisfies Record<string, Asked>
      const counts = new Map<string, number>()
      const countOf = (kind: string, outcome: Outcome) => counts.get(`${kind} ${outcome}`) ?? 0
      const startCaller = async ([kind, toAsk]: [string, Asked]) => {
        for (let outcome: Outcome = 'answered'; outcome !== 'refused'; ) {
          outcome = await outcomeOf(toAsk)
          counts.set(`${kind} ${outcome}`, countOf(kind, outcome) + 1)
        }
      }
      const before = provider.chats.length
      const callers = Object.entries(kinds).flatMap((kind) => Array.from({ length: CALLERS }, () => startCaller(kind)))
      await until('the load', () => Object.keys(kinds).every((kind) => countOf(kind, 'answered') > CALLERS))
      const startedAt = performance.now()
      const { exitCode } = await program.stop()
      const tookMs = performance.now() - startedAt
      await Promise.all(callers)
      console.log(
        `drain: ${JSON.stringify(Object.fromEntries(counts))} in ${Math.round(tookMs)} ms, at the provider ${provider.chats.length - before}`,
      )
      expect([exitCode, provider.chats.length - before]).toEqual([0, countOf('completion', 'answered')])
      for (const kind of Object.keys(kinds)) {
        expect([kind, countOf(kind, 'failed'), countOf(kind, 'refused')]).toEqual([kind, 0, CALLERS])
      }
      expect(tookMs).toBeLessThan(PROMISED_MS)
    }
  },
  NEVER_MS,
)
