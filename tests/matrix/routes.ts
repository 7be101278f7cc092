import { json } from '../harness/platform.ts'
import type { Caller } from './callers.ts'
import { PASSWORD, type Person } from './world.ts'

/** What a request names: something of the caller’s own, of somebody else, or nothing that exists. */
export type Target = 'own' | 'foreign' | 'missing'

/** A request for a target; `id` is the target’s, `owner` whose it is, null when it is missing. */
type Wanted = { id: string; owner: Person | null; caller: Caller }

/** What happens behind the guard of a route. */
export type Expectation = {
  /** What the path, the query or the body names, and the id of one that is missing. */
  names?: { of: (person: Person) => string; missing: string }
  /** The path in place of the one with `:id`. */
  path?: (id: string) => string
  body?: (wanted: Wanted) => unknown
  /** The status for what is one’s own, or where nothing is named. */
  status: number | ((caller: Caller) => number)
  /** 404 unless it says another; these never change a row. */
  foreign?: number
  missing?: number
  /** Guarded and still told in another status. */
  refusal?: (status: number) => number
  /** What is missing is made. */
  creates?: true
  /** A GET that leaves a row, or a refusal that counts an attempt. Without it a GET and every refusal change nothing. */
  writes?: true
}

const AGENT = { of: (person: Person) => person.agentId, missing: 'agent-missing' }
const KEY = { of: (person: Person) => person.keyId, missing: 'key_missing' }
const SESSION = { of: (person: Person) => person.otherSessionId, missing: '0123456789abcdef' }
const USER = { of: (person: Person) => person.id, missing: 'usr_missing' }
const EMAIL = { of: (person: Person) => person.email, missing: 'missing@example.com' }

const QUESTION = { messages: [{ role: 'user', content: 'Hi' }] }
const CODE = { code: '123456' }
const reached: Expectation = { status: 200 }
const hasCookie = ({ headers }: Caller) => headers.cookie !== undefined

/** Every route of `tests/endpoints.txt`, behind its guard. */
export const ROUTES: Readonly<Record<string, Expectation>> = {
  'GET /api/agents backend': reached,
  'POST /api/agents backend': { status: 201, body: () => ({ name: 'Bo' }) },
  'DELETE /api/agents/:id backend': { names: AGENT, status: 200, foreign: 200, missing: 200 },
  'GET /api/agents/:id backend': { names: AGENT, status: 200 },
  'PUT /api/agents/:id backend': { names: AGENT, status: 200, body: () => ({ plan: 'pro' }) },
  'POST /api/agents/:id/restart backend': { names: AGENT, status: 200 },
  'POST /api/agents/:id/start backend': { names: AGENT, status: 200 },
  'POST /api/agents/:id/stop backend': { names: AGENT, status: 200 },
  'POST /api/ai/chat backend': { status: 200, body: () => QUESTION },
  'GET /api/ai/health backend': reached,
  'GET /api/ai/models backend': reached,
  'GET /api/ai/models/:provider backend': { status: 200, path: () => '/api/ai/models/local' },
  'POST /api/deployments backend': {
    names: AGENT,
    status: 200,
    missing: 201,
    creates: true,
    body: ({ id }) => ({ agentId: id }),
  },
  // Rulings, 1: wrong keys are 401 here.
  'POST /api/invite/generate backend': {
    status: ({ user }) => (user ? 403 : 200),
    refusal: () => 401,
  },
  'POST /api/invite/validate backend': { status: 400, body: () => ({ code: 'WRONG' }) },
  'POST /api/validate-key backend': {
    status: ({ proof }) => (proof === 'key' || proof === 'reading key' ? 200 : 401),
  },
  'GET /health backend': reached,
  'POST /v1/chat/completions backend': { status: 200, body: () => QUESTION },
  'GET /v1/models backend': reached,

  'GET / summarizer': reached,
  'GET /health summarizer': reached,

  'GET /* web': { status: 200, path: () => '/agents' },
  'ALL /api/* web': { status: 404, path: () => '/api/no-such-route' },
  'GET /api/admin/audit web': reached,
  'GET /api/admin/users web': reached,
  'GET /api/admin/users/:id web': { names: USER, status: 200, foreign: 200 },
  'PATCH /api/admin/users/:id web': { names: USER, status: 200, foreign: 200, body: () => ({ credits: 7 }) },
  'DELETE /api/admin/users/:id/sessions web': { names: USER, status: 200, foreign: 200 },
  'GET /api/agents web': reached,
  'DELETE /api/agents/:id web': { names: AGENT, status: 200, foreign: 200, missing: 200 },
  'GET /api/agents/:id web': { names: AGENT, status: 200 },
  'GET /api/agents/:id/events web': { names: AGENT, status: 200 },
  'POST /api/agents/:id/restart web': { names: AGENT, status: 200 },
  'POST /api/agents/:id/start web': { names: AGENT, status: 200 },
  'POST /api/agents/:id/stop web': { names: AGENT, status: 200 },
  'GET /api/agents/provision web': reached,
  'POST /api/agents/provision web': { status: 201, body: () => ({ name: 'Bo' }) },
  'GET /api/auth/challenge web': reached,
  'GET /api/auth/csrf web': { status: (caller) => (hasCookie(caller) ? 200 : 401) },
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
  'GET /api/dashboard/cost web': reached,
  'GET /api/health web': reached,
  'GET /api/keys web': reached,
  'POST /api/keys web': { status: 201, body: () => ({ name: 'laptop' }) },
  'DELETE /api/keys/:id web': { names: KEY, status: 200 },
  'GET /api/keys/:id web': { names: KEY, status: 200 },
  'PATCH /api/keys/:id web': { names: KEY, status: 200, body: () => ({ disabled: true }) },
  'POST /api/keys/:id/rotate web': { names: KEY, status: 201, body: () => ({}) },
  'POST /api/keys/validate web': { status: 401, body: () => ({ apiKey: `sk_${'b'.repeat(43)}` }) },
  'GET /api/models web': reached,
  'POST /api/register web': { status: 200, body: () => ({ email: 'new@example.com', password: PASSWORD }) },
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
  'POST /api/wallet-auth web': { status: 400, body: () => ({}) },
}

/** The request of a cell, without the caller’s headers. */
export function toRequest(method: string, body: unknown): RequestInit {
  if (method === 'ALL' || method === 'GET') return { method: 'GET' }
  if (body === undefined) return { method }
  return json(method === 'POST' || method === 'PUT' || method === 'PATCH' ? method : 'DELETE', body)
}
