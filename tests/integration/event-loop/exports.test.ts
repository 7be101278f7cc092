import { expect, test } from 'bun:test'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { z } from 'zod'
import { createAgent, signUp } from '../../harness/client.ts'
import { fillDatabase } from '../../harness/rows/large-database.ts'
import { openInstallation } from '../../harness/server.ts'
import { measureSlowness } from '../../harness/speed/machine-speed.ts'

/**
 * Share of the full database; `bun run stress loop` uses all of it. This test measures the effect of an export on other
 * callers. An export that blocks the event loop takes only 25 ms at this size, which is below the noise;
 * `routes.test.ts` detects it.
 */
const PART = Number(process.env.LOOP_PART ?? 0.03)
const LIMIT_MS = 50
const NEVER_MS = 600_000
const BASELINE_CALLS = 100
/** Repetitions: noise passes, a blocked event loop stays. */
const TRIES = 6
const Ids = z.object({ id: z.string(), owner_id: z.string() })

const EXPORTS = ['/api/usage/export?days=366', '/api/settings/export', '/api/memory/export'] as const

test(
  `GET /health: below ${LIMIT_MS} ms at the 99th percentile during an export, and 429 for a second export`,
  async () => {
    await using installation = await openInstallation({ environment: { AI_ECHO: 'true', RATE_LIMIT_PASSWORD: '1000' } })
    const program = await installation.start()
    const ada = await signUp(program.urls.web)
    const agentId = await createAgent(ada)
    fillInstallation(join(installation.dataDir, 'stead.db'), agentId)
    const health = `${program.urls.backend}/health`
    const usual = percentile(await time(health, (calls) => calls < BASELINE_CALLS))
    // The noise of the machine also shows before the export.
    const limitMs = process.env.STRICT_TIMES === '1' ? LIMIT_MS : Math.max(LIMIT_MS * measureSlowness(), 10 * usual)

    const worst: Record<string, number> = {}
    for (const path of EXPORTS) {
      let least = Number.POSITIVE_INFINITY
      for (let attempt = 0; attempt < TRIES && least > limitMs; attempt += 1) {
        least = Math.min(least, await timeBesides(`${program.urls.web}${path}`, ada.cookie, health))
      }
      worst[path] = least
    }
    console.log(`GET /health, 99 of 100: usually ${usual.toFixed(1)} ms, during exports ${JSON.stringify(worst)}`)
    expect(Object.entries(worst).filter(([, ms]) => ms > limitMs)).toEqual([])

    const first = take(`${program.urls.web}/api/settings/export`, ada.cookie)
    const others = await Promise.all(EXPORTS.map((path) => statusSoon(`${program.urls.web}${path}`, ada.cookie)))
    await first
    expect(others).toContain(429)
  },
  NEVER_MS,
)

function fillInstallation(file: string, agentId: string): void {
  const sqlite = new Database(file)
  sqlite.pragma('busy_timeout = 5000')
  const { owner_id: userId } = Ids.parse(sqlite.prepare('SELECT id, owner_id FROM agents').get())
  const now = Date.now()
  sqlite
    .prepare(
      `INSERT INTO scheduled_tasks (id, owner_id, agent_id, name, cron_schedule, timezone, prompt, enabled, created_at, updated_at)
       VALUES ('task', ?, ?, 'Task', '0 9 * * *', 'UTC', 'Hi', 0, ?, ?)`,
    )
    .run(userId, agentId, now, now)
  sqlite
    .prepare(
      "INSERT INTO swarms (id, owner_id, name, agents, created_at, updated_at) VALUES ('swarm', ?, 'Swarm', '[]', ?, ?)",
    )
    .run(userId, now, now)
  sqlite.close()
  const size = { usageRows: 1_000_000 * PART, messages: 300_000 * PART }
  fillDatabase(file, { userId, agentId, taskId: 'task', swarmId: 'swarm' }, size, new Date())
}

/** Returns the 99th percentile of `health` while `url` is exported. */
async function timeBesides(url: string, headers: Record<string, string>, health: string): Promise<number> {
  // A separate process reads the export; this one measures.
  let isOver = false
  const bytes = take(url, headers).finally(() => {
    isOver = true
  })
  const times = await time(health, () => !isOver)
  expect(await bytes).toBeGreaterThan(1000)
  return percentile(times)
}

/** Reads a response in a separate process. @returns its size in bytes. */
async function take(url: string, headers: Record<string, string>): Promise<number> {
  const script = `let bytes = 0
    const response = await fetch(${JSON.stringify(url)}, { headers: ${JSON.stringify(headers)} })
    for await (const part of response.body) bytes += part.length
    console.log(response.status === 200 ? bytes : 0)`
  const child = Bun.spawn([process.execPath, '-e', script], { stdout: 'pipe' })
  const text = await new Response(child.stdout).text()
  await child.exited
  return Number(text)
}

async function statusSoon(url: string, headers: Record<string, string>): Promise<number> {
  const response = await fetch(url, { headers })
  await response.body?.cancel()
  return response.status
}

/** Returns the duration of each sequential call in ms while `goesOn`. */
async function time(url: string, goesOn: (calls: number) => boolean): Promise<number[]> {
  const times: number[] = []
  while (goesOn(times.length)) {
    const startedAt = performance.now()
    await (await fetch(url)).text()
    times.push(performance.now() - startedAt)
  }
  return times
}

function percentile(times: number[]): number {
  const sorted = times.toSorted((one, other) => one - other)
  return sorted[Math.ceil(sorted.length * 0.99) - 1] ?? 0
}
