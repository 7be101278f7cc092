import { and, eq, isNotNull, lt, sql } from 'drizzle-orm'
import type { AgentMachine } from '../../../adapters/runtimes/machine/machine.ts'
import type { MachineLinks } from '../../../adapters/tunnel/links.ts'
import { errorMessage } from '../../../core/errors.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import type { SendNotice } from '../../accounts/notifications/send-notice.ts'
import type { Base } from '../../base.ts'
import { MACHINE_OFFLINE } from '../registry/status.ts'
import { agents } from '../registry/tables.ts'
import { type InstallationRow, installations } from './tables.ts'

/** A machine that is away for longer is reported to its owner. */
const OFFLINE_NOTICE_MS = 5 * 60_000

/** Creates the callback that stores whether a machine is online; changes are stored one at a time. */
export function createTunnelRecorder(
  deps: Base & { sendNotice: SendNotice },
  getLinks: () => Pick<MachineLinks, 'stateOf' | 'remove'>,
): (machineId: string) => void {
  let recording = Promise.resolve()
  return (machineId) => {
    recording = recording
      .then(() => recordTunnel(deps, getLinks(), machineId))
      .catch((error) => deps.log.error({ machineId, error: errorMessage(error) }, 'cannot record a tunnel'))
  }
}

/** Writes the current state of a machine's tunnel to its rows. */
async function recordTunnel(
  deps: Base & { sendNotice: SendNotice },
  links: Pick<MachineLinks, 'stateOf' | 'remove'>,
  machineId: string,
): Promise<void> {
  const { port } = links.stateOf(machineId)
  const now = deps.clock.now()
  const isKnown = await write(deps.db, (tx) => {
    const machine = tx.select().from(installations).where(eq(installations.id, machineId)).get()
    if (!machine || machine.agentId === null) return false
    if (port === null) markOffline(tx, machine, now)
    else markOnline(deps, tx, machine, port, now)
    return true
  })
  // Removed while it connected.
  if (!isKnown && port !== null) links.remove(machineId)
}

function markOffline(tx: Tx, { id, agentId, offlineAt }: InstallationRow, now: Date): void {
  const since = offlineAt ?? now
  tx.update(installations).set({ offlineAt: since }).where(eq(installations.id, id)).run()
  tx.update(agents)
    .set({ tunnelPort: null, downAt: since, lastError: MACHINE_OFFLINE })
    .where(eq(agents.id, agentId ?? ''))
    .run()
}

function markOnline(deps: { sendNotice: SendNotice }, tx: Tx, machine: InstallationRow, port: number, now: Date): void {
  const online = { offlineAt: null, isOfflineNoticed: false, status: 'active', lastSeenAt: now } as const
  tx.update(installations).set(online).where(eq(installations.id, machine.id)).run()
  tx.update(agents)
    .set({ status: 'running', tunnelPort: port, downAt: null, lastError: null, startedAt: now })
    .where(eq(agents.id, machine.agentId ?? ''))
    .run()
  if (machine.isOfflineNoticed) notify(deps, tx, machine, 'recovered', `${describe(machine)} is back online.`)
}

/** Marks every machine as offline: after a start no tunnel of an earlier process is open. */
export async function forgetTunnels({ db, clock }: Pick<Base, 'db' | 'clock'>): Promise<void> {
  const now = clock.now()
  const isMachine = eq(agents.runtime, 'machine')
  if (!db.select({ id: agents.id }).from(agents).where(isMachine).get()) return
  await write(db, (tx) => {
    tx.update(installations)
      .set({ offlineAt: sql`coalesce(${installations.offlineAt}, ${now.getTime()})` })
      .where(isNotNull(installations.agentId))
      .run()
    tx.update(agents)
      .set({ tunnelPort: null, downAt: sql`coalesce(${agents.downAt}, ${now.getTime()})`, lastError: MACHINE_OFFLINE })
      .where(isMachine)
      .run()
  })
}

/** Notifies the owners of machines that have been offline for five minutes, once per outage. */
export async function reportOffline(deps: Base & { sendNotice: SendNotice }): Promise<void> {
  const before = new Date(deps.clock.now().getTime() - OFFLINE_NOTICE_MS)
  const isDue = and(
    lt(installations.offlineAt, before),
    eq(installations.isOfflineNoticed, false),
    isNotNull(installations.agentId),
  )
  if (!deps.db.select({ id: installations.id }).from(installations).where(isDue).get()) return
  await write(deps.db, (tx) => {
    const due = tx.update(installations).set({ isOfflineNoticed: true }).where(isDue).returning().all()
    for (const machine of due) {
      const since = machine.offlineAt?.toISOString().slice(0, 16).replace('T', ' ')
      notify(deps, tx, machine, 'down', `${describe(machine)} has been offline since ${since} UTC.`)
    }
  })
}

function notify(
  { sendNotice }: { sendNotice: SendNotice },
  tx: Tx,
  { ownerId, agentId }: InstallationRow,
  kind: 'down' | 'recovered',
  text: string,
): void {
  const agent = tx
    .select({ id: agents.id, name: agents.name })
    .from(agents)
    .where(eq(agents.id, agentId ?? ''))
    .get()
  if (ownerId !== null && agent) sendNotice(tx, { userId: ownerId, agent, kind, text })
}

function describe({ name }: InstallationRow): string {
  return name ? `The machine “${name}”` : 'Your machine'
}

/** Creates the lookup of the machine that runs an agent. */
export function createMachineFinder(db: Db): (agentId: string) => AgentMachine | null {
  return (agentId) =>
    db
      .select({
        id: installations.id,
        kind: agents.kind,
        version: installations.version,
        startedAt: agents.startedAt,
      })
      .from(installations)
      .innerJoin(agents, eq(agents.id, installations.agentId))
      .where(eq(installations.agentId, agentId))
      .get() ?? null
}

const LOOK_MS = 15_000

/** Reports machines that stay offline, and ends tunnels of deleted machines, revoked keys and disabled accounts. */
export function machinesJob(
  deps: Base & { sendNotice: SendNotice; machineLinks: Pick<MachineLinks, 'endUnauthorized'> },
): RepeatingJob {
  const run = async () => {
    await reportOffline(deps)
    deps.machineLinks.endUnauthorized()
  }
  return { name: 'installations.tunnels', everyMs: LOOK_MS, run }
}
