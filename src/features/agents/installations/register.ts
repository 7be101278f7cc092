import { and, eq } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import { newId } from '../../../core/ids.ts'
import { requireQuota } from '../../../core/require-quota.ts'
import type { Sealer, SealPurpose } from '../../../core/secrets.ts'
import { countRows } from '../../../db/count-rows.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Principal } from '../../../http/env.ts'
import { users } from '../../accounts/users/tables.ts'
import type { RegisterLinkRequest } from './schemas.ts'
import { type InstallationRow, installations } from './tables.ts'

const MAX_PER_USER = 50

export type RegisterDeps = { db: Db; clock: Clock; sealer: Sealer }

type Registration = RegisterLinkRequest & Pick<InstallationRow, 'mode'>

/**
 * Registers a machine, or what it says anew about itself: it counts as seen now. A user registers for themselves, the
 * operator for anybody.
 * @throws AppError `forbidden` for somebody else, `limited` at 50 machines of one user.
 */
export async function register(deps: RegisterDeps, principal: Principal, request: Registration): Promise<void> {
  const { userId, name } = request
  if (principal.kind === 'user' && principal.user.id !== userId) throw new AppError('forbidden', 'Forbidden')
  await write(deps.db, (tx) => {
    const known = findByName(tx, userId, name)
    if (!known) requireInstallationQuota(tx, userId)
    saveInstallation(tx, deps, known?.id ?? newId('ins'), request)
  })
}

function saveInstallation(tx: Tx, { clock, sealer }: RegisterDeps, id: string, request: Registration): void {
  const { userId, name, mode, gatewayUrl = null, gatewayToken } = request
  const now = clock.now()
  const ownerId = tx.select({ id: users.id }).from(users).where(eq(users.id, userId)).get()?.id ?? null
  const sealedToken = gatewayToken ? sealer.seal(gatewayToken, purposeOf(id)) : null
  const said = { ownerId, mode, gatewayUrl, gatewayToken: sealedToken, status: 'active', lastSeenAt: now } as const
  tx.insert(installations)
    .values({ id, userId, name, registeredAt: now, ...said })
    .onConflictDoUpdate({ target: installations.id, set: said })
    .run()
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

function purposeOf(id: string): SealPurpose {
  return `installations:gatewayToken:${id}`
}
