import { expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { CreatedKey } from '../../../src/features/accounts/keys/schemas.ts'
import { signUp } from '../../harness/client.ts'
import { startProvider } from '../../harness/doubles/provider.ts'
import { bearer, json, read } from '../../harness/requests.ts'
import { openInstallation } from '../../harness/server.ts'
import { until } from '../../harness/until.ts'
import { readEvents } from '../../harness/wires/events.ts'
import { withProvider } from '../journeys/main-job.ts'

const NEVER_MS = 300_000
const ASKED = { model: 'openai/gpt-4o-mini', messages: [{ role: 'user', content: 'Hi' }], max_tokens: 700 }
const CUT_SHORT = {
  success: 0,
  estimated: 1,
  output_tokens: 700,
  error_message: 'The program stopped before the answer was complete',
}

type Row = { generation_id: string; success: number; estimated: number; output_tokens: number; error_message: string }

test(
  'calls that were open at a crash are recorded once at the next start',
  async () => {
    await using provider = await startProvider()
    provider.answerWith(({ body }) => {
      if (body.max_tokens !== 700) return {}
      return body.stream ? { fault: { hangAfterEvents: 1 } } : { fault: 'hang' }
    })
    await using installation = await openInstallation({ environment: withProvider(provider) })
    const underWay = join(installation.dataDir, 'usage-under-way.jsonl')
    const readLines = () => (existsSync(underWay) ? readFileSync(underWay, 'utf8').split('\n').filter(Boolean) : [])

    const first = await installation.start()
    const person = await signUp(first.urls.web)
    const { key } = await read(CreatedKey, person.post('/api/keys', { name: 'laptop' }))
    const ask = (body: object) => fetch(`${first.urls.backend}/v1/chat/completions`, json('POST', body, bearer(key)))
    const waiting = ask(ASKED).catch(() => undefined)
    const events = readEvents(await ask({ ...ASKED, stream: true }))
    await events.next()
    expect((await ask({ ...ASKED, max_tokens: 10 })).status).toBe(200)
    await until('both calls in the log file', () => readLines().length >= 2)
    await until('the booking of the one that ended', () => readRows(installation.dataDir).length === 1)
    await first.kill()
    await waiting
    await events.next().catch(() => undefined)

    const second = await installation.start()
    const rows = readRows(installation.dataDir)
    expect(rows).toMatchObject([{ success: 1, estimated: 0, output_tokens: 500 }, CUT_SHORT, CUT_SHORT])
    expect(readLines()).toEqual([])
    await second.kill()
    await installation.start()
    expect(readRows(installation.dataDir)).toEqual(rows)
  },
  NEVER_MS,
)

test(
  'a stop leaves no running call recorded',
  async () => {
    await using provider = await startProvider({ fault: 'hang' })
    await using installation = await openInstallation({ environment: withProvider(provider) })
    const underWay = join(installation.dataDir, 'usage-under-way.jsonl')
    const program = await installation.start()
    const person = await signUp(program.urls.web)
    const { key } = await read(CreatedKey, person.post('/api/keys', { name: 'laptop' }))
    const url = `${program.urls.backend}/v1/chat/completions`
    const waiting = fetch(url, json('POST', ASKED, bearer(key))).catch(() => undefined)
    await until('the marker file', () => existsSync(underWay))
    expect((await program.stop()).exitCode).toBe(0)
    await waiting
    expect(existsSync(underWay)).toBe(false)
    expect(readRows(installation.dataDir)).toMatchObject([{ estimated: 1, output_tokens: 700 }])
  },
  NEVER_MS,
)

function readRows(dataDir: string): Row[] {
  using database = closing(new Database(join(dataDir, 'stead.db'), { readonly: true }))
  return database.prepare<[], Row>('SELECT * FROM usage_logs ORDER BY id').all()
}

function closing(database: Database.Database): Database.Database & Disposable {
  return Object.assign(database, { [Symbol.dispose]: () => void database.close() })
}
