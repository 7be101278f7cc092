import { and, asc, eq, lt } from 'drizzle-orm'
import { AppError } from '../../../core/errors.ts'
import { newId } from '../../../core/ids.ts'
import { requireQuota } from '../../../core/require-quota.ts'
import type { SealPurpose } from '../../../core/secrets.ts'
import { countRows } from '../../../db/count-rows.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { inPages } from '../../../db/pages.ts'
import { wholeList } from '../../../db/personal-data.ts'
import { write } from '../../../db/write.ts'
import type { Principal } from '../../../http/env.ts'
import { writeJsonArray } from '../../../http/streams/send-pieces.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import { users } from '../../accounts/users/tables.ts'
import type { Base } from '../../base.ts'
import type { HeartbeatRequest, RegisterLinkRequest } from './schemas.ts'
import { type InstallationRow, installations } from './tables.ts'

const MAX_PER_USER = 50

type Registration = RegisterLinkRequest & Pick<InstallationRow, 'mode'>

/**
 * Registers a machine or updates its registration, which counts as a heartbeat. Users register their own machines,
 * the
 * operator anyone's.
 * @throws AppError `forbidden` for another user, `limited` at 50 machines of one user.
 */
export async function register(deps: Base, principal: Principal, request: Registration): Promise<void> {
  const { userId, name } = request
  if (principal.kind === 'user' && principal.user.id !== userId) throw new AppError('forbidden', 'Forbidden')
  await write(deps.db, (tx) => {
    const known = findByName(tx, userId, name)
    if (!known) requireInstallationQuota(tx, userId)
    saveInstallation(tx, deps, known?.id ?? newId('ins'), request)
  })
}

function saveInstallation(tx: Tx, { clock, sealer }: Base, id: string, request: Registration): void {
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

/** A machine that is silent for longer is inactive. */
const SILENT_MS = 15 * 60_000

/** Records a heartbeat of a user's machine, or of all machines without a name. Unknown machines are ignored. */
export async function recordHeartbeat({ db, clock }: Base, { userId, name }: HeartbeatRequest): Promise<void> {
  if (!userId) return
  const isTheirs = and(eq(installations.userId, userId), name === undefined ? undefined : eq(installations.name, name))
  // Heartbeats are unauthenticated, so an unknown machine must not cost a write.
  if (!db.select({ id: installations.id }).from(installations).where(isTheirs).get()) return
  await write(db, (tx) =>
    tx.update(installations).set({ lastSeenAt: clock.now(), status: 'active' }).where(isTheirs).run(),
  )
}

/** Marks each machine once after 15 minutes without a heartbeat. */
export async function markSilent(deps: Base): Promise<void> {
  const silentSince = new Date(deps.clock.now().getTime() - SILENT_MS)
  const isSilent = and(eq(installations.status, 'active'), lt(installations.lastSeenAt, silentSince))
  if (!deps.db.select({ id: installations.id }).from(installations).where(isSilent).get()) return
  const gone = await write(deps.db, (tx) =>
    tx.update(installations).set({ status: 'inactive' }).where(isSilent).returning().all(),
  )
  for (const { id, userId, mode, lastSeenAt } of gone) {
    deps.log.warn({ installationId: id, userId, mode, lastSeen: lastSeenAt }, 'an installation fell silent')
  }
}

/**
 * Lists the installations that the principal may see, by registration time, as chunks of JSON (schema
 * `Installations`). The
 * operator sees all of them, which may be thousands.
 */
export function* listInstallations(db: Db, principal: Principal): Generator<string, void> {
  const condition = principal.kind === 'user' ? eq(installations.ownerId, principal.user.id) : undefined
  const total = countRows(db, installations, condition)
  const pages = inPages(db, {
    table: installations,
    condition,
    read: (isOnPage) => db.select().from(installations).where(isOnPage).all().map(toInstallation),
  })
  yield `{"success":true,"count":${total},"installations":`
  yield* writeJsonArray(pages)
  yield '}'
}

function toInstallation(row: InstallationRow) {
  return {
    id: row.id,
    userId: row.userId,
    name: row.name,
    mode: row.mode,
    gatewayUrl: row.gatewayUrl,
    registeredAt: row.registeredAt.toISOString(),
    lastSeen: row.lastSeenAt.toISOString(),
    status: row.status,
  }
}

/**
 * Deletes a machine and its token. A running machine reappears when it registers again; deleting its key prevents
 * that.
 * @throws AppError `not_found` for a missing or foreign machine.
 */
export async function deleteInstallation(db: Db, ownerId: string, id: string): Promise<void> {
  const isOwn = and(eq(installations.id, id), eq(installations.ownerId, ownerId))
  const { changes } = await write(db, (tx) => tx.delete(installations).where(isOwn).run())
  if (changes === 0) throw new AppError('not_found', 'Installation not found')
}

/** Deletes all machines of a user, in the caller's transaction. */
export function forgetInstallations(tx: Tx, userId: string): void {
  tx.delete(installations).where(eq(installations.ownerId, userId)).run()
}

export const personalInstallations = wholeList('installations', [installations], (db, userId) =>
  db
    .select({
      name: installations.name,
      mode: installations.mode,
      gatewayUrl: installations.gatewayUrl,
      status: installations.status,
      registeredAt: installations.registeredAt,
      lastSeenAt: installations.lastSeenAt,
    })
    .from(installations)
    .where(eq(installations.ownerId, userId))
    .orderBy(asc(installations.registeredAt))
    .all(),
)

const MINUTE_MS = 60_000

/** Marks machines that stopped sending heartbeats. */
export function installationsJob(deps: Base): RepeatingJob {
  return { name: 'installations.silent', everyMs: MINUTE_MS, run: () => markSilent(deps) }
}
