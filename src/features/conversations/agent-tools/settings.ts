import { and, eq, gt } from 'drizzle-orm'
import {
  AGENT_TOOLS,
  isInProfile,
  isToolName,
  LIMITS,
  needsConfinement,
  profileOfPlan,
  TOOL_NAMES,
  TOOL_PROFILES,
  type ToolName,
  type ToolSettings,
} from '../../../core/agents/agent-tools.ts'
import type { EarlyEnd } from '../../../core/agents/collect-turn.ts'
import { AppError } from '../../../core/errors.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Principal } from '../../../http/env.ts'
import type { SendNotice } from '../../accounts/notifications/send-notice.ts'
import { notices } from '../../accounts/notifications/tables.ts'
import { findTimeZone } from '../../accounts/users/users.ts'
import { toRequester } from '../../agents/operations/operations.ts'
import { getAgent } from '../../agents/registry/agents.ts'
import { mayAcceptNotIsolated, requireConfined, whyUnconfined } from '../../agents/registry/checks.ts'
import type { AgentRow } from '../../agents/registry/tables.ts'
import { PLATFORM, recordRevision } from '../../agents/revisions/record.ts'
import type { RecordedTools } from '../../agents/revisions/tables.ts'
import type { Catalogue } from '../../ai/catalogue/catalogue.ts'
import type { Base } from '../../base.ts'
import { denyApprovalsOfTools } from '../approvals/decide.ts'
import { hasCommands, hasServers } from '../mcp-servers/servers.ts'
import type { AgentTools, ToolsRequest } from './schemas.ts'
import { agentToolSettings, type ToolSettingsRow } from './tables.ts'

const MICRO_USD = 1_000_000

type Chosen = Omit<ToolSettingsRow, 'agentId' | 'updatedAt'>
const USUAL: Chosen = {
  profile: null,
  switches: {},
  httpHosts: [],
  modelTurns: LIMITS.modelTurns.usual,
  toolCalls: LIMITS.toolCalls.usual,
  microUsdPerTurn: null,
  acceptedNotIsolatedAt: null,
}

export function showTools(db: Db | Tx, agent: AgentRow): AgentTools {
  const chosen = readChosen(db, agent.id)
  return {
    profile: chosen.profile ?? profileOfPlan(agent.plan),
    isChosen: chosen.profile !== null,
    tools: TOOL_NAMES.map((name) => showTool(agent, chosen, name)),
    canAcceptNotIsolated: mayAcceptNotIsolated(agent) && whyUnconfined(agent) !== null,
    acceptsNotIsolated: chosen.acceptedNotIsolatedAt !== null,
    httpHosts: chosen.httpHosts,
    limits: toLimits(chosen),
  }
}

function showTool(agent: AgentRow, chosen: Chosen, name: ToolName) {
  const { profile, approval, where } = AGENT_TOOLS[name]
  const unavailable = needsConfinement(name) ? whyUnconfined(agent) : null
  return { name, isOn: isOn(agent, chosen, name), profile, approval, where, unavailable }
}

/** Returns the tools and limits for an agent's next turn. */
export function readToolSettings(
  deps: { db: Db; catalogue: Pick<Catalogue, 'findPrice'> },
  agent: AgentRow,
): ToolSettings {
  const chosen = readChosen(deps.db, agent.id)
  const price = deps.catalogue.findPrice(agent.model)
  return {
    tools: TOOL_NAMES.filter((name) => isOn(agent, chosen, name)),
    hasMcp: hasMcp(agent, chosen) && hasServers(deps.db, agent.id),
    acceptsNotIsolated: chosen.acceptedNotIsolatedAt !== null,
    limits: toLimits(chosen),
    price: price && {
      inputUsdPerMillion: price.inputUsdPerMillion,
      outputUsdPerMillion: price.outputUsdPerMillion,
    },
    timeZone: agent.ownerId === null ? null : findTimeZone(deps.db, agent.ownerId),
  }
}

/** @throws AppError `forbidden` TOOL_OFF when the owner has not enabled the tool. */
export function requireTool(db: Db | Tx, agentId: string, name: ToolName): void {
  const agent = getAgent(db, { kind: 'operator' }, agentId)
  if (isOn(agent, readChosen(db, agentId), name)) return
  throw new AppError('forbidden', `This agent may not use ${name}`, { code: 'TOOL_OFF' })
}

