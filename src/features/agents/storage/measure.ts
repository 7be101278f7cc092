import { lstat, opendir } from 'node:fs/promises'
import { join } from 'node:path'
import { and, asc, eq, isNull, lt, or, sql } from 'drizzle-orm'
import type { Runtime } from '../../../adapters/runtimes/contract/runtime.ts'
import type { Runtimes } from '../../../adapters/runtimes/contract/runtimes.ts'
import { spareTurn } from '../../../core/concurrency/timing.ts'
import { prepareOnce } from '../../../db/prepare-once.ts'
import { write } from '../../../db/write.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import type { Base } from '../../base.ts'
import { type AgentRow, agents } from '../registry/tables.ts'
import { agentStorage } from './tables.ts'

const LOOK_MS = 5000
/** Running agents write files on their own; others are measured rarely. */
const MAX_AGE_MS = { running: 300_000, still: 3_600_000 }
/** One call makes the engine measure every file of every volume. */
const ENGINE_PAUSE_MS = 60_000
const MAX_AGENTS = 100
/** Entries measured before other work gets a turn. */
const STEP_ENTRIES = 50
/** The unit of `Stats.blocks`. */
const BLOCK_BYTES = 512

/** An agent to measure, and its last measurement. */
type Due = Pick<AgentRow, 'id' | 'runtime'> & { workspaceBytes: number; measuredAt: Date | null }

/** Measures agents' stored data: at once after a change through the platform, otherwise at intervals. */
export function measureStorageJob(
  deps: Base & { runtimes: Pick<Runtimes, 'runtimeOf'>; agentsFolder: string },
): RepeatingJob {
  const askEngine = createEngineQuestion()
  return {
    name: 'storage.measure',
    everyMs: LOOK_MS,
    async run(signal) {
      const agentsDue = dueAgents(deps.db).all({ nowMs: deps.clock.now().getTime() })
      for (const [runtime, due] of groupByRuntime(deps, agentsDue)) {
        if (runtime.name === 'process') await saveFolders(deps, due, signal)
        else await saveAnswer(deps, due, await askEngine(runtime))
      }
    },
  }
}

/** Creates a rate-limited query of an engine's volumes; null when it was asked a moment ago. */
function createEngineQuestion() {
  const askedAtMs = new Map<string, number>()
  return async (runtime: Runtime) => {
    const asked = askedAtMs.get(runtime.name)
    if (asked !== undefined && performance.now() - asked < ENGINE_PAUSE_MS) return null
    askedAtMs.set(runtime.name, performance.now())
    return (await runtime.measureStored?.()) ?? null
  }
}

async function saveFolders(deps: Base & { agentsFolder: string }, due: Due[], signal: AbortSignal): Promise<void> {
  for (const one of due) await save(deps, one, await measureFolder(join(deps.agentsFolder, one.id, 'state'), signal))
}

async function saveAnswer(deps: Base, due: Due[], bytes: ReadonlyMap<string, number> | null): Promise<void> {
  if (bytes) for (const one of due) await save(deps, one, bytes.get(one.id) ?? 0)
}

/** Agents to measure; those never measured, or changed since, come first. */
const dueAgents = prepareOnce((db) => {
  const isOlder = (ageMs: number) => lt(agentStorage.measuredAt, sql`${sql.placeholder('nowMs')} - ${ageMs}`)
  const isRunning = eq(agents.status, 'running')
  return db
    .select({
      id: agents.id,
      runtime: agents.runtime,
      workspaceBytes: agentStorage.workspaceBytes,
      measuredAt: agentStorage.measuredAt,
    })
    .from(agentStorage)
    .innerJoin(agents, eq(agents.id, agentStorage.agentId))
    .where(or(isNull(agentStorage.measuredAt), isOlder(MAX_AGE_MS.still), and(isOlder(MAX_AGE_MS.running), isRunning)))
    .orderBy(asc(agentStorage.measuredAt))
    .limit(MAX_AGENTS)
    .prepare()
})

function groupByRuntime({ runtimes }: { runtimes: Pick<Runtimes, 'runtimeOf'> }, due: Due[]): Map<Runtime, Due[]> {
  return Map.groupBy(due, (agent) => runtimes.runtimeOf(agent))
}

/** Stores a measurement unless the row changed meanwhile; then the agent is measured again. */
async function save({ db, clock }: Base, before: Due, workspaceBytes: number): Promise<void> {
  const measured = { workspaceBytes, measuredAt: clock.now() }
  const isAsBefore = and(
    eq(agentStorage.agentId, before.id),
    eq(agentStorage.workspaceBytes, before.workspaceBytes),
    before.measuredAt ? eq(agentStorage.measuredAt, before.measuredAt) : isNull(agentStorage.measuredAt),
  )
  await write(db, (tx) => tx.update(agentStorage).set(measured).where(isAsBefore).run())
}

/** Returns the disk usage of a folder. Links are not followed; vanished files count nothing. */
async function measureFolder(folder: string, signal: AbortSignal): Promise<number> {
  let bytes = 0
  let entries = 0
  const waiting = [folder]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    for await (const { name, isFolder, size } of listEntries(next)) {
      bytes += size
      if (isFolder) waiting.push(join(next, name))
      if (++entries % STEP_ENTRIES === 0) await spareTurn()
      signal.throwIfAborted()
    }
  }
  return bytes
}

async function* listEntries(folder: string) {
  const opened = await opendir(folder).catch(() => null)
  if (!opened) return
  for await (const { name } of opened) {
    const stat = await lstat(join(folder, name)).catch(() => null)
    if (stat) yield { name, isFolder: stat.isDirectory(), size: stat.blocks * BLOCK_BYTES }
  }
}
