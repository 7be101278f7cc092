import { join } from 'node:path'
import { cpuSeconds, residentMegabytes, startBareServer } from './child.ts'
import { type Gateways, startGateways } from './gateway.ts'
import { sendLoad } from './load.ts'
import { type Race, race } from './race.ts'
import type { Measurement } from './report.ts'
import { preparePlatform, startStead } from './stead.ts'
import type { Workbench } from './workbench.ts'

const CONNECTIONS = 16
const TURNS = 8
/** After this time every repeating job has run once. */
const SETTLE_MS = 30_000
const IDLE_MS = 60_000
const CHAT_MS = 10_000
const SAMPLE_MS = 100

/** CPU time per request against bare Bun in one run, and the CPU time and memory of an idle and of a busy service. */
export async function measureCpu(bench: Workbench): Promise<Measurement[]> {
  const idle = await measureIdle(bench)
  const gateways = await startGateways(bench)
  const memory = await measureBusyMemory(gateways)
  return [...(await measureRequests(bench, gateways)), ...idle, memory]
}

async function measureRequests(bench: Workbench, gateways: Gateways): Promise<Measurement[]> {
  const { stead, cookie, installation, completion } = gateways
  const bareSession = await startBareServer(bench, 'session.ts', [join(installation.dataDir, 'stead.db')])
  const session = { method: 'GET', path: '/api/auth/session', headers: { cookie } }
  const ourSession = { ...session, url: stead.web, pid: stead.pid }
  const [chat, stream] = [completion(), completion({ stream: true })]
  return [
    toCost('cpu, session', await race(ourSession, { ...session, ...bareSession }, CONNECTIONS, TURNS), 1.6),
    toCost('cpu, chat', await race(chat.ours, chat.bare, CONNECTIONS, TURNS), 2.6),
    toCost('cpu, streamed chat', await race(stream.ours, stream.bare, CONNECTIONS, TURNS), 2.6),
  ]
}

function toCost(name: string, { ours, bare, cpuRatio }: Race, limit: number): Measurement {
  return {
    name,
    ours: ours.cpuMicrosPerRequest,
    bare: bare.cpuMicrosPerRequest,
    unit: 'µs',
    value: cpuRatio,
    bound: 'at most',
    layer: limit,
    aim: null,
    notes: [],
  }
}

/** A service without agents and without requests. */
async function measureIdle(bench: Workbench): Promise<Measurement[]> {
  const stead = await startStead(bench, await preparePlatform(bench))
  await Bun.sleep(SETTLE_MS)
  const before = await cpuSeconds(stead.pid)
  await Bun.sleep(IDLE_MS)
  const percent = (((await cpuSeconds(stead.pid)) - before) / (IDLE_MS / 1000)) * 100
  const memory = await residentMegabytes(stead.pid)
  await stead.end()
  return [toAbsolute('idle, of a core', percent, '%', 0.3), toAbsolute('memory, idle', memory, 'MB', 110)]
}

/** The largest resident memory while `CONNECTIONS` chats run all the time. */
async function measureBusyMemory({ stead, completion }: Gateways): Promise<Measurement> {
  let isOver = false
  const load = (async () => {
    for (const { ours } of [completion(), completion({ stream: true })]) await sendLoad(ours, CONNECTIONS, CHAT_MS)
  })().finally(() => (isOver = true))
  let largest = 0
  while (!isOver) {
    largest = Math.max(largest, await residentMegabytes(stead.pid))
    await Bun.sleep(SAMPLE_MS)
  }
  await load
  return toAbsolute(`memory, ${CONNECTIONS} chats`, largest, 'MB', 200)
}

function toAbsolute(name: string, value: number, unit: string, limit: number): Measurement {
  return { name, ours: value, bare: null, unit, value, bound: 'at most', layer: limit, aim: null, notes: [] }
}
