import type { InternalKeyGuard } from '../../../http/internal-key.ts'
import { browseRoutes } from './routes.ts'
import type { BrowseDeps } from './workspace.ts'

/** Serves workspace files to services with the internal key; `x-user-id` limits them to that user's agents. */
export function browseBackend(deps: BrowseDeps & { internalKey: InternalKeyGuard }) {
  return browseRoutes(deps, { guard: deps.internalKey, credentialsGuard: deps.internalKey })
}
