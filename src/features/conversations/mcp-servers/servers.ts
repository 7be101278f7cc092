import { and, asc, count, eq, isNotNull } from 'drizzle-orm'
import { z } from 'zod'
import type { McpEndpoint } from '../../../adapters/mcp/client.ts'
import type { Runtimes } from '../../../adapters/runtimes/contract/runtimes.ts'
import { toAskedTool } from '../../../core/agents/asked-tool.ts'
import type { McpCommand, ToolPins } from '../../../core/agents/mcp.ts'
import { findNewPins } from '../../../core/agents/tool-pins.ts'
import { AppError } from '../../../core/errors.ts'
import { newId } from '../../../core/ids.ts'
import type { Sealer } from '../../../core/secrets.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Principal } from '../../../http/env.ts'
import { recordAudit } from '../../accounts/audit/audit.ts'
import { replaceTokens, requireAnsweringEngine } from '../../agents/deployments/rotate-token.ts'
import { toRequester } from '../../agents/operations/operations.ts'
import { getAgent } from '../../agents/registry/agents.ts'
import { requireConfined, whyUnconfined } from '../../agents/registry/checks.ts'
import type { AgentRow } from '../../agents/registry/tables.ts'
import type { Base } from '../../base.ts'
import { denyApprovalsOfTools } from '../approvals/decide.ts'
import {
  type AuthorizationDeps,
  findAuthorization,
  forgetAuthorization,
  openAuthorization,
  toAuthorization,
} from './authorizations.ts'
import type { AddServerRequest, ChangeServerRequest, McpServer } from './schemas.ts'
import { agentMcpServers, type McpServerRow } from './tables.ts'
import { findAccess, revokeTokens } from './tokens.ts'

const MAX_SERVERS = 10
const COMMAND = 'An MCP server by command'
const StoredHeaders = z.record(z.string(), z.string())
export type EndServerDeps = Base & Pick<AuthorizationDeps, 'mcpOauth'> & { runtimes: Pick<Runtimes, 'runtimeOf'> }

/** Lists an agent's MCP servers, oldest first. */
export function listServers(db: Db | Tx, agentId: string): McpServerRow[] {
  const ofAgent = eq(agentMcpServers.agentId, agentId)
  return db
    .select()
    .from(agentMcpServers)
    .where(ofAgent)
    .orderBy(asc(agentMcpServers.createdAt), asc(agentMcpServers.name))
    .all()
}

/** @throws AppError `not_found` for a missing or another user's agent or server. */
export function getServer(db: Db | Tx, principal: Principal, agentId: string, id: string): McpServerRow {
  getAgent(db, principal, agentId)
  const isThis = and(eq(agentMcpServers.id, id), eq(agentMcpServers.agentId, agentId))
  const row = db.select().from(agentMcpServers).where(isThis).get()
  if (!row) throw new AppError('not_found', 'MCP server not found')
  return row
}

/**
 * @throws AppError `not_found`, `conflict` for a used name, `limited` at 10 servers, `invalid` NOT_CONFINED for a
 * command where no sandbox confines it.
 */
export function addServer(
  deps: Base,
  principal: Principal,
  agentId: string,
  { bearer, headers, environment, url, command, ...request }: AddServerRequest,
): Promise<McpServerRow> {
  return write(deps.db, (tx) => {
    const agent = getAgent(tx, principal, agentId)
    if (command !== undefined) requireConfined(agent, COMMAND)
    const known = listServers(tx, agentId)
    if (known.some(({ name }) => name === request.name)) {
      throw new AppError('conflict', 'There is a server of this name already', { code: 'NAME_TAKEN' })
    }
    if (known.length >= MAX_SERVERS) {
      throw new AppError('limited', `MCP server limit reached (max ${MAX_SERVERS})`, { limit: MAX_SERVERS })
    }
    const id = newId('mcp')
    const now = deps.clock.now()
    const shown = command === undefined ? toHeaders(headers, bearer) : environment
    const sealedHeaders = sealHeaders(deps.sealer, id, shown)
    const place = { url: url ?? '', command: command ?? null }
    const row = { ...request, ...place, id, agentId, sealedHeaders, createdAt: now, updatedAt: now }
    return tx.insert(agentMcpServers).values(row).returning().get()
  })
}

/**
 * Changes a server. A new program rotates the agent's platform token, as `removeServer` does, because the former
 * program may have read it.
 * @throws AppError `not_found`; `invalid` for a field of the other kind of server; as `addServer` and `removeServer`.
 */
