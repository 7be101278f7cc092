import type { InternalKeyGuard } from '../../../http/internal-key.ts'
import { toBackendStatus } from '../registry/status.ts'
import type { LifecycleDeps } from './lifecycle.ts'
import { lifecycleRoutes } from './lifecycle-routes.ts'

/** What services can do to agents. */
export function lifecycleBackend(deps: LifecycleDeps & { internalKey: InternalKeyGuard }) {
  return lifecycleRoutes(deps, { guard: deps.internalKey, toStatus: toBackendStatus })
}
