import { Hono } from 'hono'
import { AppError } from '../../../core/errors.ts'
import type { BackendEnv } from '../../../http/env.ts'
import { toAppError } from '../../../http/errors.ts'
import { fileRoutes } from './file-routes.ts'
import { credentialRoutes, gitRoutes } from './git-routes.ts'
import type { BrowseDeps, BrowseGuard } from './workspace.ts'

/** Who is let in; behind both it is known on whose behalf. `credentialsGuard` is that of routes that take passwords. */
export type BrowseGuards = { guard: BrowseGuard; credentialsGuard: BrowseGuard }

/** The file explorer (Interface 4.12, planned) and what the dashboard adds to it, the same on both faces. */
export function browseRoutes(deps: BrowseDeps, { guard, credentialsGuard }: BrowseGuards) {
  const app = new Hono<BackendEnv>()
  if (!deps.plannedEndpoints) return app
  // The outermost handler answers and logs; here every answer says whether it is fine.
  app.onError((error) => {
    const { kind, message, extra } = toAppError(error)
    throw new AppError(kind, message, { ok: false, ...extra }, { cause: error })
  })

  app.route('/', fileRoutes(deps, guard))
  app.route('/', gitRoutes(deps, guard))
  app.route('/', credentialRoutes(deps, credentialsGuard))
  return app
}