/** As `requireTool`, for any tool name of an approval request; tools of MCP servers are not checked. */
export function requireToolOn(db: Db | Tx, agentId: string, tool: string): void {
  if (isToolName(tool)) requireTool(db, agentId, tool)
}

/**
 * Returns whether third-party programs may run in the agent's container. They can read its environment, find its token
 * there, and call the platform with it.
 */
export function runsCommands(db: Db | Tx, agent: AgentRow): boolean {
  const chosen = readChosen(db, agent.id)
  return hasCommands(db, agent.id) || TOOL_NAMES.some((name) => needsConfinement(name) && isOn(agent, chosen, name))
}

/** Lists the hosts that the agent's HTTP requests may reach; none by default. */
export function listHttpHosts(db: Db, agentId: string): readonly string[] {
  return readChosen(db, agentId).httpHosts
}

/**
 * Changes the settings in `request` from the next turn on. Pending approvals of disabled tools are denied.
 * @throws AppError `not_found`; `invalid` NOT_CONFINED for a tool that the agent's runtime does not support.
 */
export function changeTools(deps: Base, principal: Principal, id: string, request: ToolsRequest): Promise<AgentTools> {
  return write(deps.db, (tx) => {
    const agent = getAgent(tx, principal, id)
    const now = deps.clock.now()
    const before = readChosen(tx, id)
    const changed = { ...toChanged(before, request, now), updatedAt: now }
    requireFit(agent, request, changed)
    recordRevision(deps, tx, id, { author: PLATFORM, tools: toRecorded(before) })
    tx.insert(agentToolSettings)
      .values({ agentId: id, ...changed })
      .onConflictDoUpdate({ target: agentToolSettings.agentId, set: changed })
      .run()
    const isOff = (tool: string) => (isToolName(tool) ? !isOn(agent, changed, tool) : !hasMcp(agent, changed))
    denyApprovalsOfTools(tx, id, isOff, changed.updatedAt)
    recordRevision(deps, tx, id, { author: toRequester(principal), tools: toRecorded(changed) })
    return showTools(tx, agent)
  })
}

/** Restores recorded tool settings. @throws AppError `invalid` NOT_CONFINED as `changeTools`. */
export function restoreTools(tx: Tx, agent: AgentRow, tools: RecordedTools | null, now: Date): void {
  const { acceptedNotIsolatedAt } = readChosen(tx, agent.id)
  const chosen: Chosen = { ...USUAL, ...tools, profile: toProfile(tools?.profile ?? null), acceptedNotIsolatedAt }
  requireFit(agent, { switches: chosen.switches }, chosen)
  const changed = { ...chosen, updatedAt: now }
  tx.insert(agentToolSettings)
    .values({ agentId: agent.id, ...changed })
    .onConflictDoUpdate({ target: agentToolSettings.agentId, set: changed })
    .run()
  const isOff = (tool: string) => (isToolName(tool) ? !isOn(agent, chosen, tool) : !hasMcp(agent, chosen))
  denyApprovalsOfTools(tx, agent.id, isOff, now)
}

function toProfile(name: string | null): Chosen['profile'] {
  return TOOL_PROFILES.find((profile) => profile === name) ?? null
}

/** Returns null for the defaults. */
function toRecorded({ profile, switches, httpHosts, modelTurns, toolCalls, microUsdPerTurn }: Chosen) {
  const recorded = { profile, switches, httpHosts, modelTurns, toolCalls, microUsdPerTurn }
  const { acceptedNotIsolatedAt: _accepted, ...usual } = USUAL
  return Bun.deepEquals(recorded, usual) ? null : recorded
}

function requireFit(agent: AgentRow, { switches = {} }: ToolsRequest, changed: Chosen): void {
  const wanted = Object.entries(switches).flatMap(([name, isWanted]) => (isWanted && isToolName(name) ? [name] : []))
  for (const name of wanted.filter(needsConfinement)) {
    if (isAccepted(agent, changed)) continue
    const isPossible = mayAcceptNotIsolated(agent)
    requireConfined(agent, name, isPossible ? 'Send acceptNotIsolated: true to allow it nevertheless.' : undefined)
  }
}

