import { json } from '../harness/requests.ts'
import type { Caller } from './callers.ts'
import { PASSWORD, type Person } from './world.ts'

/** The resource a request names: the caller's own, another user's, or a missing one. */
export type Target = 'own' | 'foreign' | 'missing'

/** Input of a request; `id` is the target's, `owner` its owner or null when it is missing. */
type Wanted = { id: string; owner: Person | null; caller: Caller }

/** The expected outcome behind the guard of a route. */
export type Expectation = {
  /** The resource in path, query or body, and an id that does not exist. */
  names?: { idOf: (person: Person) => string; missing: string }
  /** Replaces the path with `:id`. */
  path?: (id: string) => string
  body?: (wanted: Wanted) => unknown
  /** Status for the caller's own resource, or if the route names none. */
  status: number | ((caller: Caller) => number)
  /** Status for another user's resource, by default 404; no row changes. */
  foreign?: number
  missing?: number | ((caller: Caller) => number)
  /** A GET with an effect, which a read-only key may not call. */
  acts?: true
  /** Replaces the status of the guard. */
  refusal?: (status: number) => number
  /** The secret in the response to its owner. */
  secret?: (person: Person) => string
  /** The request creates a missing resource. */
  creates?: true
  /** A GET that writes, or a rejection that counts an attempt. All other GETs and rejections change nothing. */
  writes?: true
}

const AGENT = { idOf: (person: Person) => person.agentId, missing: 'agent-missing' }
const KEY = { idOf: (person: Person) => person.keyId, missing: 'key_missing' }
const SESSION = { idOf: (person: Person) => person.otherSessionId, missing: '0123456789abcdef' }
const USER = { idOf: (person: Person) => person.id, missing: 'usr_missing' }
const INSTALLATION = { idOf: (person: Person) => person.installationId, missing: 'ins_missing' }
const TASK = { idOf: (person: Person) => `task_${person.canary}`, missing: 'task_missing' }
const SWARM = { idOf: (person: Person) => `swarm_${person.canary}`, missing: 'swarm_missing' }
const CONVERSATION = { idOf: (person: Person) => `sess_${person.canary}`, missing: 'sess_missing' }
const TURN = { idOf: (person: Person) => `turn_${person.canary}`, missing: 'turn_missing' }
const RUN = { idOf: (person: Person) => `run_${person.canary}`, missing: 'run_missing' }
const STREAM = { idOf: (person: Person) => `stream-${person.canary}`, missing: 'stream-missing' }
const PAYMENT_ROW = { idOf: (person: Person) => `pay_${person.canary}`, missing: 'pay_missing' }
const VIDEO = { idOf: (person: Person) => `vid_${person.canary}`, missing: 'vid_missing' }
const APPROVAL = { idOf: (person: Person) => `apr_${person.canary}`, missing: 'apr_missing' }
const CHANNEL = { idOf: (person: Person) => `nch_${person.canary}`, missing: 'nch_missing' }
/** The id of a server contains that of its agent. */
const MCP_SERVER = { idOf: (person: Person) => `mcp_of_${person.agentId}`, missing: 'mcp_missing' }
const agentOf = (serverId: string) => serverId.replace('mcp_of_', '')
const REQUEST = { idOf: (person: Person) => `gen_${person.canary}`, missing: 'gen_missing' }
const EMAIL = { idOf: (person: Person) => person.email, missing: 'missing@example.com' }

const QUESTION = { messages: [{ role: 'user', content: 'Hi' }] }
const CODE = { code: '123456' }
/** A credential that cannot be verified here. */
const PASSKEY = { verificationType: 'webauthn', attestationUid: 'unknown' }
/** A payment that cannot be verified without a chain. */
const PAYMENT = {
  transactionHash: `0x${'a'.repeat(64)}`,
  amount: '1.0',
  currency: 'pathUSD',
  chainId: 4217,
  from: `0x${'1'.repeat(40)}`,
  to: `0x${'2'.repeat(40)}`,
  timestamp: 1_790_000_000,
}
const reached: Expectation = { status: 200 }
/** The operator may register a user without an account. */
const REGISTERS: Expectation = {
  names: USER,
  status: 200,
  foreign: 403,
  missing: ({ user }) => (user ? 403 : 200),
  creates: true,
  body: ({ id }) => ({ userId: id }),
}
const TOKEN: Expectation = { names: AGENT, status: 200, secret: (person) => person.gatewayToken, acts: true }
/** Expectation of a route that names an instance by the id of its agent. */
const instance = (action: string): Expectation => ({
  names: AGENT,
  status: 200,
  path: (id) => `/api/instance/${id}${action}`,
})
const logs = (action: string): Expectation => ({
  names: AGENT,
  status: 200,
  path: (id) => `/api/logs/${id}/${action}`,
})
const metrics = (name: string): Expectation => ({
  names: USER,
  status: 200,
  path: (id) => `/api/metrics/${id}/${name}`,
})

/** Each run belongs to the swarm with the same suffix. */
const toRunPath = (id: string) => `/api/swarms/${id.replace('run_', 'swarm_')}/runs/${id}`

const inWorkspace = (route: string, query = ''): Expectation => ({
  names: AGENT,
  status: 200,
  path: (id) => `/api/browse/${route}?agentId=${id}${query}`,
})
const ORIGIN = 'https://git.example.com'

/** The readiness check writes to the database. */
const probes = (api: 'web' | 'backend' | 'summarizer'): Record<string, Expectation> => ({
  [`GET /healthz ${api}`]: reached,
  [`GET /openapi.json ${api}`]: reached,
  [`GET /readyz ${api}`]: { status: 200, writes: true },
})

/** Events of agents; on the backend API a wrong key is 401. */
const undergroundRoutes = (api: 'web' | 'backend'): Record<string, Expectation> => {
  const refusal = api === 'backend' ? { refusal: () => 401 } : {}
  return {
    [`GET /api/underground/events ${api}`]: { status: 200, ...refusal },
    [`POST /api/underground/events ${api}`]: {
      names: AGENT,
      status: 201,
      creates: true,
      body: ({ id }) => ({
        agentId: id,
        name: 'Night',
        description: 'Long',
        venue: 'Cellar',
        eventDate: '2027-01-01T20:00:00Z',
        ticketPriceUsdc: '12.50',
        totalTickets: 100,
      }),
      ...refusal,
    },
    [`GET /api/underground/splits ${api}`]: { status: 200, ...refusal },
    // The world has no splits.
    [`GET /api/underground/splits/:id ${api}`]: { status: 404, path: () => '/api/underground/splits/1', ...refusal },
    [`POST /api/underground/splits ${api}`]: {
      names: AGENT,
      // The world has no wallet; the operator's split waits for one.
      status: ({ user }) => (user ? 404 : 200),
      creates: true,
      body: ({ id, owner, caller }) => ({
        userId: caller.user?.id ?? owner?.id ?? 'usr_missing',
        agentId: id,
        fromAddress: PAYMENT.from,
        name: 'May',
        totalAmount: '1',
        recipients: [{ address: PAYMENT.to, share: 100 }],
      }),
      ...refusal,
    },
  }
}

