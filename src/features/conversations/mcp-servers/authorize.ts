import { eq, lte } from 'drizzle-orm'
import { z } from 'zod'
import { McpClientId } from '../../../adapters/mcp/oauth.ts'
import type { McpIssuer } from '../../../adapters/mcp/oauth-discovery.ts'
import { AppError, errorMessage } from '../../../core/errors.ts'
import { randomText } from '../../../core/ids.ts'
import { sha256 } from '../../../core/secrets.ts'
import { deleteInBatches } from '../../../db/in-batches.ts'
import type { Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Principal } from '../../../http/env.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import { recordAudit } from '../../accounts/audit/audit.ts'
import { toRequester } from '../../agents/operations/operations.ts'
import type { Base } from '../../base.ts'
import {
  type AuthorizationDeps,
  findAuthorization,
  openAuthorization,
  sealAuthorization,
  toScopes,
} from './authorizations.ts'
import type { AuthorizeRequest, CallbackQuery, ConnectOutcome, StartedAuthorization } from './schemas.ts'
import { getServer } from './servers.ts'
import { agentMcpServers, type McpServerRow, mcpAuthorizationAttempts, mcpAuthorizations } from './tables.ts'
import { revokeTokens, toExpiry } from './tokens.ts'

/** How long a browser may stay at the authorization server. */
const ATTEMPT_MS = 10 * 60_000
/** 43 of 62 characters: 256 bits. */
const STATE_LENGTH = 43
const CLEAN_UP_MS = 10 * 60_000

/** The browser that starts or completes an authorization. */
type Browser = { userId: string; session: string }

const Secrets = z.object({ client: McpClientId, codeVerifier: z.string() })

/** Uses the configured URL only: the `Host` header is untrusted. */
function toRedirectUri({ appUrl }: { appUrl: string }): string {
  return `${appUrl}/api/mcp/callback`
}

/**
 * Finds the authorization server, registers a client where needed, and returns the URL for the owner's browser.
 * @throws AppError `not_found`, `invalid` for a server that the agent starts or one with an Authorization header, and
 * as `McpOauth`.
 */
export async function startAuthorization(
  deps: AuthorizationDeps,
  {
    principal,
    agentId,
    serverId,
    browser,
  }: { principal: Principal; agentId: string; serverId: string; browser: Browser },
  request: AuthorizeRequest,
): Promise<StartedAuthorization> {
  const server = getServer(deps.db, principal, agentId, serverId)
  if (server.command !== null) throw new AppError('invalid', 'The agent starts this server: it has no sign-in')
  const redirectUri = toRedirectUri(deps)
  const { issuer, resource, scope: named } = await deps.mcpOauth.discover(server.url)
  const scope = request.scope ?? joinScopes(named, findAuthorization(deps.db, serverId)?.missingScope ?? null)
  const client = await findClient(deps, server, { issuer, redirectUri, scope }, request)
  const state = randomText(STATE_LENGTH)
  const stateHash = sha256(state)
  const { url, codeVerifier } = await deps.mcpOauth.start({ issuer, resource, client }, { redirectUri, state, scope })
  const sealed = deps.sealer.seal(JSON.stringify({ client, codeVerifier }), `mcp_authorization_attempts:${stateHash}`)
  const expiresAt = new Date(deps.clock.now().getTime() + ATTEMPT_MS)
  const { userId, session } = browser
  await write(deps.db, (tx) => {
    getServer(tx, principal, agentId, serverId)
    // Only the newest attempt of a server can be completed.
    tx.delete(mcpAuthorizationAttempts).where(eq(mcpAuthorizationAttempts.serverId, serverId)).run()
    const row = {
      stateHash,
      serverId,
      userId,
      sessionHash: sha256(session),
      issuer,
      resource,
      scope,
      sealed,
      expiresAt,
    }
    tx.insert(mcpAuthorizationAttempts).values(row).run()
  })
  return { url, issuer: issuer.issuer, scopes: toScopes(scope) }
}

function joinScopes(named: string | null, missing: string | null): string | null {
  const scopes = [...new Set([...toScopes(named), ...toScopes(missing)])]
  return scopes.length === 0 ? null : scopes.join(' ')
}

type Wanted = { issuer: McpIssuer; redirectUri: string; scope: string | null }

/** Credentials are valid at their issuer only, so another issuer never receives them. */
function findClient(
  deps: AuthorizationDeps,
  server: McpServerRow,
  { issuer, redirectUri, scope }: Wanted,
  { clientId, clientSecret }: AuthorizeRequest,
): McpClientId | Promise<McpClientId> {
  if (clientId !== undefined) return { client_id: clientId, client_secret: clientSecret }
  const known = findAuthorization(deps.db, server.id)
  const secrets = known?.issuer?.issuer === issuer.issuer ? openAuthorization(deps.sealer, known) : null
  if (secrets && mayRequest(secrets.client, scope)) return secrets.client
  return deps.mcpOauth.register(issuer, { redirectUri, scope })
}

function mayRequest({ registered_scope: registered }: McpClientId, scope: string | null): boolean {
  return registered === undefined || toScopes(scope).every((each) => toScopes(registered).includes(each))
}

/** The end of an attempt, for the redirect to the agent's page; `agentId` is null for an unknown state. */
type Ended = { outcome: ConnectOutcome; agentId: string | null }

/**
 * Completes the authorization of `state`, which is used up. Another user, and another session of the same user, is
 * refused: otherwise an attacker could connect an agent to an account of theirs.
 */
