import { isIP } from 'node:net'
import { and, eq } from 'drizzle-orm'
import { isAllowedAddress } from '../../../adapters/egress/addresses.ts'
import { type EgressPolicy, findDestination, parseDestination } from '../../../core/agents/egress-policy.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import type { Log } from '../../../core/log.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { inPages } from '../../../db/pages.ts'
import type { PersonalList } from '../../../db/personal-data.ts'
import { write } from '../../../db/write.ts'
import type { Principal } from '../../../http/env.ts'
import { getAgent, inPagesOfAgents, logAgentChange } from '../registry/agents.ts'
import { findTemplate } from '../registry/config.ts'
import type { AgentRow } from '../registry/tables.ts'
import type { AgentEgress, EgressRequest } from './schemas.ts'
import { agentEgress, egressBlocks } from './tables.ts'

/** Defaults of the operator, and private destinations that agents may reach. */
export type EgressSettings = {
  byDefault: EgressPolicy['policy']
  byTemplate: ReadonlyMap<string, EgressPolicy['policy']>
  privateHosts: readonly string[]
}

type ChosenEgress = Omit<AgentEgress, 'gap'>
type ChangeDeps = { db: Db; clock: Clock; log: Log; egressSettings: EgressSettings }

const MAX_ENTRIES = 200

export const personalEgress: PersonalList = {
  name: 'egress',
  tables: [agentEgress],
  pages: (db, userId) =>
    inPagesOfAgents(db, userId, (agentId) =>
      inPages(db, {
        table: agentEgress,
        condition: eq(agentEgress.agentId, agentId),
        read: (isOnPage) => db.select().from(agentEgress).where(isOnPage).all(),
      }),
    ),
}

/** Returns the policy of an agent: the owner's choice, or the default of its template. */
export function readEgress(
  db: Db | Tx,
  settings: EgressSettings,
  agent: Pick<AgentRow, 'id' | 'config'>,
): ChosenEgress {
  const chosen = db.select().from(agentEgress).where(eq(agentEgress.agentId, agent.id)).get()
  if (chosen) return { policy: chosen.policy, allow: chosen.allow, isDefault: false }
  const template = findTemplate(agent)
  const policy = (template !== null && settings.byTemplate.get(template)) || settings.byDefault
  return { policy, allow: [], isDefault: true }
}

/**
 * Changes the policy, which applies to the next connection.
 * @throws AppError `not_found`; `invalid` for a private address, which no agent reaches.
 */
export async function changeEgress(
  deps: ChangeDeps,
  principal: Principal,
  id: string,
  { policy, allow }: EgressRequest,
): Promise<ChosenEgress> {
  for (const entry of allow ?? []) requirePublic(deps.egressSettings, entry)
  const changed = await write(deps.db, (tx) => {
    const before = readEgress(tx, deps.egressSettings, getAgent(tx, principal, id))
    return save(tx, deps, id, { policy, allow: allow ?? before.allow })
  })
  logAgentChange(deps.log, principal, id, `egress set to ${policy}`)
  return changed
}

/**
 * Adds a destination to the list; the policy `none` becomes `allow-list`.
 * @throws AppError `not_found`, `invalid`, `limited` for a full list.
 */
export async function allowDestination(
  deps: ChangeDeps,
  principal: Principal,
  id: string,
  destination: string,
): Promise<ChosenEgress> {
  requirePublic(deps.egressSettings, destination)
  const changed = await write(deps.db, (tx) => {
    const before = readEgress(tx, deps.egressSettings, getAgent(tx, principal, id))
    const allow = [...new Set([...before.allow, destination])]
    if (allow.length > MAX_ENTRIES) {
      throw new AppError('limited', 'The list is full', { current: before.allow.length, limit: MAX_ENTRIES })
    }
    return save(tx, deps, id, { policy: before.policy === 'none' ? 'allow-list' : before.policy, allow })
  })
  logAgentChange(deps.log, principal, id, `egress allows ${destination}`)
  return changed
}

function save(tx: Tx, { clock }: ChangeDeps, agentId: string, { policy, allow }: EgressPolicy): ChosenEgress {
  const row = { policy, allow: [...allow], updatedAt: clock.now() }
  tx.insert(agentEgress)
    .values({ agentId, ...row })
    .onConflictDoUpdate({ target: agentEgress.agentId, set: row })
    .run()
  forgetAllowed(tx, agentId, { policy, allow })
  return { policy, allow: [...allow], isDefault: false }
}

/** Destinations that are allowed now are no longer shown as blocked. */
function forgetAllowed(tx: Tx, agentId: string, chosen: EgressPolicy): void {
  const isOfPolicy = and(eq(egressBlocks.agentId, agentId), eq(egressBlocks.reason, 'policy'))
  for (const { host, port } of tx.select().from(egressBlocks).where(isOfPolicy).all()) {
    if (!judgeDestination(chosen, host, port).isAllowed) continue
    tx.delete(egressBlocks)
      .where(and(isOfPolicy, eq(egressBlocks.host, host), eq(egressBlocks.port, port)))
      .run()
  }
}

/** Decides about a destination. On the ports of the web a listed host must prove its name by TLS. */
export function judgeDestination({ policy, allow }: EgressPolicy, host: string, port: number) {
  if (policy === 'none') return { isAllowed: false } as const
  if (policy === 'open') return { isAllowed: true, isTlsRequired: false } as const
  const entry = findDestination(allow, host, port)
  if (!entry) return { isAllowed: false } as const
  return { isAllowed: true, isTlsRequired: entry.port === null || port === 80 || port === 443 } as const
}

/** Returns whether the operator lets agents reach this private destination. */
export function isPrivateAllowed({ privateHosts }: EgressSettings, host: string, port: number): boolean {
  return findDestination(privateHosts, host, port) !== null
}

function requirePublic(settings: EgressSettings, entry: string): void {
  const { host = '', port = null } = parseDestination(entry) ?? {}
  if (isIP(host) === 0 || isAllowedAddress(host, false)) return
  if (isPrivateAllowed(settings, host, typeof port === 'number' ? port : 443)) return
  throw new AppError('invalid', `${host} is a private or reserved address, which agents cannot reach`)
}
