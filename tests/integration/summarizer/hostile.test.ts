import { afterAll, expect, onTestFinished, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import http from 'node:http'
import { z } from 'zod'
import { roundsOf } from '../../harness/rounds.ts'
import { openInstallation, type Program } from '../../harness/server.ts'
import { atMostMs } from '../../harness/speed/promised-times.ts'
import { until } from '../../harness/until.ts'
import { readLines } from '../../harness/wires/lines.ts'

/** Number of bodies. CI sends each kind at its worst size; larger counts add smaller sizes and mixtures. */
const COUNT = roundsOf('HOSTILE_BODIES', 145)
const AT_ONCE = 8
/** 10 s for a request, and a margin for a busy machine. */
const MAX_ANSWER_MS = atMostMs(11_500)
/** Allows 30 MB for each of 16 concurrent requests. */
const MAX_GROWTH_MB = 480
const MAX_P99_MS = atMostMs(100)

type Way = { path: string; format: string }
const WAYS: [Way, Way, Way] = [
  { path: '/api/summarize', format: 'plain' },
  { path: '/api/summarize', format: 'markdown' },
  { path: '/api/extract', format: 'plain' },
]
const ENVIRONMENT = { SUMMARIZER_ALLOW_PRIVATE: 'true', RATE_LIMIT_SUMMARIZER: '1000000' }

const started = openInstallation({ environment: ENVIRONMENT }).then(async (installation) => ({
  installation,
  program: await installation.start(),
}))
afterAll(async () => (await started).installation[Symbol.asyncDispose]())

test(`${COUNT} hostile bodies are answered in time, without blocking the event loop or filling memory`, async () => {
  const { program } = await started
  const site = await startHostileSite()
  const names = z
    .array(z.string())
    .length(COUNT)
    .parse(await (await fetch(`${site}/names`)).json())
  await ask(program, `${site}/plain`)
  const before = memoryOf(program.pid, 'VmRSS')

  const probing = probe(program)
  const statuses = new Map<number, number>()
  let slowest = { ms: 0, name: '' }
  await inParallel(names, AT_ONCE, async (name, index) => {
    const startedAt = performance.now()
    const { status, body } = await ask(program, `${site}/${index}`, WAYS[index % WAYS.length])
    const ms = performance.now() - startedAt
    if (ms > slowest.ms) slowest = { ms, name }
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
    if (status !== 200 && status !== 500) throw new Error(`${name} was answered ${status}`)
    if (status === 500) expect(Object.keys(body)).toEqual(['error'])
  })
  const times = await probing.stop()

  const figures = {
    answers: Object.fromEntries(statuses),
    slowest,
    growthMb: memoryOf(program.pid, 'VmHWM') - before,
    health: { probes: times.length, p50: at(times, 0.5), p99: at(times, 0.99), max: at(times, 1) },
  }
  console.log(`hostile bodies: ${JSON.stringify(figures)}`)
  expect(slowest.ms).toBeLessThan(MAX_ANSWER_MS)
  expect(figures.growthMb).toBeLessThan(MAX_GROWTH_MB)
  expect(figures.health.p99).toBeLessThan(MAX_P99_MS)
  // Most bodies are valid pages.
  expect(statuses.get(200)).toBeGreaterThan(COUNT * 0.8)
  expect((await ask(program, `${site}/plain`)).status).toBe(200)
}, 300_000)

test('sixteen servers that send slowly are disconnected after 10 s', async () => {
  const { program } = await started
  let open = 0
  const site = await openSite((response) => {
    open++
    response.writeHead(200, { 'content-type': 'text/html' })
    const timer = setInterval(() => response.write('<p>x'), 100)
    response.on('close', () => {
      clearInterval(timer)
      open--
    })
  })
  const startedAt = performance.now()
  const answers = await Promise.all(Array.from({ length: 16 }, () => ask(program, `${site}/0`)))
  const elapsedMs = performance.now() - startedAt
  expect(answers.map(({ status }) => status)).toEqual(Array(16).fill(500))
  expect(answers[0]?.body).toEqual({ error: `No complete answer in time from ${site}/0` })
  expect(elapsedMs).toBeGreaterThan(9_500)
  expect(elapsedMs).toBeLessThan(MAX_ANSWER_MS)
  await until('the connections to be closed', () => open === 0)
}, 300_000)

/** Starts the site in a separate process, so that it does not delay the probes. */
async function startHostileSite(): Promise<string> {
  const program = Bun.fileURLToPath(import.meta.resolve('./hostile-site.ts'))
  const child = Bun.spawn([process.execPath, program, String(COUNT)], { stdout: 'pipe', stderr: 'inherit' })
  onTestFinished(() => child.kill())
  for await (const line of readLines(child.stdout)) return `http://127.0.0.1:${line}`
  throw new Error('The hostile site did not start')
}

async function openSite(answer: (response: http.ServerResponse) => void): Promise<string> {
  const server = http.createServer((_request, response) => answer(response))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`
}

async function ask(
  { urls }: Program,
  url: string,
  { path, format }: Way = WAYS[0],
): Promise<{ status: number; body: object }> {
  const response = await fetch(`${urls.summarizer}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ url, format }),
  })
  return { status: response.status, body: Object(await response.json()) }
}

/** Polls the backend's liveness; its delay is that of the event loop. */
function probe({ urls }: Program): { stop(): Promise<number[]> } {
  const times: number[] = []
  let isOver = false
  const run = async () => {
    while (!isOver) {
      const startedAt = performance.now()
      await (await fetch(`${urls.summarizer}/health`)).arrayBuffer()
      times.push(performance.now() - startedAt)
      await Bun.sleep(20)
    }
  }
  const running = run()
  return {
    async stop() {
      isOver = true
      await running
      return times.toSorted((one, other) => one - other)
    },
  }
}

function at(sorted: readonly number[], share: number): number {
  return Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN)
}

/** Returns memory in MB: `VmRSS` is current, `VmHWM` the peak. */
function memoryOf(pid: number, field: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Math.round(Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1024)
}

async function inParallel<T>(items: readonly T[], count: number, work: (item: T, index: number) => Promise<void>) {
  const queue = items.entries()
  const run = async () => {
    for (const [index, item] of queue) await work(item, index)
  }
  await Promise.all(Array.from({ length: count }, run))
}