export async function finishAuthorization(
  deps: AuthorizationDeps,
  browser: Browser,
  query: CallbackQuery,
): Promise<Ended> {
  const attempt = await takeAttempt(deps, browser, query.state)
  if (!attempt) return { outcome: 'expired', agentId: null }
  const { agentId } = attempt.server
  try {
    // RFC 9207: the issuer is checked before anything else of the response is believed.
    await deps.mcpOauth.requireIssuer(attempt.issuer, query.iss)
    if (!query.code || query.error !== undefined) return { outcome: 'denied', agentId }
    await connect(deps, browser, attempt, query.code)
    return { outcome: 'connected', agentId }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    deps.log.info({ server: attempt.server.id, error: errorMessage(error) }, 'connecting an MCP server failed')
    return { outcome: error.extra.code === 'ISSUER_MISMATCH' ? 'issuer' : 'failed', agentId }
  }
}

type Attempt = z.infer<typeof Secrets> & {
  server: McpServerRow
  issuer: McpIssuer
  resource: string
  scope: string | null
}

async function takeAttempt(deps: Base, browser: Browser, state = ''): Promise<Attempt | null> {
  const stateHash = sha256(state)
  const isThis = eq(mcpAuthorizationAttempts.stateHash, stateHash)
  const taken = await write(deps.db, (tx) => {
    const row = tx.delete(mcpAuthorizationAttempts).where(isThis).returning().get()
    const server = row && tx.select().from(agentMcpServers).where(eq(agentMcpServers.id, row.serverId)).get()
    return row && server ? { row, server } : null
  })
  if (!taken || taken.row.expiresAt <= deps.clock.now()) return null
  const { row, server } = taken
  if (row.userId !== browser.userId || row.sessionHash !== sha256(browser.session)) return null
  const { issuer, resource, scope } = row
  const secrets = Secrets.parse(JSON.parse(deps.sealer.unseal(row.sealed, `mcp_authorization_attempts:${stateHash}`)))
  return { ...secrets, server, issuer, resource, scope }
}

async function connect(deps: AuthorizationDeps, browser: Browser, attempt: Attempt, code: string): Promise<void> {
  const { server, issuer, resource, client, codeVerifier } = attempt
  const answer = { code, codeVerifier, redirectUri: toRedirectUri(deps) }
  const tokens = await deps.mcpOauth.exchange({ issuer, resource, client }, answer)
  const now = deps.clock.now()
  const { accessToken, refreshToken } = tokens
  const sealed = sealAuthorization(deps.sealer, server.id, { client, accessToken, refreshToken })
  const row = {
    agentId: server.agentId,
    status: 'connected' as const,
    issuer,
    resource,
    scope: tokens.scope ?? attempt.scope,
    missingScope: null,
    sealed,
    expiresAt: toExpiry(tokens, now),
    renewingUntil: null,
    connectedAt: now,
    updatedAt: now,
  }
  await write(deps.db, (tx) => {
    requireUnchanged(tx, server)
    tx.insert(mcpAuthorizations)
      .values({ serverId: server.id, ...row })
      .onConflictDoUpdate({ target: mcpAuthorizations.serverId, set: row })
      .run()
    touch(tx, server.id, now)
    const detail = { server: server.name, issuer: issuer.issuer, scope: row.scope }
    recordAudit(tx, { actor: browser.userId, action: 'agent.mcp-connected', target: server.agentId, detail }, now)
  })
}

/** Listed tools are remembered by the time of the last change. */
function touch(tx: Tx, serverId: string, updatedAt: Date): void {
  tx.update(agentMcpServers).set({ updatedAt }).where(eq(agentMcpServers.id, serverId)).run()
}

/** @throws AppError `conflict` when the server was removed or moved while the owner was at the authorization server. */
function requireUnchanged(tx: Tx, { id, url }: McpServerRow): void {
  const present = tx.select().from(agentMcpServers).where(eq(agentMcpServers.id, id)).get()
  if (present?.url !== url) throw new AppError('conflict', 'The MCP server changed meanwhile')
}

/**
 * Deletes the tokens of a server and revokes them where the authorization server offers it. The client stays, so that
 * the owner need not enter it again.
 * @throws AppError `not_found` for a server without access.
 */
export async function disconnect(
  deps: AuthorizationDeps,
  principal: Principal,
  agentId: string,
  serverId: string,
): Promise<{ revoked: boolean; error: string | null }> {
  const server = getServer(deps.db, principal, agentId, serverId)
  const before = await write(deps.db, (tx) => {
    getServer(tx, principal, agentId, serverId)
    const row = findAuthorization(tx, serverId)
    const secrets = row && openAuthorization(deps.sealer, row)
    if (!row || !secrets) throw new AppError('not_found', 'This MCP server is not connected')
    const now = deps.clock.now()
    const sealed = sealAuthorization(deps.sealer, serverId, {
      client: secrets.client,
      accessToken: null,
      refreshToken: null,
    })
    const change = { status: 'disconnected', sealed, expiresAt: null, missingScope: null, updatedAt: now } as const
    tx.update(mcpAuthorizations).set(change).where(eq(mcpAuthorizations.serverId, serverId)).run()
    touch(tx, serverId, now)
    const audited = { actor: toRequester(principal), action: 'agent.mcp-disconnected', target: agentId }
    recordAudit(tx, { ...audited, detail: { server: server.name } }, now)
    return { row, secrets }
  })
  return revokeTokens(deps, before)
}

/** Deletes attempts that were never completed. */
export function mcpAttemptsJob({ db, clock }: Base): RepeatingJob {
  const isOver = () => lte(mcpAuthorizationAttempts.expiresAt, clock.now())
  return {
    name: 'mcp.expired-attempts',
    everyMs: CLEAN_UP_MS,
    run: async (signal) => void (await deleteInBatches(db, mcpAuthorizationAttempts, isOver(), signal)),
  }
}