export async function changeServer(
  deps: EndServerDeps,
  principal: Principal,
  { agentId, id }: { agentId: string; id: string },
  { bearer, headers, environment, acceptedTools, ...request }: ChangeServerRequest,
): Promise<McpServerRow> {
  const isReplaced = (before: McpServerRow) => before.command !== null && isAnother(before, request)
  if (isReplaced(getServer(deps.db, principal, agentId, id))) await requireTellableAgent(deps, principal, agentId)
  return write(deps.db, (tx) => {
    const before = getServer(tx, principal, agentId, id)
    requireSameKind(before, { bearer, headers, environment, ...request })
    if (before.command !== null) requireConfined(getAgent(tx, principal, agentId), COMMAND)
    const given = Object.fromEntries(Object.entries(request).filter(([, value]) => value !== undefined))
    const areGiven = headers !== undefined || bearer !== undefined || environment !== undefined
    const shown = before.command === null ? toHeaders(headers ?? {}, bearer) : (environment ?? {})
    const isForgotten = areGiven || isAnother(before, request)
    const sealedHeaders = sealHeaders(deps.sealer, id, shown)
    const toolPins = isMoved(before, request) ? {} : { ...before.toolPins, ...acceptedTools }
    const change = { ...given, ...(isForgotten && { sealedHeaders }), toolPins, updatedAt: deps.clock.now() }
    if (isMoved(before, request)) forgetAuthorization(tx, id)
    if (isReplaced(before)) endKnownToken(deps, tx, principal, before)
    const changed = tx.update(agentMcpServers).set(change).where(eq(agentMcpServers.id, id)).returning().get()
    denyWhatIsGone(tx, before, changed)
    return changed
  })
}

function requireSameKind(before: McpServerRow, request: ChangeServerRequest): void {
  const foreign = before.command === null ? ['command', 'args', 'environment'] : ['url', 'headers', 'bearer']
  const named = foreign.find((name) =>
    Object.entries(request).some(([key, value]) => key === name && value !== undefined),
  )
  if (named === undefined) return
  const kind = before.command === null ? 'is reached by its address' : 'is started by its command'
  throw new AppError('invalid', `This server ${kind}: it has no ${named}`)
}

/** Returns whether the sealed values would reach another program or server. */
function isAnother(
  before: McpServerRow,
  { url, command, args }: Pick<ChangeServerRequest, 'url' | 'command' | 'args'>,
) {
  if (before.command === null) return url !== undefined && new URL(url).origin !== new URL(before.url).origin
  const isOther = command !== undefined && command !== before.command
  return isOther || (args !== undefined && JSON.stringify(args) !== JSON.stringify(before.args))
}

/** Returns whether another server answers from now on: neither tokens nor accepted tools are for it. */
function isMoved(before: McpServerRow, request: Pick<ChangeServerRequest, 'url' | 'command' | 'args'>): boolean {
  if (before.command !== null) return isAnother(before, request)
  return request.url !== undefined && request.url !== before.url
}

/**
 * Removes a server. A program that the agent started may have read the agent's platform token: the token is rotated,
 * and a running agent is restarted, which also ends the program. OAuth tokens are revoked where that is offered.
 * @throws AppError `not_found`; the container engine's error, with nothing changed.
 */
export async function removeServer(
  deps: EndServerDeps,
  principal: Principal,
  agentId: string,
  id: string,
): Promise<void> {
  const { command } = getServer(deps.db, principal, agentId, id)
  if (command !== null) await requireTellableAgent(deps, principal, agentId)
  const access = await write(deps.db, (tx) => {
    const server = getServer(tx, principal, agentId, id)
    const row = findAuthorization(tx, id)
    const secrets = row && openAuthorization(deps.sealer, row)
    tx.delete(agentMcpServers).where(eq(agentMcpServers.id, id)).run()
    if (server.command !== null) endKnownToken(deps, tx, principal, server)
    denyWhatIsGone(tx, server, { enabled: false, allowedTools: [], updatedAt: deps.clock.now() })
    return row && secrets ? { row, secrets } : null
  })
  if (access) await revokeTokens(deps, access)
}

/** Denies pending approvals for tools that the agent no longer has. */
function denyWhatIsGone(
  tx: Tx,
  { agentId, name }: McpServerRow,
  { enabled, allowedTools, updatedAt }: Pick<McpServerRow, 'enabled' | 'allowedTools' | 'updatedAt'>,
): void {
  const allowed = allowedTools?.map((tool) => toAskedTool(name, tool))
  const isGone = (tool: string) => tool.startsWith(`${name}/`) && (!enabled || allowed?.includes(tool) === false)
  denyApprovalsOfTools(tx, agentId, isGone, updatedAt)
}

function requireTellableAgent(deps: EndServerDeps, principal: Principal, agentId: string): Promise<void> {
  return requireAnsweringEngine(deps, getAgent(deps.db, principal, agentId))
}

