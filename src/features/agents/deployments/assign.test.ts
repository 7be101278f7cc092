import { expect, test } from 'bun:test'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { eq } from 'drizzle-orm'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { tempFolder } from '../../../../tests/harness/temp-folder.ts'
import { type AgentRecord, agentFolder } from '../../../adapters/runtimes/process/files.ts'
import { createProcessTable } from '../../../adapters/runtimes/process/table.ts'
import { write } from '../../../db/write.ts'
import { insertAgent } from '../registry/create.ts'
import { agents } from '../registry/tables.ts'
import { assignRuntimes, isAssigned, type KnownRuntimes } from './assign.ts'

const PORT = 20_000

type Found = {
  image?: string
  /** A process that lives, one that died, one that lives on another port than the row's; none. */
  process?: 'alive' | 'dead' | 'elsewhere'
  container?: boolean
}

/** The runtime that an agent of before gets, from what is found of it. */
async function assigned(configured: KnownRuntimes['configured'], found: Found): Promise<string | null | undefined> {
  using folder = tempFolder()
  const { platform } = testPlatform()
  const row = { id: 'ada-1', ownerId: null, name: 'Ada', model: 'm', plan: 'solo', aiProvider: 'openrouter' }
  await write(platform.db, (tx) => {
    insertAgent(platform, tx, { ...row, status: 'running' })
    tx.update(agents)
      .set({ port: PORT, image: found.image ?? null })
      .run()
  })
  if (found.process) await writeRecord(folder.path, found.process)
  const hasContainer = async () => found.container ?? false
  await assignRuntimes(platform.db, { configured, processes: folder.path, table: createProcessTable(), hasContainer })
  return platform.db.select().from(agents).get()?.runtime
}

async function writeRecord(processes: string, state: NonNullable<Found['process']>): Promise<void> {
  const [self] = await createProcessTable().find([process.pid])
  const record: AgentRecord = {
    desired: 'running',
    spec: {
      id: 'ada-1',
      image: null,
      port: state === 'elsewhere' ? PORT + 1 : PORT,
      environment: {},
      limits: { memoryBytes: 1, cpus: 1, processes: 1 },
    },
    process: { pid: process.pid, startTime: state === 'dead' ? 'long ago' : (self?.startTime ?? '') },
    startedAt: null,
    exitCode: null,
    restarts: 0,
  }
  mkdirSync(join(processes, 'ada-1'))
  writeFileSync(agentFolder(processes, 'ada-1').record, JSON.stringify(record))
}

const CASES: [KnownRuntimes['configured'], Found, string][] = [
  ['auto', { process: 'alive' }, 'process'],
  ['auto', { process: 'alive', image: 'stead-agent:1', container: true }, 'process'],
  ['auto', { process: 'elsewhere', image: 'stead-agent:1' }, 'docker'],
  ['auto', { process: 'dead' }, 'process'],
  ['auto', { process: 'dead', container: true }, 'docker'],
  ['auto', { image: 'stead-agent:1' }, 'docker'],
  ['auto', {}, 'process'],
  ['process', { process: 'dead', image: 'stead-agent:1' }, 'process'],
  ['process', { image: 'stead-agent:1' }, 'docker'],
  ['process', {}, 'process'],
  ['docker', { process: 'alive' }, 'process'],
  ['docker', { process: 'dead' }, 'process'],
  ['docker', { process: 'dead', container: true }, 'docker'],
  ['docker', { image: 'stead-agent:1' }, 'docker'],
  ['docker', {}, 'docker'],
  ['swarm', { image: 'stead-agent:1' }, 'swarm'],
  ['swarm', {}, 'swarm'],
]

test.each(CASES)(
  'AGENT_RUNTIME=%s, an agent of before of which %j is found is one of %s',
  async (configured, found, expected) => {
    expect(await assigned(configured, found)).toBe(expected)
  },
)

test('an agent that was never deployed, and one that has a runtime, stay as they are', async () => {
  using folder = tempFolder()
  const { platform } = testPlatform()
  const row = { ownerId: null, name: 'Ada', model: 'm', plan: 'solo', aiProvider: 'openrouter' }
  await write(platform.db, (tx) => {
    insertAgent(platform, tx, { ...row, id: 'new-1', status: 'pending' })
    const { id } = insertAgent(platform, tx, { ...row, id: 'old-1', status: 'running' })
    tx.update(agents).set({ port: PORT, runtime: 'swarm' }).where(eq(agents.id, id)).run()
  })
  const known = {
    configured: 'docker',
    processes: folder.path,
    table: createProcessTable(),
    hasContainer: async () => true,
  } as const
  await assignRuntimes(platform.db, known)
  const rows = platform.db.select({ id: agents.id, runtime: agents.runtime }).from(agents).orderBy(agents.id).all()
  expect(rows).toEqual([
    { id: 'new-1', runtime: null },
    { id: 'old-1', runtime: 'swarm' },
  ])
  expect(isAssigned(platform.db, 'old-1', 'swarm')).toBe(true)
  expect(isAssigned(platform.db, 'old-1', 'process')).toBe(false)
  expect(isAssigned(platform.db, 'nobody', 'process')).toBe(false)
})
