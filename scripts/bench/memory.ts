import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { proportionalMegabytes, residentMegabytes } from './child.ts'
import { median } from './median.ts'
import { type Measurement, toFigure } from './report.ts'
import { createUser, deployAgent, preparePlatform, signIn, startStead } from './stead.ts'
import type { Workbench } from './workbench.ts'

const AGENTS = 20
const AT_ONCE = 4
const SETTLE_MS = 2000

const RuntimeRecord = z.object({ process: z.object({ pid: z.number() }) })

/** Measures the memory of the idle service, and of each of 20 built-in agents. */
export async function measureMemory(bench: Workbench): Promise<Measurement[]> {
  const installation = await preparePlatform(bench, { AI_ECHO: 'true' })
  const email = await createUser(bench, installation, 'network')
  const stead = await startStead(bench, installation)
  await Bun.sleep(SETTLE_MS)
  const idle = await residentMegabytes(stead.pid)

  const cookie = await signIn(stead, email)
  for (let first = 0; first < AGENTS; first += AT_ONCE) {
    await Promise.all(
      Array.from({ length: AT_ONCE }, (_, index) => deployAgent(stead, cookie, `Agent ${first + index}`)),
    )
  }
  await Bun.sleep(SETTLE_MS)
  const pids = await listAgentPids(installation.dataDir)
  if (pids.length !== AGENTS) throw new Error(`${pids.length} of ${AGENTS} agents have a process`)
  const agents = await Promise.all(pids.map(residentMegabytes))
  const shares = await Promise.all(pids.map(proportionalMegabytes))
  const busy = await residentMegabytes(stead.pid)

  const absolute = { bare: null, unit: 'MB', bound: 'at most', aim: null } as const
  const [perAgent, share] = [median(agents), median(shares)]
  return [
    {
      ...absolute,
      name: 'memory, idle',
      ours: idle,
      value: idle,
      layer: 110,
      notes: [`with ${AGENTS} agents running: ${toFigure(busy)} MB`],
    },
    {
      ...absolute,
      name: 'memory, each agent',
      ours: perAgent,
      value: perAgent,
      layer: 60,
      notes: [`${toFigure(share)} MB when pages that agents share are split between them`],
    },
  ]
}

async function listAgentPids(dataDir: string): Promise<number[]> {
  const folder = join(dataDir, 'agents')
  const texts = await Promise.all(
    (await readdir(folder)).map((id) => readFile(join(folder, id, 'runtime.json'), 'utf8')),
  )
  return texts.map((text) => RuntimeRecord.parse(JSON.parse(text)).process.pid)
}
