import type { ErrorKind } from '../../core/errors.ts'
import type { DeclaredRoute } from './routes.ts'

/** The security schemes a guard accepts, and the errors it throws. */
type Admission = { schemes: readonly string[]; errors: readonly ErrorKind[] }

const BEARERS: Admission = {
  schemes: ['apiKey', 'agentToken', 'internalKey'],
  errors: ['unauthenticated', 'forbidden', 'payment_required'],
}

/** Admissions by guard name. */
const ADMISSIONS: Readonly<Record<string, Admission>> = {
  'signed-in': { schemes: ['session', 'apiKey'], errors: ['unauthenticated', 'forbidden'] },
  session: { schemes: ['session'], errors: ['unauthenticated'] },
  admin: { schemes: ['session'], errors: ['unauthenticated', 'forbidden'] },
  'internal-key': { schemes: ['internalKey'], errors: ['unauthenticated', 'forbidden', 'misconfigured'] },
  'metrics-token': { schemes: ['metricsToken'], errors: ['unauthenticated', 'forbidden'] },
  installer: { schemes: ['apiKey', 'internalKey'], errors: ['unauthenticated', 'forbidden', 'misconfigured'] },
  // Disabled tools are forbidden to the agent.
  'agent-token': { schemes: ['agentToken'], errors: ['unauthenticated', 'forbidden'] },
  bearer: BEARERS,
  'any-bearer': BEARERS,
  'planned-bearer': BEARERS,
}

/** Errors of receiving a body. */
const BODY_ERRORS: readonly ErrorKind[] = ['invalid', 'too_large', 'too_slow', 'unavailable']

/** Returns the alternative security schemes; empty for a public route. @throws Error for an unknown guard. */
export function securityOf(route: DeclaredRoute): Record<string, string[]>[] {
  return admissionsOf(route).flatMap(({ schemes }) => schemes.map((scheme) => ({ [scheme]: [] })))
}

/** Returns every error kind of the route, its guards and its middleware. */
export function errorKindsOf(route: DeclaredRoute): ErrorKind[] {
  const kinds = new Set<ErrorKind>(route.endpoint?.errors)
  const add = (more: readonly ErrorKind[]) => {
    for (const kind of more) kinds.add(kind)
  }
  add(route.errors)
  for (const { errors } of admissionsOf(route)) add(errors)
  if (route.parts.some(({ target }) => target === 'query')) add(['invalid'])
  const isUnsafe = route.method !== 'GET'
  if (isUnsafe) add(BODY_ERRORS.filter((kind) => kind === 'too_large' || hasCheckedBody(route)))
  // CSRF protection of the session cookie.
  if (isUnsafe && route.api === 'web') add(['forbidden'])
  if (isUsersWrite(route)) add(['storage_full'])
  return [...kinds].sort()
}

function hasCheckedBody(route: DeclaredRoute): boolean {
  return route.parts.some(({ target }) => target === 'json')
}

/** Mirrors `refuseWritesOnFullDisk`. */
function isUsersWrite({ method, api, endpoint }: DeclaredRoute): boolean {
  const isWrite = method !== 'GET' && method !== 'DELETE'
  return isWrite && api !== 'summarizer' && !endpoint?.worksOnFullDisk
}

function admissionsOf({ method, path, guards }: DeclaredRoute): Admission[] {
  return guards.map((name) => {
    const admission = ADMISSIONS[name]
    if (!admission) throw new Error(`${method} ${path}: the guard ${name} has no admission`)
    return admission
  })
}