/** The file explorer on web and backend API; the workspaces contain `notes.txt` and no repository. */
const browseRoutes = (api: 'web' | 'backend'): Record<string, Expectation> => ({
  [`DELETE /api/browse/delete ${api}`]: { ...inWorkspace('delete', '&path=.git/x'), status: 400 },
  [`GET /api/browse/download ${api}`]: inWorkspace('download', '&path=notes.txt'),
  [`DELETE /api/browse/git-credentials ${api}`]: inWorkspace('git-credentials', `&origin=${ORIGIN}`),
  [`PUT /api/browse/git-credentials ${api}`]: {
    ...inWorkspace('git-credentials'),
    body: () => ({ origin: ORIGIN, username: 'bo', password: 'other' }),
  },
  [`GET /api/browse/git-diff ${api}`]: { ...inWorkspace('git-diff'), status: 500 },
  [`POST /api/browse/git-init ${api}`]: { ...inWorkspace('git-init'), status: 201 },
  [`GET /api/browse/git-log ${api}`]: { ...inWorkspace('git-log'), status: 500 },
  [`GET /api/browse/git-status ${api}`]: inWorkspace('git-status'),
  [`POST /api/browse/git-sync ${api}`]: { ...inWorkspace('git-sync'), status: 500 },
  [`POST /api/browse/mkdir ${api}`]: { ...inWorkspace('mkdir'), status: 201, body: () => ({ path: 'made' }) },
  [`GET /api/browse/read ${api}`]: inWorkspace('read', '&path=notes.txt'),
  [`POST /api/browse/rename ${api}`]: {
    ...inWorkspace('rename'),
    status: 400,
    body: () => ({ from: 'notes.txt', to: '.git/x' }),
  },
  [`GET /api/browse/search ${api}`]: inWorkspace('search', '&q=canary&in=content'),
  [`GET /api/browse/tree ${api}`]: inWorkspace('tree'),
  [`POST /api/browse/upload ${api}`]: { ...inWorkspace('upload', '&path=new.txt'), status: 201 },
  [`POST /api/browse/write ${api}`]: { ...inWorkspace('write'), body: () => ({ path: 'new.txt', content: 'x' }) },
})

/** Callers accepted by routes without a guard that still require a known caller. */
const KNOWN: readonly string[] = ['session', 'admin session', 'key', 'reading key']
const forKnownCallers = ({ proof }: Caller) => (KNOWN.includes(proof) ? 200 : 401)
const whoActs = (caller: Caller) => (caller.proof === 'reading key' ? 403 : forKnownCallers(caller))

