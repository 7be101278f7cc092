import { and, eq, isNotNull, isNull } from 'drizzle-orm'
import type { RuntimeName } from '../../../adapters/runtimes/contract/runtime.ts'
import { agentFolder, findRecord } from '../../../adapters/runtimes/process/files.ts'
import { isAlive } from '../../../adapters/runtimes/process/spawn.ts'
import type { ProcessTable } from '../../../adapters/runtimes/process/table.ts'
import type { Db } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { type AgentRow, agents } from '../registry/tables.ts'

/** Does the row of an agent say that it runs in `runtime`? */
export function isAssigned(db: Db, agentId: string, runtime: RuntimeName): boolean {
  const isHere = and(eq(agents.id, agentId), eq(agents.runtime, runtime))
  return db.select({ id: agents.id }).from(agents).where(isHere).get() !== undefined
}

/** `processes` is the folder of agents that are processes, `table` those that run now, `hasContainer` asks the engine: false when it does not answer. */
export type KnownRuntimes = {
  configured: RuntimeName | 'auto'
  processes: string
  table: ProcessTable
  hasContainer: (agentId: string) => Promise<boolean>
}

/**
 * Gives agents that were deployed before rows named a runtime the one they are in. What tells is a living process, then
 * the image that was last seen of them or a container, then a process of earlier, then what is configured.
 */
export async function assignRuntimes(db: Db, known: KnownRuntimes): Promise<void> {
  const isUnassigned = and(isNull(agents.runtime), isNotNull(agents.port))
  for (const agent of db.select().from(agents).where(isUnassigned).all()) {
    const runtime = await findRuntime(agent, known)
    await write(db, (tx) => tx.update(agents).set({ runtime }).where(eq(agents.id, agent.id)).run())
  }
}

async function findRuntime(agent: AgentRow, known: KnownRuntimes): Promise<RuntimeName> {
  const { configured, processes } = known
  const record = await findRecord(agentFolder(processes, agent.id)).catch(() => null)
  const isOnItsPort = record?.spec.port === agent.port
  if (record?.process && isOnItsPort && (await isAlive(known.table, record.process))) return 'process'
  if (configured === 'process' && record) return 'process'
  const containers = configured === 'swarm' ? 'swarm' : 'docker'
  if (agent.image !== null || (await known.hasContainer(agent.id))) return containers
  return record || configured === 'process' || configured === 'auto' ? 'process' : containers
}
