import { and, eq } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import { newId } from '../../../core/ids.ts'
import { requireQuota } from '../../../core/require-quota.ts'
import type { Sealer, SealPurpose } from '../../../core/secrets.ts'
import { countRows } from '../../../db/count-rows.ts'
import type { Tx } from '../../../db/open.ts'
import { users } from '../../accounts/users/tables.ts'
import { findAgentRow, insertAgent, sealGatewayToken } from '../registry/agents.ts'
import { agents } from '../registry/tables.ts'
import type { MachineAgentKind } from './schemas.ts'
import { type InstallationRow, installations } from './tables.ts'

const MAX_PER_USER = 50

/** The name of an agent whose machine has none. */
const UNNAMED = 'My machine'
/** Shown until the machine opens its tunnel. */
const NOT_CONNECTED = 'The machine has not connected yet'

/** A registration; `version` and `agentKind` are missing for clients without a tunnel. */
export type Registration = Pick<InstallationRow, 'userId' | 'name' | 'mode'> & {
  gatewayUrl?: string | null | undefined
  gatewayToken?: string | null | undefined
  version?: string | null | undefined
  agentKind?: MachineAgentKind | undefined
}

type MachineDeps = { clock: Clock; sealer: Sealer }

/** Returns the purpose for which an installation's gateway token is encrypted. */
function purposeOf(id: string): SealPurpose {
  return `installations:gatewayToken:${id}`
}

/**
 * Creates or updates the machine of this user and name, and its agent when the machine has a tunnel.
 * @throws AppError `limited` at 50 machines of one user.
 */
export function saveInstallation(deps: MachineDeps, tx: Tx, request: Registration): InstallationRow {
  const known = findByName(tx, request.userId, request.name)
  if (!known) requireInstallationQuota(tx, request.userId)
  const row = upsert(deps, tx, known?.id ?? newId('ins'), request)
  if (!request.version || row.ownerId === null) return row
  const agentId = saveAgent(deps, tx, { ...row, ownerId: row.ownerId }, request)
  return tx
    .update(installations)
    .set({ agentId, version: request.version })
    .where(eq(installations.id, row.id))
    .returning()
    .get()
}

function upsert(
  { clock, sealer }: MachineDeps,
  tx: Tx,
  id: string,
  { userId, name, mode, gatewayUrl = null, gatewayToken }: Registration,
): InstallationRow {
  const now = clock.now()
  const ownerId = tx.select({ id: users.id }).from(users).where(eq(users.id, userId)).get()?.id ?? null
  const sealedToken = gatewayToken ? sealer.seal(gatewayToken, purposeOf(id)) : null
  const given = { ownerId, mode, gatewayUrl, gatewayToken: sealedToken, status: 'active', lastSeenAt: now } as const
  return tx
    .insert(installations)
    .values({ id, userId, name, registeredAt: now, ...given })
    .onConflictDoUpdate({ target: installations.id, set: given })
    .returning()
    .get()
}

function findByName(tx: Tx, userId: string, name: string): InstallationRow | undefined {
  return tx
    .select()
    .from(installations)
    .where(and(eq(installations.userId, userId), eq(installations.name, name)))
    .get()
}

function requireInstallationQuota(tx: Tx, userId: string): void {
  const current = countRows(tx, installations, eq(installations.userId, userId))
  const message = `Installation limit reached (max ${MAX_PER_USER})`
  requireQuota({ current, limit: MAX_PER_USER, message, extra: { success: false } })
}

/** Creates or updates the agent whose gateway runs on the machine. @returns its id. */
function saveAgent(
  deps: MachineDeps,
  tx: Tx,
  machine: InstallationRow & { ownerId: string },
  { gatewayToken, version, agentKind = 'stead' }: Registration,
): string {
  const known = machine.agentId === null ? null : findAgentRow(tx, machine.agentId)
  const { id } = known ?? insertMachineAgent(deps, tx, machine)
  tx.update(agents)
    .set({
      kind: agentKind,
      runtimeVersion: version ?? null,
      ...(gatewayToken && sealGatewayToken(deps.sealer, id, gatewayToken)),
      updatedAt: deps.clock.now(),
    })
    .where(eq(agents.id, id))
    .run()
  return id
}

function insertMachineAgent(deps: MachineDeps, tx: Tx, { ownerId, name }: InstallationRow & { ownerId: string }) {
  const now = deps.clock.now()
  const plan = tx.select({ plan: users.plan }).from(users).where(eq(users.id, ownerId)).get()?.plan ?? 'free'
  const settings = { model: 'default', aiProvider: 'openrouter', status: 'running' } as const
  const agent = insertAgent(deps, tx, { ownerId, name: name || UNNAMED, plan, ...settings })
  const offline = { runtime: 'machine', startedAt: now, downAt: now, lastError: NOT_CONNECTED } as const
  tx.update(agents).set(offline).where(eq(agents.id, agent.id)).run()
  return agent
}
