import { and, eq, isNotNull } from 'drizzle-orm'
import type { Runtimes } from '../../../adapters/runtimes/contract/runtimes.ts'
import { isPortFree } from '../../../adapters/runtimes/process/spawn.ts'
import { AppError } from '../../../core/errors.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { type AgentRow, agents } from '../registry/tables.ts'

const LAST_PORT = 65_535

/**
 * Leases the lowest port from `basePort` that no agent holds and `taken` does not contain; an agent keeps its own.
 * @throws AppError `unavailable` when no port is left.
 */
export function leasePort(tx: Tx, agentId: string, options: { basePort: number; taken: ReadonlySet<number> }): number {
  const { leased, own } = listLeases(tx, agentId)
  if (own && !options.taken.has(own)) return own
  const port = findUnleased(leased, options)
  tx.update(agents).set({ port }).where(eq(agents.id, agentId)).run()
  return port
}

/**
 * Adds ports to `taken` that other programs hold, up to the first free one. The port on which the agent itself runs
 * counts as
 * free.
 */
export async function findTakenPorts(
  deps: { db: Db; runtimes: Pick<Runtimes, 'runtimeOf'>; basePort: number },
  agent: AgentRow,
  taken: Set<number>,
): Promise<void> {
  const inspection = await deps.runtimes.runtimeOf(agent).inspect(agent.id)
  const isUp = inspection?.state === 'running' || inspection?.state === 'restarting'
  for (;;) {
    // Read the leases again each time: probing occupies the port briefly and must not disturb an agent that just
    // leased it.
    const { leased, own } = listLeases(deps.db, agent.id)
    const isOwn = own !== null && !taken.has(own)
    const port = isOwn ? own : findUnleased(leased, { basePort: deps.basePort, taken })
    if (isOwn && isUp && inspection.port === port) return
    if (await isPortFree(port)) return
    taken.add(port)
  }
}

function listLeases(db: Db, agentId: string): { leased: ReadonlySet<number | null>; own: number | null } {
  const rows = db.select({ port: agents.port }).from(agents).where(isNotNull(agents.port)).all()
  const held = and(eq(agents.id, agentId), isNotNull(agents.port))
  const own = db.select({ port: agents.port }).from(agents).where(held).get()?.port ?? null
  return { leased: new Set(rows.map(({ port }) => port)), own }
}

function findUnleased(
  leased: ReadonlySet<number | null>,
  { basePort, taken }: { basePort: number; taken: ReadonlySet<number> },
): number {
  for (let port = basePort; port <= LAST_PORT; port++) if (!leased.has(port) && !taken.has(port)) return port
  throw new AppError('unavailable', 'No port is left for another agent')
}
