import { eq, isNotNull } from 'drizzle-orm'
import { AppError } from '../../core/errors.ts'
import type { Tx } from '../../db/open.ts'
import { agents } from '../agents/tables.ts'

const LAST_PORT = 65_535

/**
 * Leases the lowest port from `basePort` on that no agent holds and `taken` does not name; an agent keeps the one it has.
 * @throws AppError `unavailable` when there is none left.
 */
export function leasePort(tx: Tx, agentId: string, options: { basePort: number; taken: ReadonlySet<number> }): number {
  const rows = tx.select({ id: agents.id, port: agents.port }).from(agents).where(isNotNull(agents.port)).all()
  const own = rows.find((row) => row.id === agentId)?.port
  if (own && !options.taken.has(own)) return own
  const leased = new Set(rows.map((row) => row.port))
  for (let port = options.basePort; port <= LAST_PORT; port++) {
    if (leased.has(port) || options.taken.has(port)) continue
    tx.update(agents).set({ port }).where(eq(agents.id, agentId)).run()
    return port
  }
  throw new AppError('unavailable', 'No port is left for another agent')
}
