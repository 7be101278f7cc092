import type { Guards } from '../../../http/session.ts'
import type { LifecycleDeps } from './lifecycle.ts'
import { lifecycleRoutes } from './lifecycle-routes.ts'

/** What owners can do to their agents. */
export function lifecycleWeb(deps: LifecycleDeps & { guards: Pick<Guards, 'owner'> }) {
  return lifecycleRoutes(deps, { guard: deps.guards.owner, toStatus: (status) => status })
}
