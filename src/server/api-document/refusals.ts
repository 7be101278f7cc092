import type { ErrorKind } from '../../core/errors.ts'
import type { DeclaredRoute } from './routes.ts'

/** Who a guard lets in, by the names of the security schemes, and how it refuses others. */
type Admission = { schemes: readonly string[]; errors: readonly ErrorKind[] }

const BEARERS: Admission = {
  schemes: ['apiKey', 'agentToken', 'internalKey'],
  errors: ['unauthenticated', 'forbidden', 'payment_required'],
}

/** By the names that guards are labelled with. */
const ADMISSIONS: Readonly<Record<string, Admission>> = {
  'signed-in': { schemes: ['session', 'apiKey'], errors: ['unauthenticated', 'forbidden'] },
  session: { schemes: ['session'], errors: ['unauthenticated'] },
  admin: { schemes: ['session'], errors: ['unauthenticated', 'forbidden'] },
  'internal-key': { schemes: ['internalKey'], errors: ['unauthenticated', 'forbidden', 'misconfigured'] },
  'metrics-token': { schemes: ['metricsToken'], errors: ['unauthenticated', 'forbidden'] },
  installer: { schemes: ['apiKey', 'internalKey'], errors: ['unauthenticated', 'forbidden', 'misconfigured'] },
  // Tools that the owner has switched off are refused to the agent.
  'agent-token': { schemes: ['agentToken'], errors: ['unauthenticated', 'forbidden'] },
  bearer: BEARERS,
  'any-bearer': BEARERS,
  'planned-bearer': BEARERS,
}

/** A body that is received may be too large, too slow, or one too many. */
const BODY_ERRORS: readonly ErrorKind[] = ['invalid', 'too_large', 'too_slow', 'unavailable']

/** Ways in, any of which is enough; none for a public route. @throws Error for a guard that nobody has described. */
export function securityOf(route: DeclaredRoute): Record<string, string[]>[] {
  return admissionsOf(route).flatMap(({ schemes }) => schemes.map((scheme) => ({ [scheme]: [] })))
}

/** Every kind of error that the route, its guards and the checks before it may answer with. */
export function errorKindsOf(route: DeclaredRoute): ErrorKind[] {
  const kinds = new Set<ErrorKind>(route.answers?.errors)
  const add = (more: readonly ErrorKind[]) => {
    for (const kind of more) kinds.add(kind)
  }
  add(route.refusals)
  for (const { errors } of admissionsOf(route)) add(errors)
  if (route.parts.some(({ target }) => target === 'query')) add(['invalid'])
  const isUnsafe = route.method !== 'GET'
  if (isUnsafe) add(BODY_ERRORS.filter((kind) => kind === 'too_large' || hasCheckedBody(route)))
  // A page of somebody else's may not use the cookie.
  if (isUnsafe && route.face === 'web') add(['forbidden'])
  if (isUsersWrite(route)) add(['storage_full'])
  return [...kinds].sort()
}

function hasCheckedBody(route: DeclaredRoute): boolean {
  return route.parts.some(({ target }) => target === 'json')
}

/** As `refuseWritesOnFullDisk` sees it. */
function isUsersWrite({ method, face, traits }: DeclaredRoute): boolean {
  const isWrite = method !== 'GET' && method !== 'DELETE'
  return isWrite && face !== 'summarizer' && !traits.some(({ worksOnFullDisk }) => worksOnFullDisk)
}

function admissionsOf({ method, path, guards }: DeclaredRoute): Admission[] {
  return guards.map((name) => {
    const admission = ADMISSIONS[name]
    if (!admission) throw new Error(`${method} ${path}: nobody has described the guard ${name}`)
    return admission
  })
}
