import { Hono } from 'hono'
import { AppError } from '../../../core/errors.ts'
import type { BackendEnv } from '../../../http/env.ts'
import { toAppError } from '../../../http/errors.ts'
import { fileRoutes } from './file-routes.ts'
import { credentialRoutes, gitRoutes } from './git-routes.ts'
import type { BrowseDeps, BrowseGuard } from './workspace.ts'

/**
 * Middleware that authenticates the caller and sets its principal; `credentialsGuard` protects the routes that accept
 * passwords.
 */
export type BrowseGuards = { guard: BrowseGuard; credentialsGuard: BrowseGuard }

/** Registers the file explorer's routes, identical on the web API and the backend API. */
export function browseRoutes(deps: BrowseDeps, { guard, credentialsGuard }: BrowseGuards) {
  const app = new Hono<BackendEnv>()
  if (!deps.plannedEndpoints) return app
  // Adds `ok: false` to the error body; the outermost handler logs the error and sends it.
  app.onError((error) => {
    const { kind, message, extra } = toAppError(error)
    throw new AppError(kind, message, { ok: false, ...extra }, { cause: error })
  })

  app.route('/', fileRoutes(deps, guard))
  app.route('/', gitRoutes(deps, guard))
  app.route('/', credentialRoutes(deps, credentialsGuard))
  return app
}
