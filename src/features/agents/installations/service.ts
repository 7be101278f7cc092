import { and, asc, eq, inArray, lt } from 'drizzle-orm'
import type { MachineLinks } from '../../../adapters/tunnel/links.ts'
import { AppError } from '../../../core/errors.ts'
import { countRows } from '../../../db/count-rows.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { inPages } from '../../../db/pages.ts'
import { wholeList } from '../../../db/personal-data.ts'
import { write } from '../../../db/write.ts'
import type { Principal } from '../../../http/env.ts'
import { writeJsonArray } from '../../../http/streams/send-pieces.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import type { Base } from '../../base.ts'
import { type DeletionDeps, deleteAgent } from '../deployments/delete.ts'
import { agents } from '../registry/tables.ts'
import { type Registration, saveInstallation } from './machine-agent.ts'
import type { HeartbeatRequest, Installation, MachineUpdate } from './schemas.ts'
import { type InstallationRow, installations, pairingCodes } from './tables.ts'
import { findSkew, requireVersion } from './versions.ts'

/**
 * Registers a machine or updates its registration, which counts as a heartbeat. Users register their own machines,
 * the operator anyone's.
 * @throws AppError `forbidden` for another user, `limited` at 50 machines of one user, `conflict` VERSION_UNSUPPORTED.
 */
export async function registerMachine(
  deps: Base & { version: string },
  principal: Principal,
  request: Registration,
): Promise<InstallationRow> {
  const { userId } = request
  if (principal.kind === 'user' && principal.user.id !== userId) throw new AppError('forbidden', 'Forbidden')
  if (request.version) requireVersion(request.version, deps.version)
  return write(deps.db, (tx) => saveInstallation(deps, tx, request))
}

/**
 * Stores the gateway and version that a paired machine reports.
 * @throws AppError `conflict` VERSION_UNSUPPORTED, `unauthenticated` when the machine was removed meanwhile.
 */
export async function updateMachine(
  deps: Base & { version: string },
  { id }: InstallationRow,
  update: MachineUpdate,
): Promise<InstallationRow> {
  await checkMachineVersion(deps, id, update.version)
  return write(deps.db, (tx) => {
    const machine = tx.select().from(installations).where(eq(installations.id, id)).get()
    if (!machine) throw new AppError('unauthenticated', 'This machine is not paired: create a new pairing code')
    const { userId, name, mode } = machine
    return saveInstallation(deps, tx, { ...update, userId, name, mode })
  })
}

/**
 * Checks the version of a known machine. A refused one is stored, so that the dashboard shows what to do.
 * @throws AppError `conflict` VERSION_UNSUPPORTED.
 */
async function checkMachineVersion(
  { db, version: platformVersion }: { db: Db; version: string },
  id: string,
  version: string,
): Promise<void> {
  if (findSkew(version, platformVersion) === null) return
  await write(db, (tx) => tx.update(installations).set({ version }).where(eq(installations.id, id)).run())
  requireVersion(version, platformVersion)
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
export function* listInstallations(deps: { db: Db } & ShownParts, principal: Principal): Generator<string, void> {
  const { db } = deps
  const condition = principal.kind === 'user' ? eq(installations.ownerId, principal.user.id) : undefined
  const total = countRows(db, installations, condition)
  const pages = inPages(db, {
    table: installations,
    condition,
    read: (isOnPage) =>
      db
        .select()
        .from(installations)
        .where(isOnPage)
        .all()
        .map((row) => toInstallation(deps, row)),
  })
  yield `{"success":true,"count":${total},"installations":`
  yield* writeJsonArray(pages)
  yield '}'
}

type ShownParts = { version: string; machineLinks: Pick<MachineLinks, 'stateOf'> }

function toInstallation({ version, machineLinks }: ShownParts, row: InstallationRow): Installation {
  return {
    id: row.id,
    userId: row.userId,
    name: row.name,
    mode: row.mode,
    gatewayUrl: row.gatewayUrl,
    registeredAt: row.registeredAt.toISOString(),
    lastSeen: row.lastSeenAt.toISOString(),
    status: row.status,
    agentId: row.agentId,
    version: row.version,
    platformVersion: version,
    versionProblem: row.version === null ? null : findSkew(row.version, version),
    tunnel: toTunnel(machineLinks, row),
  }
}

function toTunnel(
  links: ShownParts['machineLinks'],
  { id, agentId, offlineAt }: InstallationRow,
): Installation['tunnel'] {
  if (agentId === null) return { state: 'none', since: null, latencyMs: null }
  const { port, latencyMs } = links.stateOf(id)
  if (port !== null) return { state: 'online', since: null, latencyMs }
  return { state: 'offline', since: offlineAt?.toISOString() ?? null, latencyMs: null }
}

/**
 * Deletes a machine, its token, and its agent with its conversations. A machine that uses an API key reappears when it
 * registers again; deleting its key prevents that.
 * @throws AppError `not_found` for a missing or foreign machine.
 */
export async function deleteInstallation(
  deps: DeletionDeps & { machineLinks: Pick<MachineLinks, 'remove'> },
  ownerId: string,
  id: string,
): Promise<void> {
  const isOwn = and(eq(installations.id, id), eq(installations.ownerId, ownerId))
  const row = deps.db.select().from(installations).where(isOwn).get()
  if (!row) throw new AppError('not_found', 'Installation not found')
  if (row.agentId !== null) await deleteAgent(deps, { kind: 'operator' }, row.agentId)
  await write(deps.db, (tx) => tx.delete(installations).where(isOwn).run())
  deps.machineLinks.remove(id)
}

/**
 * Deletes all machines of a user with their agents and pairing codes, in the caller's transaction. Their tokens are invalid at once, and
 * the job that watches machines ends their tunnels.
 */
export function forgetInstallations(tx: Tx, userId: string): void {
  const own = tx.select({ agentId: installations.agentId }).from(installations).where(eq(installations.ownerId, userId))
  const agentIds = own.all().flatMap(({ agentId }) => agentId ?? [])
  tx.delete(pairingCodes).where(eq(pairingCodes.userId, userId)).run()
  tx.delete(installations).where(eq(installations.ownerId, userId)).run()
  tx.delete(agents).where(inArray(agents.id, agentIds)).run()
}

export const personalInstallations = wholeList('installations', [installations], (db, userId) =>
  db
    .select({
      name: installations.name,
      mode: installations.mode,
      gatewayUrl: installations.gatewayUrl,
      version: installations.version,
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