function endKnownToken(deps: EndServerDeps, tx: Tx, principal: Principal, { agentId, name }: McpServerRow): void {
  const requestedBy = toRequester(principal)
  const rotation = { actor: requestedBy, action: 'agent.rotate-platform-token', target: agentId }
  recordAudit(tx, { ...rotation, detail: { mcpServer: name } }, deps.clock.now())
  replaceTokens(deps, tx, getAgent(tx, principal, agentId), { names: ['platform'], requestedBy })
}

export function hasServers(db: Db, agentId: string): boolean {
  const isOn = and(eq(agentMcpServers.agentId, agentId), eq(agentMcpServers.enabled, true))
  return (db.select({ servers: count() }).from(agentMcpServers).where(isOn).get()?.servers ?? 0) > 0
}

/** Returns whether the agent has a server that it starts itself, enabled or not. */
export function hasCommands(db: Db | Tx, agentId: string): boolean {
  const isCommand = and(eq(agentMcpServers.agentId, agentId), isNotNull(agentMcpServers.command))
  return db.select({ id: agentMcpServers.id }).from(agentMcpServers).where(isCommand).limit(1).get() !== undefined
}

/** Deletes an agent's servers with their secrets, in the caller's transaction. */
export function forgetServers(tx: Tx, agentId: string): void {
  tx.delete(agentMcpServers).where(eq(agentMcpServers.agentId, agentId)).run()
}

/** Returns a server's URL, headers and OAuth access; null for a server that the agent starts. */
export function toEndpoint(deps: AuthorizationDeps, row: McpServerRow): McpEndpoint | null {
  if (row.command !== null) return null
  const access = findAccess(deps, row)
  return { url: row.url, headers: unsealHeaders(deps.sealer, row), ...(access && { access }) }
}

/** Remembers how tools are described when they are listed for the first time. */
export async function pinTools(db: Db, serverId: string, listed: ToolPins): Promise<ToolPins> {
  const isThis = eq(agentMcpServers.id, serverId)
  const before = db.select({ pins: agentMcpServers.toolPins }).from(agentMcpServers).where(isThis).get()?.pins ?? {}
  if (findNewPins(before, listed) === null) return before
  return write(db, (tx) => {
    const pins = tx.select({ pins: agentMcpServers.toolPins }).from(agentMcpServers).where(isThis).get()?.pins ?? {}
    const toolPins = { ...pins, ...findNewPins(pins, listed) }
    tx.update(agentMcpServers).set({ toolPins }).where(isThis).run()
    return toolPins
  })
}

/**
 * Remembers how the tools of a server that the agent starts are described when it lists them for the first time.
 * @returns the pins of the server. @throws AppError `not_found` for a server that the agent does not start.
 */
export async function pinOwnTools(db: Db, agentId: string, name: string, listed: ToolPins): Promise<ToolPins> {
  const server = listServers(db, agentId).find((one) => one.name === name && one.command !== null)
  if (!server) throw new AppError('not_found', 'The agent has no such server')
  return pinTools(db, server.id, listed)
}

/** Lists the servers that an agent starts itself, with their environment; none where no sandbox confines them. */
export function listCommands({ db, sealer }: Base, agent: AgentRow): McpCommand[] {
  if (whyUnconfined(agent) !== null) return []
  return listServers(db, agent.id).flatMap((row) => {
    const { name, command, args, allowedTools, trustedTools, toolPins, enabled } = row
    if (command === null) return []
    const environment = unsealHeaders(sealer, row)
    return [{ name, command, args, environment, allowedTools, trustedTools, toolPins, enabled }]
  })
}

export function toMcpServer({ db, sealer }: Pick<Base, 'db' | 'sealer'>, row: McpServerRow): McpServer {
  const names = Object.keys(unsealHeaders(sealer, row))
  return {
    id: row.id,
    name: row.name,
    url: row.command === null ? row.url : null,
    headerNames: row.command === null ? names : [],
    command: row.command,
    args: row.args,
    environmentNames: row.command === null ? [] : names,
    allowedTools: row.allowedTools,
    trustedTools: row.trustedTools,
    enabled: row.enabled,
    authorization: toAuthorization(findAuthorization(db, row.id)),
    createdAt: row.createdAt.toISOString(),
  }
}

function toHeaders(headers: Readonly<Record<string, string>>, bearer: string | undefined) {
  const named = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])
  return { ...Object.fromEntries(named), ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }) }
}

function sealHeaders(sealer: Sealer, id: string, headers: Record<string, string>): string | null {
  if (Object.keys(headers).length === 0) return null
  return sealer.seal(JSON.stringify(headers), `agent_mcp_servers:${id}`)
}

function unsealHeaders(sealer: Sealer, { id, sealedHeaders }: McpServerRow): Record<string, string> {
  if (sealedHeaders === null) return {}
  return StoredHeaders.parse(JSON.parse(sealer.unseal(sealedHeaders, `agent_mcp_servers:${id}`)))
}
