import type { Egress } from '../../../adapters/egress/egress.ts'
import { EgressError } from '../../../adapters/egress/error.ts'
import { AppError } from '../../../core/errors.ts'
import type { Base } from '../../base.ts'
import { listHttpHosts } from '../../conversations/agent-tools/settings.ts'
import { claimApproval } from '../../conversations/approvals/decide.ts'
import { HttpArguments } from './schemas.ts'

const TIMEOUT_MS = 20_000
const MAX_BYTES = 512 * 1024
/** Safe methods change nothing on the server (RFC 9110, 9.2.1). */
const SAFE_METHODS = new Set(['GET', 'HEAD'])

/**
 * Sends an agent's request to a host that its owner allows. A method that may change something needs the owner's
 * approval of exactly this request; the approval is used up before sending. Redirects are not followed: they could lead
 * to another host.
 * @throws AppError `invalid`, `forbidden` for another host or without an approval, `conflict` for an approval that is
 * not valid, `upstream_failed` when the host does not answer.
 */
export async function requestForAgent(
  deps: Base & { egress: Egress },
  agentId: string,
  asked: { arguments: string; approvalId?: string | null | undefined },
) {
  const { url, method, headers, body } = parseArguments(asked.arguments)
  requireHost(listHttpHosts(deps.db, agentId), new URL(url).hostname)
  if (!SAFE_METHODS.has(method)) {
    if (!asked.approvalId) throw new AppError('forbidden', 'The owner has not approved that', { code: 'NOT_APPROVED' })
    await claimApproval(deps, agentId, asked.approvalId, { tool: 'http_request', arguments: asked.arguments })
  }
  try {
    const limits = { timeoutMs: TIMEOUT_MS, maxRedirects: 0, maxBytes: MAX_BYTES, maxWireBytes: MAX_BYTES }
    const response = await deps.egress.request(url, { method, headers, ...(body !== undefined && { body }), ...limits })
    const bytes = await response.bytes()
    return {
      status: response.status,
      headers: Object.fromEntries(response.headers),
      body: new TextDecoder().decode(bytes),
    }
  } catch (error) {
    if (error instanceof EgressError) throw new AppError('upstream_failed', error.message, {}, { cause: error })
    throw error
  }
}

function parseArguments(text: string): HttpArguments {
  const parsed = HttpArguments.safeParse(JSON.parse(text))
  if (parsed.success) return parsed.data
  throw new AppError('invalid', parsed.error.issues[0]?.message ?? 'The arguments are not valid')
}

function requireHost(hosts: readonly string[], host: string): void {
  const isAllowed = hosts.some((allowed) =>
    allowed.startsWith('*.') ? host.endsWith(allowed.slice(1)) : host === allowed,
  )
  if (isAllowed) return
  throw new AppError('forbidden', `The owner of this agent has not allowed the host ${host}`, {
    code: 'HOST_NOT_ALLOWED',
  })
}