/** Returns whether the owner has accepted that this agent's commands are not isolated. */
function isAccepted(agent: AgentRow, { acceptedNotIsolatedAt }: Chosen): boolean {
  return acceptedNotIsolatedAt !== null && mayAcceptNotIsolated(agent)
}

function toChanged(
  before: Chosen,
  { profile, switches = {}, httpHosts = before.httpHosts, limits = {}, acceptNotIsolated }: ToolsRequest,
  now: Date,
): Chosen {
  const { modelTurns, toolCalls, maxUsd } = limits
  const switched = Object.entries({ ...before.switches, ...switches })
  return {
    profile: profile === undefined ? before.profile : profile,
    switches: Object.fromEntries(switched.filter((entry): entry is [string, boolean] => typeof entry[1] === 'boolean')),
    httpHosts,
    modelTurns: modelTurns === undefined ? before.modelTurns : (modelTurns ?? USUAL.modelTurns),
    toolCalls: toolCalls === undefined ? before.toolCalls : (toolCalls ?? USUAL.toolCalls),
    acceptedNotIsolatedAt:
      acceptNotIsolated === undefined ? before.acceptedNotIsolatedAt : acceptNotIsolated ? now : null,
    microUsdPerTurn:
      maxUsd === undefined ? before.microUsdPerTurn : maxUsd === null ? null : Math.round(maxUsd * MICRO_USD),
  }
}

function readChosen(db: Db | Tx, agentId: string): Chosen {
  return db.select().from(agentToolSettings).where(eq(agentToolSettings.agentId, agentId)).get() ?? USUAL
}

function isOn(agent: AgentRow, chosen: Chosen, name: ToolName): boolean {
  const { profile, switches } = chosen
  if (needsConfinement(name) && whyUnconfined(agent) !== null && !isAccepted(agent, chosen)) return false
  return switches[name] ?? isInProfile(name, profile ?? profileOfPlan(agent.plan))
}

function hasMcp(agent: AgentRow, { profile }: Chosen): boolean {
  return (profile ?? profileOfPlan(agent.plan)) !== 'minimal'
}

function toLimits({ modelTurns, toolCalls, microUsdPerTurn }: Chosen) {
  return { modelTurns, toolCalls, maxUsd: microUsdPerTurn === null ? null : microUsdPerTurn / MICRO_USD }
}

/** Limits notifications: an agent in a loop ends many turns this way. */
const NOTIFY_PAUSE_MS = 60 * 60_000
const KIND = 'turn_limited'

/** Notifies the owner that a limit has ended a turn; an agent without an owner notifies no one. */
export async function notifyEarlyEnd(
  { db, clock, sendNotice }: Base & { sendNotice: SendNotice },
  agentId: string,
  end: EarlyEnd,
): Promise<void> {
  await write(db, (tx) => {
    const { id, name, ownerId: userId } = getAgent(tx, { kind: 'operator' }, agentId)
    if (userId === null || wasNotified(tx, agentId, clock.now())) return
    sendNotice(tx, { userId, agent: { id, name }, kind: KIND, text: describe(end) })
  })
}

function wasNotified(tx: Tx, agentId: string, now: Date): boolean {
  const isRecent = gt(notices.createdAt, new Date(now.getTime() - NOTIFY_PAUSE_MS))
  const isThis = and(eq(notices.agentId, agentId), eq(notices.kind, KIND), isRecent)
  return tx.select({ id: notices.id }).from(notices).where(isThis).get() !== undefined
}

function describe({ reason, tool }: EarlyEnd): string {
  switch (reason) {
    case 'loop':
      return `It called ${tool ?? 'a tool'} with the same arguments again and again, so the turn was ended. What it had said is kept.`
    case 'cost':
      return 'A turn has cost as much as you allow for one, so it was ended. What it had said is kept; its tools page has the limit.'
    case 'steps':
      return 'A turn has reached the limits that you have set for one, so it was ended. What it had said is kept; its tools page has the limits.'
  }
}
