import { INTERNAL_KEY } from '../harness/platform.ts'
import { bearer } from '../harness/requests.ts'
import type { Person, World } from './world.ts'

/** The kind of credential of a caller, the only input of guards. */
type Proof =
  | 'none'
  | 'session'
  | 'admin session'
  | 'dead session'
  | 'key'
  | 'reading key'
  | 'dead key'
  | 'internal key'
  | 'agent token'
  | 'wrong bearer'

/** A caller. `user` is the account; null for an anonymous caller and the operator. */
export type Caller = { name: string; proof: Proof; user: Person | null; headers: Record<string, string> }

/** Returns all callers of the matrix. */
export function listCallers({ people }: World): Caller[] {
  const { owner, stranger, admin, closed } = people
  const cookie = (token: string) => ({ cookie: `service-session=${token}` })
  const lies = {
    'x-user-id': admin.id,
    'x-user-email': admin.email,
    'x-user-role': 'admin',
    'x-user-plan': 'network',
    'x-billing-subscription-id': 'sub_1',
  }
  return [
    { name: 'nobody', proof: 'none', user: null, headers: {} },
    { name: 'nobody with an admin’s headers', proof: 'none', user: null, headers: lies },
    { name: 'owner', proof: 'session', user: owner, headers: cookie(owner.session) },
    {
      name: 'owner with an admin’s headers',
      proof: 'session',
      user: owner,
      headers: { ...lies, ...cookie(owner.session) },
    },
    { name: 'stranger', proof: 'session', user: stranger, headers: cookie(stranger.session) },
    { name: 'admin', proof: 'admin session', user: admin, headers: cookie(admin.session) },
    { name: 'ended session', proof: 'dead session', user: null, headers: cookie(owner.endedSession) },
    { name: 'closed account’s session', proof: 'dead session', user: null, headers: cookie(closed.session) },
    { name: 'owner’s key', proof: 'key', user: owner, headers: bearer(owner.key) },
    { name: 'stranger’s key', proof: 'key', user: stranger, headers: bearer(stranger.key) },
    {
      name: 'stranger’s key with an admin’s headers',
      proof: 'key',
      user: stranger,
      headers: { ...lies, ...bearer(stranger.key) },
    },
    { name: 'admin’s key', proof: 'key', user: admin, headers: bearer(admin.key) },
    { name: 'owner’s reading key', proof: 'reading key', user: owner, headers: bearer(owner.readingKey) },
    { name: 'closed account’s key', proof: 'dead key', user: null, headers: bearer(closed.key) },
    { name: 'unknown key', proof: 'dead key', user: null, headers: bearer(`sk_${'a'.repeat(43)}`) },
    { name: 'internal key', proof: 'internal key', user: null, headers: bearer(INTERNAL_KEY) },
    {
      name: 'internal key for the owner',
      proof: 'internal key',
      user: owner,
      headers: { ...bearer(INTERNAL_KEY), 'x-user-id': owner.id },
    },
    {
      name: 'internal key for the stranger',
      proof: 'internal key',
      user: stranger,
      headers: { ...bearer(INTERNAL_KEY), 'x-user-id': stranger.id },
    },
    { name: 'owner’s agent', proof: 'agent token', user: owner, headers: bearer(owner.agentToken) },
    { name: 'stranger’s agent', proof: 'agent token', user: stranger, headers: bearer(stranger.agentToken) },
    { name: 'wrong internal key', proof: 'wrong bearer', user: null, headers: bearer(`${INTERNAL_KEY}0`) },
  ]
}

/** The status a guard responds with; null when it accepts the caller. */
export const GUARDS: Readonly<Record<string, (caller: Caller, method: string) => number | null>> = {
  public: () => null,
  session: ({ proof }) => (isSignedIn(proof) ? null : 401),
  'signed-in': ({ proof }, method) => {
    if (isSignedIn(proof) || proof === 'key') return null
    if (proof === 'reading key') return method === 'GET' ? null : 403
    return 401
  },
  admin: ({ proof }) => {
    if (proof === 'admin session') return null
    return proof === 'session' ? 403 : 401
  },
  'internal-key': ({ proof }) => {
    if (proof === 'internal key') return null
    return bringsBearer(proof) ? 403 : 401
  },
  'metrics-token': ({ proof }) => (bringsBearer(proof) ? 403 : 401),
  installer: ({ proof }) => {
    if (proof === 'key' || proof === 'internal key') return null
    if (proof === 'dead key') return 401
    return bringsBearer(proof) ? 403 : 401
  },
  bearer: ({ proof }) => {
    if (proof === 'key' || proof === 'agent token') return null
    // The internal key has a plan only if its headers name one.
    if (proof === 'internal key') return 402
    return proof === 'reading key' ? 403 : 401
  },
  'unplanned-bearer': ({ proof }) => {
    if (proof === 'key' || proof === 'agent token' || proof === 'internal key') return null
    return proof === 'reading key' ? 403 : 401
  },
  'agent-token': ({ proof }) => (proof === 'agent token' ? null : 401),
  // No caller has the token of a machine.
  machine: () => 401,
  'machine-or-owner': ({ proof }) => {
    if (proof === 'key') return null
    return proof === 'reading key' ? 403 : 401
  },
  'any-bearer': ({ proof }) => {
    if (proof === 'key' || proof === 'agent token' || proof === 'internal key') return null
    return proof === 'reading key' || proof === 'wrong bearer' ? 403 : 401
  },
  'planned-bearer': ({ proof, headers }) => {
    if (proof === 'key' || proof === 'agent token') return null
    if (proof === 'reading key') return 403
    // A missing plan is reported before a missing bearer token.
    return headers['x-user-plan'] ? 401 : 402
  },
}

function isSignedIn(proof: Proof): boolean {
  return proof === 'session' || proof === 'admin session'
}

function bringsBearer(proof: Proof): boolean {
  return !['none', 'session', 'admin session', 'dead session'].includes(proof)
}
