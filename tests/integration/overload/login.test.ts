import { expect, test } from 'bun:test'
import { z } from 'zod'
import { signUp } from '../../harness/client.ts'
import { roundsOf } from '../../harness/rounds.ts'
import { openInstallation } from '../../harness/server.ts'
import { atMostMs } from '../../harness/speed/promised-times.ts'

const RATE = 2000
const SECONDS = roundsOf('FLOOD_SECONDS', 3)
const MAX_P99_MS = atMostMs(100)
const MAX_GROWTH_MB = 120
const PROBE_EVERY_MS = 20

const Report = z.object({
  sent: z.number(),
  missed: z.number(),
  statuses: z.record(z.string(), z.number()),
  withoutRetryAfter: z.number(),
  broken: z.number(),
})

test(`${RATE} logins a second for ${SECONDS} s delay neither /health nor /api/health, and memory stays constant`, async () => {
  await using installation = await openInstallation({
    environment: { TRUSTED_PROXIES: '127.0.0.1', RATE_LIMIT_LOGIN: '20' },
  })
  const { urls, pid } = await installation.start()
  const accounts = Array.from({ length: 20 }, (_, index) => `person${index}@example.com`)
  for (const email of accounts) await signUp(urls.web, email)
  const probes = [`${urls.backend}/health`, `${urls.web}/api/health`]
  await probe(probes, 500)
  const memoryBefore = await readMemory(pid)

  const flood = startFlood(new URL(urls.web).port, accounts)
  const { times, failures, memory } = await probe(probes, SECONDS * 1000, () => readMemory(pid))
  const report = Report.parse(JSON.parse(await flood))

  const figures = { p50: percentile(times, 0.5), p99: percentile(times, 0.99), max: percentile(times, 1) }
  const growthMb = Math.max(...memory) - memoryBefore
  console.log(`login flood: ${JSON.stringify({ ...report, probes: times.length, ...figures, growthMb })}`)
  expect(failures).toBe(0)
  expect(Object.keys(report.statuses).filter((status) => status !== '401' && status !== '429')).toEqual([])
  expect(report).toMatchObject({ withoutRetryAfter: 0, broken: 0 })
  expect(report.statuses['401']).toBeGreaterThan(SECONDS)
  expect(figures.p99).toBeLessThanOrEqual(MAX_P99_MS)
  expect(growthMb).toBeLessThanOrEqual(MAX_GROWTH_MB)
}, 300_000)

/** Starts the flood in a separate process, so that it does not delay the probes. */
function startFlood(port: string, accounts: string[]): Promise<string> {
  const attacker = Bun.fileURLToPath(import.meta.resolve('./attacker.ts'))
  const command = [process.execPath, attacker, port, String(RATE), String(SECONDS)]
  return new Response(Bun.spawn([...command, accounts.join(',')], { stdout: 'pipe', stderr: 'inherit' }).stdout).text()
}

/** Polls each address. @returns the response times in ms. */
async function probe(addresses: string[], durationMs: number, measure: () => Promise<number> = async () => 0) {
  const times: number[] = []
  const memory: number[] = []
  let failures = 0
  const deadline = performance.now() + durationMs
  while (performance.now() < deadline) {
    await Promise.all(
      addresses.map(async (address) => {
        const startedAt = performance.now()
        const response = await fetch(address).catch(() => null)
        await response?.arrayBuffer()
        if (!response?.ok) failures++
        times.push(performance.now() - startedAt)
      }),
    )
    memory.push(await measure())
    await Bun.sleep(PROBE_EVERY_MS)
  }
  return { times, failures, memory }
}

function percentile(values: number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right)
  return Math.round((sorted[Math.ceil(sorted.length * share) - 1] ?? 0) * 10) / 10
}

/** Returns the resident memory of a process in MB. */
async function readMemory(pid: number): Promise<number> {
  const status = await Bun.file(`/proc/${pid}/status`).text()
  return Math.round(Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) / 1024)
}
