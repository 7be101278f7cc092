import { Database } from 'bun:sqlite'
import { cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createEngine, LABELS, orNull } from '../../src/adapters/runtimes/engine/engine.ts'
import { hasImage } from '../../src/adapters/runtimes/engine/images.ts'
import { VERSION } from '../../src/core/version.ts'
import { residentMegabytes, waitFor } from './child.ts'
import { type Model, startModel } from './model.ts'
import { type Measurement, toFigure, toSecondsMeasured } from './report.ts'
import { createUser, deployAgent, type Installation, preparePlatform, type Stead, signIn, startStead } from './stead.ts'
import type { Workbench } from './workbench.ts'

const WAKES = 5
const FIRST_BYTE = 'to the first byte at the model'
const ASLEEP = 1000
/** 1.2 s. */
const SLEEPY = { AGENT_SLEEP_MINUTES: '0.02' }
/** After this time the first reconciliation and the work after a start are over. */
const SETTLE_MS = 40_000

/**
 * Measures the time from a message to a sleeping process agent until the model is called, and the memory of 1,000
 * sleeping agents.
 */
export async function measureWake(bench: Workbench): Promise<Measurement[]> {
  const model = startModel(bench)
  const installation = await preparePlatform(bench, { ...SLEEPY, ...model.settings })
  const email = await createUser(bench, installation, 'network')
  const stead = await startStead(bench, installation)
  const cookie = await signIn(stead, email)
  const { id } = await deployAgent(stead, cookie, 'Ada')
  const seconds = await wakeOften(stead, cookie, id, model)
  await fallsAsleep(stead, cookie, id)
  await stead.end()
  return [toSecondsMeasured('wake a process', seconds, 0.5, FIRST_BYTE), await measureAsleep(bench, installation, id)]
}

/**
 * Measures the same for an agent in a container. Returns nothing without an engine that has the image (`bun run
 * agent:image`).
 */
export async function measureWakeOfContainer(bench: Workbench): Promise<Measurement[]> {
  const dockerHost = process.env.DOCKER_HOST ?? '/var/run/docker.sock'
  const image = process.env.AGENT_IMAGE ?? `stead-agent:${VERSION}`
  const engine = createEngine(dockerHost)
  if (!(await engine.isAnswering()) || !(await hasImage(engine, image))) {
    console.error(`  wake-container: no engine at ${dockerHost} has ${image}, not measured`)
    return []
  }
  const model = startModel(bench)
  const settings = { AGENT_RUNTIME: 'docker', DOCKER_HOST: dockerHost, AGENT_IMAGE: image }
  const installation = await preparePlatform(bench, { ...SLEEPY, ...settings, ...model.settings })
  const email = await createUser(bench, installation, 'network')
  const stead = await startStead(bench, installation)
  const cookie = await signIn(stead, email)
  const { id } = await deployAgent(stead, cookie, 'Ada')
  try {
    return [toSecondsMeasured('wake a container', await wakeOften(stead, cookie, id, model), 2, FIRST_BYTE)]
  } finally {
    await fetch(`${stead.web}/api/agents/${id}`, { method: 'DELETE', headers: { cookie } })
    const filters = { label: [`${LABELS.agent}=${id}`] }
    for (const { Id } of await engine.ask((docker) => docker.listContainers({ all: true, filters })))
      await orNull(engine.change((docker) => docker.getContainer(Id).remove({ force: true, v: true })))
  }
}

async function wakeOften(stead: Stead, cookie: string, agentId: string, model: Model): Promise<number[]> {
  const seconds: number[] = []
  for (let wake = 0; wake < WAKES; wake++) {
    await fallsAsleep(stead, cookie, agentId)
    const startedAt = performance.now()
    const response = await fetch(`${stead.web}/api/chat`, {
      method: 'POST',
      headers: { cookie, 'content-type': 'application/json' },
      body: JSON.stringify({ agentId, message: 'Good morning' }),
    })
    if (!response.ok) throw new Error(`The agent did not wake: ${await response.text()}`)
    await response.text()
    seconds.push((model.askedAt() - startedAt) / 1000)
  }
  return seconds
}

async function fallsAsleep(stead: Stead, cookie: string, id: string): Promise<void> {
  await waitFor('the agent to sleep', async () => {
    const response = await fetch(`${stead.web}/api/agents/${id}`, { headers: { cookie } })
    return Object(await response.json()).agent.status === 'sleeping' ? true : null
  })
}

/**
 * Measures the memory that 1,000 sleeping agents add to the service. They are copies of one agent, row and folder, with
 * its encrypted tokens: they could not start, but cost the same while asleep.
 */
async function measureAsleep(bench: Workbench, installation: Installation, agentId: string): Promise<Measurement> {
  const one = await restAndMeasure(bench, installation)
  await copyAgent(installation, agentId)
  const all = await restAndMeasure(bench, installation)
  const added = all - one
  return {
    name: `memory, ${ASLEEP} asleep`,
    ours: added,
    bare: null,
    unit: 'MB',
    value: added,
    bound: 'at most',
    layer: 30,
    aim: null,
    notes: [`${toFigure(one)} MB with one, ${toFigure(all)} MB with ${ASLEEP + 1}`],
  }
}

async function restAndMeasure(bench: Workbench, installation: Installation): Promise<number> {
  const stead = await startStead(bench, installation)
  await Bun.sleep(SETTLE_MS)
  const megabytes = await residentMegabytes(stead.pid)
  await stead.end()
  return megabytes
}

async function copyAgent({ dataDir }: Installation, agentId: string): Promise<void> {
  const database = new Database(join(dataDir, 'stead.db'))
  const row = database
    .query<Record<string, string | number | null>, [string]>('SELECT * FROM agents WHERE id = ?')
    .get(agentId)
  if (!row) throw new Error('The agent is gone')
  const columns = Object.keys(row)
  const insert = database.query(`INSERT INTO agents (${columns.join()}) VALUES (${columns.map(() => '?').join()})`)
  const folder = join(dataDir, 'agents')
  const record = await readFile(join(folder, agentId, 'runtime.json'), 'utf8')
  for (let index = 0; index < ASLEEP; index++) {
    const id = `asleep-${index}`
    const own = { id, port: Number(row.port) + 1 + index, access_token_hash: id }
    insert.run(...Object.values({ ...row, ...own }))
    await cp(join(folder, agentId), join(folder, id), { recursive: true })
    await writeFile(join(folder, id, 'runtime.json'), record.replaceAll(agentId, id))
  }
  database.close()
}