/** Expectation of every route in `tests/endpoints.txt`, behind its guard. */
export const ROUTES: Readonly<Record<string, Expectation>> = {
  ...browseRoutes('backend'),
  ...browseRoutes('web'),
  'GET /api/agents backend': reached,
  'GET /api/logs/:agentId/history backend': logs('history'),
  'POST /api/logs/:agentId/stop backend': logs('stop'),
  'GET /api/logs/:agentId/stream backend': logs('stream'),
  'GET /api/logs/active backend': reached,
  'GET /api/metrics/:userId/historical backend': metrics('historical'),
  'GET /api/metrics/:userId/performance backend': metrics('performance'),
  'GET /api/metrics/:userId/summary backend': metrics('summary'),
  'GET /api/runtime/instances backend': reached,
  'GET /api/runtime/instances/:id/stats backend': { names: AGENT, status: 200 },
  'GET /api/runtime/version backend': reached,
  'POST /api/agents backend': { status: 201, body: () => ({ name: 'Bo' }) },
  'DELETE /api/agents/:id backend': { names: AGENT, status: 200, foreign: 200, missing: 200 },
  'GET /api/agents/:id backend': { names: AGENT, status: 200 },
  'PUT /api/agents/:id backend': { names: AGENT, status: 200, body: () => ({ plan: 'pro' }) },
  'POST /api/agents/:id/restart backend': { names: AGENT, status: 200 },
  'POST /api/agents/:id/start backend': { names: AGENT, status: 200 },
  'POST /api/agents/:id/stop backend': { names: AGENT, status: 200 },
  'GET /api/agents/:id/deployments backend': { names: AGENT, status: 200 },
  'POST /api/agents/:id/repair backend': { names: AGENT, status: 200 },
  'POST /api/agents/:id/reset-memory backend': { names: AGENT, status: 200 },
  'GET /api/agents/:id/snapshots backend': { names: AGENT, status: 200 },
  // The agent has no snapshots.
  'POST /api/agents/:id/snapshots/:snapshotId/restore backend': { names: AGENT, status: 404 },
  'GET /api/agents/:id/metrics backend': { names: AGENT, status: 200 },
  'GET /api/agents/:id/stats backend': { names: AGENT, status: 200 },
  'GET /api/agents/:id/token backend': TOKEN,
  'POST /api/agents/:id/token/rotate backend': { names: AGENT, status: 200 },
  'POST /api/agents/:id/platform-token/rotate backend': { names: AGENT, status: 200 },
  'POST /api/agents/:id/update backend': { names: AGENT, status: 200 },
  'GET /api/agents/:id/watchdog backend': { names: AGENT, status: 200 },
  'POST /api/agents/:id/watchdog/simulate backend': { names: AGENT, status: 200 },
  'GET /api/agents/:id/revisions backend': { names: AGENT, status: 200 },
  // The agent has no revisions.
  'GET /api/agents/:id/revisions/:number backend': { names: AGENT, status: 404 },
  'POST /api/agents/:id/revisions/:number/restore backend': { names: AGENT, status: 404 },
  'GET /api/agents/:id/config backend': { names: AGENT, status: 200 },
  'PUT /api/agents/:id/config backend': { names: AGENT, status: 200, body: () => ({ brain: 'careful' }) },
  'GET /api/agents/:id/messages backend': { names: AGENT, status: 200 },
  'GET /api/agents/:id/verification backend': { names: AGENT, status: 200 },
  'DELETE /api/agents/:id/verify backend': { names: AGENT, status: 200 },
  'GET /api/agents/:id/verify backend': { names: AGENT, status: 200 },
  'POST /api/agents/:id/verify backend': { names: AGENT, status: 503, body: () => PASSKEY },
  'POST /api/agents/:id/verify/challenge backend': { names: AGENT, status: 201 },
  'POST /api/provision backend': {
    // The operator must name the paying user.
    status: ({ user }) => (user ? 200 : 402),
    body: () => ({ autoProvision: true, plan: 'network' }),
  },
  'POST /api/ai/chat backend': { status: 200, body: () => QUESTION },
  'GET /api/ai/health backend': reached,
  'GET /api/ai/models backend': reached,
  'GET /api/ai/models/:provider backend': { status: 200, path: () => '/api/ai/models/local' },
  'POST /api/ai/estimate-cost backend': {
    status: 200,
    body: () => ({ model: 'local/echo', inputTokens: 10, outputTokens: 10 }),
  },
  'POST /api/ai/models/select backend': { status: 200, body: () => ({}) },
  'GET /api/me/usage backend': reached,
  'GET /api/usage/by-agent/:agentId backend': {
    names: AGENT,
    path: (id) => `/api/usage/by-agent/${id}`,
    status: 200,
    // A caller without rows of the agent gets an empty result.
    foreign: 200,
    missing: 200,
  },
  'GET /api/usage/by-model backend': reached,
  'GET /api/usage/daily backend': reached,
  'GET /api/usage/summary backend': reached,
  'GET /api/usage/tools backend': reached,
  'POST /api/deployments backend': {
    names: AGENT,
    status: 200,
    missing: 201,
    creates: true,
    body: ({ id }) => ({ agentId: id }),
  },
  // Public, but a request changes only the named user's row; the operator may register any user.
  'POST /api/heartbeat backend': {
    names: USER,
    status: 200,
    foreign: 200,
    missing: 200,
    body: ({ id }) => ({ userId: id, name: 'unknown' }),
  },
  'GET /api/installations backend': reached,
  // These machines have no tunnel.
  'GET /api/installations/:id/tunnel backend': { names: INSTALLATION, status: 404 },
  'POST /api/installations/pair backend': { status: 400, body: () => ({}) },
  'PUT /api/installations/self backend': reached,
  'POST /api/subscriptions/deploy backend': { status: 404, body: () => ({ tier: 'solo', customerId: 'cus_missing' }) },
  'GET /api/cluster backend': { status: 404 },
  'POST /api/cluster/snapshot backend': { status: 404 },
  'GET /api/infra-mcp/docs backend': { status: 301 },
  'GET /api/infra-mcp/examples backend': reached,
  'GET /api/infra-mcp/github backend': { status: 301 },
  'GET /api/infra-mcp/health backend': reached,
  'GET /api/infra-mcp/info backend': reached,
  'GET /api/infra-mcp/setup backend': reached,
  'GET /api/infra-mcp/tools backend': reached,
  'POST /api/infra-mcp/validate-config backend': { status: 400, body: () => ({ api_key: 'short' }) },
  // A wrong key gets 401 on this route.
  'POST /api/invite/generate backend': {
    status: ({ user }) => (user ? 403 : 200),
    refusal: () => 401,
  },
  'POST /api/invite/validate backend': { status: 400, body: () => ({ code: 'WRONG' }) },
  'POST /api/register-home backend': REGISTERS,
  'POST /api/register-link backend': REGISTERS,
  'POST /api/validate-key backend': {
    status: ({ proof }) => (proof === 'key' || proof === 'reading key' ? 200 : 401),
  },
  // A wrong key gets 401 on this route.
  'GET /api/mission-control/fleet/bookings backend': { status: 200, refusal: () => 401 },
  'GET /api/mission-control/fleet/costs backend': { status: 200, refusal: () => 401 },
  'GET /api/mission-control/fleet/graph backend': { status: 200, refusal: () => 401 },
  'GET /api/mission-control/fleet/traces backend': { status: 200, refusal: () => 401 },
  ...undergroundRoutes('backend'),
  ...undergroundRoutes('web'),
  'GET /v1/skills backend': reached,
  // The wallets' keys are not those of the request, so the signature is rejected.
  'POST /v1/bus/send backend': { status: 401, body: () => ({ to: { agentId: 'agent-missing' }, action: 'PING' }) },
  'GET /api/skills web': reached,
  'POST /api/skills web': {
    names: AGENT,
    status: 200,
    body: ({ id }) => ({ agentId: id, skillId: 'tour-planner' }),
  },
  // The world has no skill installed.
  'PATCH /api/skills web': {
    names: AGENT,
    status: 404,
    body: ({ id }) => ({ agentId: id, skillId: 'tour-planner', enabled: true }),
  },
  'DELETE /api/skills web': {
    names: AGENT,
    status: 200,
    foreign: 200,
    missing: 200,
    body: ({ id }) => ({ agentId: id, skillId: 'tour-planner' }),
  },
  'POST /api/skills/create web': { status: 200, body: () => ({ name: 'New', description: 'New', code: 'Say hello.' }) },
  'GET /api/skills/booking-settlement web': { status: 200 },
  'GET /api/skills/instant-split web': { status: 200 },
  'GET /api/skills/:name web': { status: 200, path: () => '/api/skills/tour-planner' },
  'POST /api/skills/:name web': {
    status: 200,
    path: () => '/api/skills/event-scheduler',
    body: () => ({ action: 'upcoming' }),
  },
  'POST /api/skills/booking-settlement web': { status: 200, body: () => ({ action: 'list' }) },
  'POST /api/skills/event-ticketing web': { status: 200, body: () => ({ action: 'list' }) },
  'POST /api/skills/instant-split web': { status: 200, body: () => ({ action: 'list_pending' }) },
  // Built-in skills cannot be deleted.
  'DELETE /api/skills/:name web': { status: 404, path: () => '/api/skills/tour-planner' },
  'POST /api/underground/wallets backend': {
    names: AGENT,
    status: 201,
    creates: true,
    body: ({ id, owner }) => ({ userId: owner?.id ?? 'usr_missing', agentId: id }),
    refusal: () => 401,
  },
  'GET /api/underground/wallets/:address/balance backend': {
    // The world has no wallet.
    status: 404,
    path: () => `/api/underground/wallets/${PAYMENT.from}/balance?userId=usr_missing`,
    refusal: () => 401,
  },
  'POST /api/underground/bus/send backend': { status: 401, body: () => ({ messageId: 'm', action: 'PING' }) },
  'GET /api/underground/bus/messages web': reached,
  'GET /api/admin/bus/dead-letters web': reached,
  // The world has no dead letter.
  'POST /api/admin/bus/dead-letters/:id/replay web': {
    status: 404,
    path: () => '/api/admin/bus/dead-letters/1/replay',
  },
  ...probes('backend'),
  ...probes('summarizer'),
  ...probes('web'),
  'GET /health backend': reached,
  'GET /metrics backend': reached,
  'POST /v1/chat/completions backend': { status: 200, body: () => QUESTION },
  'POST /v1/responses backend': { status: 200, body: () => ({ model: 'local/echo', input: 'Hi' }) },
  'POST /v1/responses/input_tokens backend': { status: 200, body: () => ({ model: 'local/echo', input: 'Hi' }) },
  'GET /v1/responses/:id backend': { status: 404, path: () => '/v1/responses/resp_missing' },
  'DELETE /v1/responses/:id backend': { status: 404, path: () => '/v1/responses/resp_missing' },
  'POST /v1/messages backend': { status: 200, body: () => ({ ...QUESTION, model: 'local/echo', max_tokens: 9 }) },
  'POST /v1/messages/count_tokens backend': { status: 200, body: () => ({ ...QUESTION, model: 'local/echo' }) },
  // The offline model creates no embeddings.
  'POST /v1/embeddings backend': { status: 400, body: () => ({ model: 'local/echo', input: 'Hi' }) },
  'POST /v1/paid-fetch backend': { status: 503, body: () => ({ url: 'http://127.0.0.1:1' }) },
  'DELETE /v1/memory backend': { status: 200, path: () => '/v1/memory?key=likes' },
  'GET /v1/memory backend': reached,
  'GET /v1/memory/search backend': { status: 200, path: () => '/v1/memory/search?q=likes' },
  'POST /v1/memory backend': { status: 200, body: () => ({ key: 'a', memory: 'x' }) },
  'POST /v1/memory/import backend': { status: 200, body: () => ({ facts: [{ key: 'a', text: 'x' }] }) },
  'GET /v1/agents backend': reached,
  'POST /v1/agents/:id/messages backend': {
    path: () => '/v1/agents/agent-missing/messages',
    status: 404,
    body: () => ({ message: 'Hi' }),
  },
  'GET /v1/mcp/tools backend': reached,
  'GET /v1/mcp/commands backend': reached,
  'PUT /v1/mcp/commands/:name/pins backend': {
    path: () => '/v1/mcp/commands/none/pins',
    status: 404,
    body: () => ({ toolPins: { x: '0'.repeat(64) } }),
  },
  'POST /v1/mcp/call backend': {
    status: 404,
    body: () => ({ server: 'none', tool: 'x', arguments: '{}' }),
  },
  'POST /v1/http backend': {
    status: 403,
    body: () => ({ arguments: '{"url":"https://example.com"}' }),
  },
  'POST /v1/pages backend': { status: 502, body: () => ({ url: 'http://127.0.0.1:1' }) },
  'GET /v1/scheduled-tasks backend': reached,
  'POST /v1/scheduled-tasks backend': {
    status: 201,
    body: () => ({ name: 'x', cronSchedule: '0 9 * * *', prompt: 'x' }),
  },
  'POST /v1/scheduled-tasks/:id/cancel backend': { names: TASK, status: 200 },
  'POST /v1/search backend': { status: 503, body: () => ({ query: 'x' }) },
  'GET /v1/tools backend': reached,
  'POST /v1/channel-messages backend': {
    status: 200,
    body: () => ({
      entries: [
        {
          type: 'message',
          id: 'telegram-7-1',
          platform: 'telegram',
          session: 'telegram:7',
          title: null,
          sender: 'user',
          author: null,
          text: 'Hello',
          status: 'sent',
          at: '2026-01-01T00:00:00Z',
        },
      ],
    }),
  },
  'POST /v1/limits/use backend': { status: 200, body: () => ({ kinds: ['toolCalls'] }) },
  'POST /v1/turn-limits backend': { status: 204, body: () => ({ reason: 'loop', tool: 'read_page' }) },
  'POST /v1/approvals backend': { status: 201, body: () => ({ tool: 'delete_file', arguments: '{}' }) },
  'GET /v1/approvals/:id backend': { status: 200, names: APPROVAL },
  'POST /v1/approvals/:id/decision backend': {
    status: 403,
    names: APPROVAL,
    body: () => ({ decision: 'approve', channel: 'telegram', personId: '1' }),
  },
  'POST /v1/approvals/:id/use backend': {
    status: 409,
    names: APPROVAL,
    body: () => ({ tool: 'delete_file', arguments: '{}' }),
  },
  'GET /v1/models backend': reached,
  'GET /v1/models/:model backend': { status: 404 },
  'POST /v1/tool-events backend': {
    status: 204,
    body: () => ({ events: [{ tool_name: 'read_file', success: true }] }),
  },

  'GET / summarizer': reached,
  'GET /health summarizer': reached,
  // The address is private, so it is rejected.
  'POST /api/extract summarizer': { status: 500, body: () => ({ url: 'http://127.0.0.1:1/' }) },
  'POST /api/summarize summarizer': { status: 500, body: () => ({ url: 'http://127.0.0.1:1/' }) },

  'GET /* web': { status: 200, path: () => '/agents' },
  'ALL /api/* web': { status: 404, path: () => '/api/no-such-route' },
  'GET /api/admin/audit web': reached,
  'GET /api/admin/agents web': reached,
  'POST /api/admin/agents/:id/stop web': { names: AGENT, status: 200, foreign: 200 },
  'GET /api/admin/jobs web': reached,
  // The world has no dead job.
  'POST /api/admin/jobs/:id/retry web': { status: 404, path: () => '/api/admin/jobs/job_missing/retry' },
  // The health check writes to the database.
  'GET /api/admin/health web': { status: 200, writes: true },
  // Mail is not configured.
  'POST /api/admin/mail/test web': { status: 503 },
  'GET /api/admin/settings web': reached,
  'GET /api/admin/logs web': reached,
  'GET /api/admin/update web': reached,
  'GET /api/cluster web': { status: 404 },
  'GET /api/admin/plans web': reached,
  'POST /api/admin/plans web': {
    status: 201,
    body: ({ caller }) => ({
      name: `plan-${caller.name.toLowerCase().replace(/[^a-z0-9]+/g, '-')}`.slice(0, 40).replace(/-$/, ''),
    }),
  },
  'PUT /api/admin/plans/:name web': { status: 404, path: () => '/api/admin/plans/missing', body: () => ({}) },
  'DELETE /api/admin/plans/:name web': { status: 404, path: () => '/api/admin/plans/missing' },
  'GET /api/admin/invites web': reached,
  'POST /api/admin/invites web': { status: 201 },
  // The world has no invitation.
  'DELETE /api/admin/invites/:id web': { status: 404, path: () => '/api/admin/invites/missing' },
  'GET /api/admin/backups web': reached,
  // The world has no program that could create a backup, and no backups.
  'PUT /api/admin/backups web': { status: 200, body: () => ({ keep: '3d' }) },
  'POST /api/admin/backups web': { status: 503 },
  'POST /api/admin/backups/:name/verify web': { status: 404 },
  'POST /api/admin/backups/:name/drill web': { status: 404 },
  'POST /api/admin/backups/:name/restore web': { status: 404, body: () => ({ agentId: 'ada-1' }) },
  'GET /api/admin/backups/:name/download web': { status: 404 },
  'GET /api/admin/prices web': reached,
  'PUT /api/admin/prices/:model web': {
    path: () => '/api/admin/prices/lab/tiny',
    status: 200,
    body: () => ({ inputUsdPerMillion: 1, outputUsdPerMillion: 2 }),
  },
  'DELETE /api/admin/prices/:model web': { path: () => '/api/admin/prices/nobody/nothing', status: 404 },
  'GET /api/admin/services web': reached,
  'PUT /api/admin/services/providers/:id web': {
    path: () => '/api/admin/services/providers/nobody',
    status: 404,
    body: () => ({ apiKey: 'sk-0123456789' }),
  },
  'POST /api/admin/services/providers/:id/test web': {
    path: () => '/api/admin/services/providers/nobody/test',
    status: 404,
    body: () => ({}),
  },
  'DELETE /api/admin/services/providers/:id web': {
    path: () => '/api/admin/services/providers/nobody',
    status: 404,
  },
  'PUT /api/admin/services/mail web': {
    status: 400,
    body: () => ({ smtpUrl: 'smtp://127.0.0.1:1', from: 'stead@example.com' }),
  },
  'DELETE /api/admin/services/mail web': reached,
  'GET /api/admin/users web': reached,
  'POST /api/admin/users web': {
    status: 201,
    body: ({ caller }) => ({ email: `${Bun.hash(caller.name)}@new.example.com` }),
  },
  'GET /api/admin/users/:id web': { names: USER, status: 200, foreign: 200 },
  'PATCH /api/admin/users/:id web': { names: USER, status: 200, foreign: 200, body: () => ({ credits: 7 }) },
  'DELETE /api/admin/users/:id/sessions web': { names: USER, status: 200, foreign: 200 },
  'GET /api/agent web': { names: AGENT, status: 200, path: (id) => `/api/agent?action=sessions&agentId=${id}` },
  'POST /api/agent web': { names: AGENT, status: 200, body: ({ id }) => ({ agentId: id, message: 'Hi' }) },
  'GET /api/agents web': reached,
  'DELETE /api/agents/:id web': { names: AGENT, status: 200, foreign: 200, missing: 200 },
  'GET /api/agents/:id web': { names: AGENT, status: 200 },
  'GET /api/agents/:id/channels web': { names: AGENT, status: 200 },
  'GET /api/agents/:id/webhook-channel web': { names: AGENT, status: 200 },
  'PUT /api/agents/:id/webhook-channel web': {
    names: AGENT,
    status: 200,
    body: () => ({ url: 'https://answers.example/' }),
  },
  'DELETE /api/agents/:id/webhook-channel web': { names: AGENT, status: 200 },
  'GET /api/agents/:id/conversations web': { names: AGENT, status: 200 },
  'GET /api/agents/:id/conversations/:session web': {
    names: AGENT,
    status: 200,
    path: (id) => `/api/agents/${id}/conversations/telegram:7`,
  },
  'GET /api/agents/:id/channels/mail web': { names: AGENT, status: 200 },
  'PUT /api/agents/:id/channels/mail web': { names: AGENT, status: 200, body: () => ({ isOn: false }) },
  'POST /api/agents/:id/channels/:name/pairings/:code web': {
    names: AGENT,
    status: 200,
    path: (id) => `/api/agents/${id}/channels/telegram/pairings/ABCD2345`,
    body: () => ({ approve: true }),
  },
  'DELETE /api/agents/:id/channels/:name/people/:personId web': {
    names: AGENT,
    status: 200,
    path: (id) => `/api/agents/${id}/channels/telegram/people/66`,
  },
  'GET /api/agents/:id/events web': { names: AGENT, status: 200 },
  'PUT /api/agents/:id/labels web': { names: AGENT, status: 200, body: () => ({ labels: ['shop'] }) },
  'GET /api/fleet web': reached,
  'GET /api/overview web': reached,
  'GET /api/plans web': reached,
  'GET /api/fleet/events web': reached,
  // The response reports the result of each agent.
  'POST /api/fleet/changes web': {
    names: AGENT,
    status: 200,
    foreign: 200,
    missing: 200,
    body: ({ id }) => ({ verb: 'stop', agentIds: [id] }),
  },
  'POST /api/agents/:id/restart web': { names: AGENT, status: 200 },
  'POST /api/agents/:id/start web': { names: AGENT, status: 200 },
  'POST /api/agents/:id/stop web': { names: AGENT, status: 200 },
  'POST /api/agents web': { status: 201, body: () => ({ name: 'Bo' }) },
  'PATCH /api/agents/:id web': { names: AGENT, status: 200, body: () => ({ name: 'Bo' }) },
  'PUT /api/agents/:id web': { names: AGENT, status: 200, body: () => ({ aiProvider: 'openai' }) },
  'GET /api/agents/:id/deployments web': { names: AGENT, status: 200 },
  'POST /api/agents/:id/repair web': { names: AGENT, status: 200 },
  'POST /api/agents/:id/reset-memory web': { names: AGENT, status: 200 },
  'GET /api/agents/:id/snapshots web': { names: AGENT, status: 200 },
  // The agent has no snapshots.
  'POST /api/agents/:id/snapshots/:snapshotId/restore web': { names: AGENT, status: 404 },
  'GET /api/agents/:id/metrics web': { names: AGENT, status: 200 },
  'GET /api/agents/:id/stats web': { names: AGENT, status: 200 },
  'GET /api/agents/:id/token web': TOKEN,
  'POST /api/agents/:id/token/rotate web': { names: AGENT, status: 200 },
  'POST /api/agents/:id/platform-token/rotate web': { names: AGENT, status: 200 },
  'POST /api/agents/:id/update web': { names: AGENT, status: 200 },
  'GET /api/agents/:id/watchdog web': { names: AGENT, status: 200 },
  'POST /api/agents/:id/watchdog/simulate web': { names: AGENT, status: 200 },
  'GET /api/agents/:id/revisions web': { names: AGENT, status: 200 },
  'GET /api/agents/:id/limits web': { names: AGENT, status: 200 },
  'PUT /api/agents/:id/limits web': { names: AGENT, status: 200, body: () => ({ files: { limit: 5 } }) },
  'GET /api/agents/:id/leash web': { names: AGENT, status: 200 },
  // The agent has no revisions.
  'GET /api/agents/:id/revisions/:number web': { names: AGENT, status: 404 },
  'POST /api/agents/:id/revisions/:number/restore web': { names: AGENT, status: 404 },
  'GET /api/agents/:id/config web': { names: AGENT, status: 200 },
  'PUT /api/agents/:id/config web': { names: AGENT, status: 200, body: () => ({ brain: 'careful' }) },
  'GET /api/agents/:id/messages web': { names: AGENT, status: 200 },
  'GET /api/agents/:id/verification web': { names: AGENT, status: 200 },
  'DELETE /api/agents/:id/verify web': { names: AGENT, status: 200 },
  'GET /api/agents/:id/verify web': { names: AGENT, status: 200 },
  'POST /api/agents/:id/verify web': { names: AGENT, status: 503, body: () => PASSKEY },
  'POST /api/agents/:id/verify/challenge web': { names: AGENT, status: 201 },
  'GET /api/agents/clone web': reached,
  'POST /api/agents/clone web': {
    names: AGENT,
    status: 503,
    body: ({ id }) => ({ parentAgentId: id, name: 'Bo', paymentProof: PAYMENT }),
  },
  'GET /api/agents/provision web': reached,
  'POST /api/agents/provision web': { status: 201, body: () => ({ name: 'Bo' }) },
  'GET /api/auth/challenge web': reached,
  'GET /api/auth/csrf web': reached,
  'POST /api/auth/forgot-password web': {
    names: EMAIL,
    status: 200,
    foreign: 200,
    missing: 200,
    body: ({ id }) => ({ email: id }),
    writes: true,
  },
  'GET /api/auth/idp-a web': { status: 302 },
  'GET /api/auth/idp-a/callback web': { status: 302 },
  'GET /api/auth/idp-b web': { status: 302 },
  'GET /api/auth/idp-b/callback web': { status: 302 },
  'POST /api/auth/idp-b/risc web': { status: 400 },
  'POST /api/auth/login web': {
    names: EMAIL,
    status: 401,
    foreign: 401,
    missing: 401,
    body: ({ id }) => ({ email: id, password: 'wrong horse' }),
    writes: true,
  },
  'GET /api/auth/nonce web': { status: 200, writes: true },
  'POST /api/auth/nonce web': reached,
  'GET /api/auth/providers web': reached,
  'POST /api/auth/reset-password web': { status: 400, body: () => ({ token: 'unknown', password: PASSWORD }) },
  'GET /api/auth/session web': reached,
  'DELETE /api/auth/sessions web': reached,
  'GET /api/auth/sessions web': reached,
  'DELETE /api/auth/sessions/:id web': { names: SESSION, status: 200 },
  'POST /api/auth/signout web': reached,
  'GET /api/auth/social-id/refresh web': reached,
  'POST /api/auth/social-id/refresh web': { status: 401, body: () => ({ refreshToken: 'unknown' }) },
  'GET /api/auth/social-id/verify web': reached,
  'POST /api/auth/social-id/verify web': { status: 401, body: () => ({}) },
  'GET /api/auth/token-gating/verify web': { status: 400 },
  'POST /api/auth/token-gating/verify web': { status: 400, body: () => ({}) },
  'POST /api/auth/two-factor web': { status: 401, body: () => CODE },
  'POST /api/auth/verify-email web': { status: 400, body: () => ({ token: 'unknown' }) },
  'POST /api/auth/verify-email/send web': { status: 200 },
  'GET /api/chat web': {
    names: AGENT,
    status: 200,
    foreign: 200,
    missing: 200,
    path: (id) => `/api/chat?agentId=${id}`,
  },
  'POST /api/chat web': { names: AGENT, status: 200, body: ({ id }) => ({ agentId: id, message: 'Hi' }) },
  'POST /api/chat/attachments web': {
    names: AGENT,
    status: 201,
    path: (id) => `/api/chat/attachments?agentId=${id}&name=hi.json`,
    body: () => ({ hello: 'there' }),
  },
  'GET /api/chat/search web': { status: 200, path: () => '/api/chat/search?q=hello' },
  'GET /api/chat/sessions web': reached,
  'POST /api/chat/sessions web': { names: AGENT, status: 201, body: ({ id }) => ({ agentId: id }) },
  'PATCH /api/chat/sessions/:id web': { names: CONVERSATION, status: 200, body: () => ({ title: 'Tea' }) },
  'DELETE /api/chat/sessions/:id web': { names: CONVERSATION, status: 200 },
  'GET /api/chat/turns web': reached,
  'GET /api/chat/turns/:id web': { names: TURN, status: 200 },
  // The turn has already ended.
  'GET /api/chat/turns/:id/events web': { names: TURN, status: 200 },
  'POST /api/chat/turns/:id/stop web': { names: TURN, status: 200 },
  'GET /api/billing web': reached,
  'POST /api/billing web': { status: 200, body: () => ({ action: 'get-usage' }) },
  'GET /api/credits web': reached,
  'GET /api/payments/checkout web': { status: 400, acts: true },
  'GET /api/payments/credits web': { status: 400, acts: true },
  // Card payments are not configured.
  'POST /api/payments/storage-upgrade web': { status: 503 },
  'POST /api/webhooks/stripe web': { status: 503, body: () => ({}) },
  'GET /api/receipts web': reached,
  'GET /api/v1/gateway web': reached,
  // The request names no plugin.
  'POST /api/v1/gateway web': { status: 502, acts: true, body: () => ({}) },
  'GET /api/receipts/:id web': { status: 404 },
  'GET /api/ledger web': reached,
  'GET /api/ledger/export web': reached,
  'GET /api/dashboard/cost web': reached,
  'GET /api/demo/chat web': reached,
  // The offline model is not part of the demo.
  'POST /api/demo/chat web': { status: 503, body: () => ({ message: 'Hi' }) },
  'GET /api/me/usage web': reached,
  'GET /api/requests web': reached,
  'GET /api/requests/:generationId web': { names: REQUEST, path: (id) => `/api/requests/${id}`, status: 200 },
  'DELETE /api/requests/:generationId/bodies web': {
    names: REQUEST,
    path: (id) => `/api/requests/${id}/bodies`,
    status: 200,
  },
  'DELETE /api/requests/bodies web': { status: 200 },
  'GET /api/usage/anomalies web': reached,
  'GET /api/usage/by-day web': reached,
  'GET /api/usage/reconciliation web': reached,
  'GET /api/usage/calls web': reached,
  'GET /api/usage/export web': reached,
  'GET /api/feeds web': reached,
  'GET /api/health web': reached,
  'GET /api/installations web': reached,
  'GET /api/installations/address web': reached,
  'POST /api/installations/pairing-codes web': { status: 201 },
  'DELETE /api/installations/:id web': { names: INSTALLATION, status: 200 },
  'GET /api/instance/:userId web': instance(''),
  'POST /api/instance/:userId/repair web': instance('/repair'),
  'POST /api/instance/:userId/reset-memory web': instance('/reset-memory'),
  'POST /api/instance/:userId/restart web': instance('/restart'),
  'POST /api/instance/:userId/start web': instance('/start'),
  'GET /api/instance/:userId/stats web': instance('/stats'),
  'POST /api/instance/:userId/stop web': instance('/stop'),
  'GET /api/instance/:userId/token web': { ...TOKEN, ...instance('/token') },
  'POST /api/instance/:userId/update web': instance('/update'),
  'GET /api/logs/:agentId/history web': logs('history'),
  'POST /api/logs/:agentId/stop web': logs('stop'),
  'GET /api/logs/:agentId/stream web': logs('stream'),
  'GET /api/logs/active web': reached,
  'GET /api/metrics web': reached,
  'DELETE /api/heartbeat web': { status: 200, body: () => ({}) },
  'GET /api/heartbeat web': reached,
  'POST /api/heartbeat web': { names: AGENT, status: 200, body: ({ id }) => ({ agentId: id, enabled: true }) },
  'GET /api/notices web': reached,
  'GET /api/notices/settings web': reached,
  'PUT /api/notices/settings web': { status: 200, body: () => ({ resendMinutes: 60 }) },
  'GET /api/notices/channels web': reached,
  // Tests cannot reach the address, so it is not saved.
  'POST /api/notices/channels web': { status: 400, body: () => ({ kind: 'discord', url: 'https://discord.invalid/' }) },
  'PATCH /api/notices/channels/:id web': { names: CHANNEL, status: 200, body: () => ({ name: 'Team' }) },
  'POST /api/notices/channels/:id/test web': { names: CHANNEL, status: 200 },
  'DELETE /api/notices/channels/:id web': { names: CHANNEL, status: 200 },
  'GET /api/agents/:id/egress web': { names: AGENT, status: 200 },
  'GET /api/agents/:id/egress/blocked web': { names: AGENT, status: 200 },
  'PUT /api/agents/:id/egress web': { names: AGENT, status: 200, body: () => ({ policy: 'open' }) },
  'POST /api/agents/:id/egress/allow web': {
    names: AGENT,
    status: 200,
    body: () => ({ destination: 'api.example.com' }),
  },
  'GET /api/agents/:id/breaker web': { names: AGENT, status: 200 },
  'PUT /api/agents/:id/breaker web': { names: AGENT, status: 200, body: () => ({ tokensPerDay: 1000 }) },
  'POST /api/agents/:id/pause web': { names: AGENT, status: 200 },
  'POST /api/agents/:id/resume web': { names: AGENT, status: 200 },
  'GET /api/pause web': reached,
  'PUT /api/pause web': { status: 200, body: () => ({ paused: true }) },
  'GET /api/admin/pause web': reached,
  'PUT /api/admin/pause web': { status: 200, body: () => ({ paused: true }) },
  'GET /api/keys web': reached,
  'POST /api/keys web': { status: 201, body: () => ({ name: 'laptop' }) },
  'DELETE /api/keys/:id web': { names: KEY, status: 200 },
  'GET /api/keys/:id web': { names: KEY, status: 200 },
  'GET /api/keys/:id/usage web': { names: KEY, status: 200 },
  'PATCH /api/keys/:id web': { names: KEY, status: 200, body: () => ({ disabled: true }) },
  'POST /api/keys/:id/rotate web': { names: KEY, status: 201, body: () => ({}) },
  'POST /api/keys/validate web': { status: 401, body: () => ({ apiKey: `sk_${'b'.repeat(43)}` }) },
  'DELETE /api/memory web': { names: AGENT, status: 200, path: (id) => `/api/memory?agentId=${id}&key=likes` },
  'GET /api/memory web': { names: AGENT, status: 200, path: (id) => `/api/memory?agentId=${id}` },
  'POST /api/memory web': { names: AGENT, status: 200, body: ({ id }) => ({ agentId: id, key: 'a', memory: 1 }) },
  'GET /api/memory/export web': reached,
  'POST /api/memory/import web': {
    names: AGENT,
    status: 200,
    body: ({ id }) => ({ agentId: id, files: [{ path: 'USER.md', text: 'x' }] }),
  },
  'GET /api/models web': reached,
  'POST /api/ai/chat web': { status: 200, body: () => QUESTION },
  'GET /api/ai/health web': reached,
  'GET /api/ai/models web': reached,
  'GET /api/ai/models/:provider web': { status: 200, path: () => '/api/ai/models/local' },
  'POST /api/provision web': { status: 200, body: () => ({ autoProvision: true }) },
  'POST /api/register web': { status: 200, body: () => ({ email: 'new@example.com', password: PASSWORD }) },
  // The world already has accounts.
  'GET /api/served web': { status: 400 },
  'GET /api/setup web': reached,
  'POST /api/setup web': {
    status: 409,
    body: () => ({ token: 'unknown', email: 'new@example.com', password: PASSWORD }),
  },
  'DELETE /api/scheduled-tasks web': { names: TASK, status: 200, body: ({ id }) => ({ taskId: id }) },
  'GET /api/scheduled-tasks web': reached,
  'POST /api/scheduled-tasks web': {
    names: AGENT,
    status: 201,
    body: ({ id }) => ({ name: 'News', cronSchedule: '0 9 * * *', prompt: 'Read the news', agentId: id }),
  },
  'PUT /api/scheduled-tasks web': { names: TASK, status: 200, body: ({ id }) => ({ taskId: id, name: 'Mail' }) },
  'POST /api/scheduled-tasks/:id/run web': { names: TASK, status: 202 },
  'GET /api/scheduled-tasks/:id/runs web': { names: TASK, status: 200 },
  'GET /api/security/risc web': reached,
  'POST /api/security/risc web': { status: 400 },
  'GET /api/settings web': reached,
  'PATCH /api/settings web': { status: 200, body: () => ({ notifications: { weekly: true } }) },
  'POST /api/settings web': { status: 200, body: () => ({ name: 'Bo' }) },
  'DELETE /api/settings/account web': {
    names: EMAIL,
    status: 200,
    foreign: 400,
    missing: 400,
    body: ({ id }) => ({ confirm: id, password: PASSWORD }),
  },
  'GET /api/settings/export web': reached,
  'POST /api/settings/password web': {
    status: 200,
    body: () => ({ currentPassword: PASSWORD, newPassword: 'another battery staple' }),
  },
  'GET /api/settings/referrals web': reached,
  'GET /api/settings/two-factor web': reached,
  'POST /api/settings/two-factor/disable web': { status: 409, body: () => ({ ...CODE, password: PASSWORD }) },
  'POST /api/settings/two-factor/enable web': { status: 400, body: () => CODE },
  'POST /api/settings/two-factor/recovery-codes web': { status: 409, body: () => CODE },
  'POST /api/settings/two-factor/setup web': { status: 200, body: () => ({ password: PASSWORD }) },
  'POST /api/watchdog/test web': { status: 503 },
  'GET /api/colony/status web': reached,
  'GET /api/mission-control/fleet/bookings web': reached,
  'GET /api/mission-control/fleet/costs web': reached,
  'GET /api/mission-control/fleet/graph web': reached,
  'GET /api/mission-control/fleet/traces web': reached,
  'GET /api/swarms web': reached,
  'POST /api/swarms web': { names: AGENT, status: 201, body: ({ id }) => ({ name: 'Pair', agents: [id] }) },
  'DELETE /api/swarms/:id web': { names: SWARM, status: 200 },
  'GET /api/swarms/:id web': { names: SWARM, status: 200 },
  'PATCH /api/swarms/:id web': { names: SWARM, status: 200, body: () => ({ name: 'Trio' }) },
  'POST /api/swarms/:id/run web': { names: SWARM, status: 202, body: () => ({ task: 'Think' }) },
  'GET /api/swarms/:id/runs web': { names: SWARM, status: 200 },
  'GET /api/swarms/:id/runs/:runId web': { names: RUN, status: 200, path: toRunPath },
  'POST /api/swarms/:id/runs/:runId/cancel web': {
    names: RUN,
    status: 200,
    path: (id) => `${toRunPath(id)}/cancel`,
  },
  'GET /api/inbox web': { names: AGENT, status: 200, path: (id) => `/api/inbox?agentId=${id}` },
  'GET /api/agents/:id/instructions web': { names: AGENT, status: 200 },
  'PUT /api/agents/:id/instructions web': { names: AGENT, status: 200, body: () => ({ text: 'x' }) },
  'GET /api/agents/:id/mcp-servers web': { names: AGENT, status: 200 },
  'POST /api/agents/:id/mcp-servers web': {
    names: AGENT,
    status: 201,
    body: () => ({ name: 'tides', url: 'https://mcp.example/' }),
  },
  'PATCH /api/agents/:id/mcp-servers/:serverId web': {
    names: MCP_SERVER,
    path: (id) => `/api/agents/${agentOf(id)}/mcp-servers/${id}`,
    status: 200,
    body: () => ({ enabled: false }),
  },
  'DELETE /api/agents/:id/mcp-servers/:serverId web': {
    names: MCP_SERVER,
    path: (id) => `/api/agents/${agentOf(id)}/mcp-servers/${id}`,
    status: 200,
  },
  'GET /api/agents/:id/mcp-servers/:serverId/tools web': {
    names: MCP_SERVER,
    path: (id) => `/api/agents/${agentOf(id)}/mcp-servers/${id}/tools`,
    status: 502,
  },
  'POST /api/agents/:id/mcp-servers/:serverId/try web': {
    names: MCP_SERVER,
    path: (id) => `/api/agents/${agentOf(id)}/mcp-servers/${id}/try`,
    status: 502,
    body: () => ({ tool: 'x' }),
  },
  'POST /api/agents/:id/mcp-servers/:serverId/authorization web': {
    names: MCP_SERVER,
    path: (id) => `/api/agents/${agentOf(id)}/mcp-servers/${id}/authorization`,
    status: 502,
    body: () => ({}),
  },
  // No MCP server of the matrix is connected.
  'DELETE /api/agents/:id/mcp-servers/:serverId/authorization web': {
    names: MCP_SERVER,
    path: (id) => `/api/agents/${agentOf(id)}/mcp-servers/${id}/authorization`,
    status: 404,
  },
  'GET /api/agents/:id/injection-tests web': { names: AGENT, status: 200 },
  'POST /api/agents/:id/injection-tests web': { names: AGENT, status: 202 },
  'GET /api/agents/:id/injection-tests/:testId web': {
    names: AGENT,
    path: (id) => `/api/agents/${id}/injection-tests/tst_missing`,
    status: 404,
  },
  'GET /api/mcp/callback web': { status: 302 },
  'GET /api/mcp/directory web': reached,
  'GET /api/agents/:id/tools web': { names: AGENT, status: 200 },
  'PUT /api/agents/:id/tools web': { names: AGENT, status: 200, body: () => ({ profile: 'minimal' }) },
  // Every accepted key reaches the protocol handler, which rejects the missing `Accept` header.
  'POST /mcp web': { status: 406, body: () => ({}), refusal: (status) => (status === 403 ? 406 : status) },
  'GET /mcp web': { status: 405 },
  'DELETE /mcp web': { status: 405, refusal: (status) => (status === 403 ? 405 : status) },
  'GET /api/approvals web': { names: AGENT, status: 200, path: (id) => `/api/approvals?agentId=${id}` },
  'POST /api/approvals/:id/approve web': { names: APPROVAL, status: 200 },
  'POST /api/approvals/:id/deny web': { names: APPROVAL, status: 200 },
  'GET /api/radio/live web': reached,
  'GET /api/radio/streams web': reached,
  'POST /api/radio/streams web': { status: 403, body: () => ({ wallet: `0x${'ab'.repeat(20)}` }) },
  'DELETE /api/radio/streams/:id web': { names: STREAM, status: 200 },
  'POST /api/generate-video web': {
    status: 503,
    body: () => ({ type: 'demo', agentName: 'Ada', agentDescription: 'Answers' }),
  },
  'GET /api/videos web': reached,
  'GET /api/videos/:id web': { names: VIDEO, status: 202 },
  'POST /api/webhooks/agents/:id web': { status: 401, path: () => '/api/webhooks/agents/nobody' },
  'POST /api/webhooks/email web': { status: 503 },
  'POST /api/webhooks/video web': { status: 503 },
  'POST /api/wallet-auth web': { status: 400, body: () => ({}) },
  'POST /api/wallet/fetch web': {
    names: AGENT,
    status: 503,
    body: ({ id }) => ({ agentId: id, url: 'http://127.0.0.1:1' }),
  },
  'GET /api/x402 web': reached,
  'POST /api/x402 web': { status: 200, body: () => ({ action: 'endpoints' }) },
  'GET /api/wallet web': { status: forKnownCallers },
  'POST /api/wallet web': { names: AGENT, status: 200, body: ({ id }) => ({ action: 'get_seed', agentId: id }) },
  'GET /api/wallet/address web': { status: forKnownCallers },
  'POST /api/wallet/address web': { status: whoActs },
  'GET /api/wallet/cdp web': reached,
  'POST /api/wallet/cdp web': { names: AGENT, status: 200, body: ({ id }) => ({ agentId: id }) },
  'GET /api/wallet/create web': { names: AGENT, status: 200, path: (id) => `/api/wallet/create?agentId=${id}` },
  'POST /api/wallet/create web': {
    names: AGENT,
    status: 200,
    body: ({ id, caller }) => ({ email: caller.user?.email ?? 'nobody@example.com', agentId: id }),
  },
  'GET /api/wallet/list web': reached,
  'GET /api/wallet/payments web': reached,
  'GET /api/wallet/payments/:id web': { names: PAYMENT_ROW, status: 200 },
  'POST /api/wallet/payments/:id/approve web': { names: PAYMENT_ROW, status: 409 },
  'POST /api/wallet/payments/:id/deny web': { names: PAYMENT_ROW, status: 409 },
  'POST /api/wallet/payments/:id/resolve web': {
    names: PAYMENT_ROW,
    status: 409,
    body: () => ({ status: 'failed' }),
  },
  'PATCH /api/wallet/policy web': { names: AGENT, status: 200, body: ({ id }) => ({ agentId: id, perDay: '5' }) },
  'POST /api/wallet/send web': {
    names: AGENT,
    status: 503,
    body: ({ id }) => ({ agentId: id, recipient: `0x${'2'.repeat(40)}`, amount: '1' }),
  },
}

/** Returns the request, without the caller's headers. */
export function toRequest(method: string, body: unknown): RequestInit {
  if (method === 'ALL' || method === 'GET') return { method: 'GET' }
  if (body === undefined) return { method }
  return json(method === 'POST' || method === 'PUT' || method === 'PATCH' ? method : 'DELETE', body)
}
