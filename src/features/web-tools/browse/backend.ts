import type { InternalKeyGuard } from '../../../http/internal-key.ts'
import { browseRoutes } from './routes.ts'
import type { BrowseDeps } from './workspace.ts'

/** Files as services reach them: behind the internal key; with `x-user-id`, that user's own agents (Interface 4.12, planned). */
export function browseBackend(deps: BrowseDeps & { internalKey: InternalKeyGuard }) {
  return browseRoutes(deps, { guard: deps.internalKey, credentialsGuard: deps.internalKey })
}
