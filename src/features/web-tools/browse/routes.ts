import { type Context, Hono } from 'hono'
import { createMiddleware } from 'hono/factory'
import { AppError } from '../../../core/errors.ts'
import { describeMiddleware } from '../../../http/endpoint.ts'
import type { BackendEnv, SignedInUser } from '../../../http/env.ts'
import { toAppError } from '../../../http/errors.ts'
import type { InternalKeyGuard } from '../../../http/internal-key.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { fileRoutes } from './file-routes.ts'
import { credentialRoutes, gitRoutes } from './git-routes.ts'
import type { BrowseDeps, BrowseGuard } from './workspace.ts'

/**
 * Middleware that authenticates the caller and sets its principal; `credentialsGuard` protects the routes that accept
 * passwords.
 */
type BrowseGuards = { guard: BrowseGuard; credentialsGuard: BrowseGuard }

/** Registers the file explorer's routes, identical on the web API and the backend API. */
function browseRoutes(deps: BrowseDeps, { guard, credentialsGuard }: BrowseGuards) {
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

/**
 * Serves workspace files to the agent's owner. The workspace that belongs to no agent is for administrators with a
 * session, not for API keys.
 */
export function browseWeb(deps: BrowseDeps & { guards: Pick<Guards, 'findUser' | 'findSession'> }) {
  const { findUser, findSession } = deps.guards
  const asPrincipal = (find: (c: Context) => Promise<SignedInUser | null>) =>
    createMiddleware<BackendEnv>(async (c, next) => {
      const user = await find(c)
      if (!user) throw new AppError('unauthenticated', 'Unauthorized')
      const isAdmin = user.isAdmin && (await findSession(c))?.id === user.id
      c.set('principal', { kind: 'user', user: { ...user, isAdmin } })
      await next()
    })
  return browseRoutes(deps, {
    guard: describeMiddleware(asPrincipal(findUser), { guard: 'signed-in' }),
    credentialsGuard: describeMiddleware(asPrincipal(findSession), { guard: 'session' }),
  })
}

/** Serves workspace files to services with the internal key; `x-user-id` limits them to that user's agents. */
export function browseBackend(deps: BrowseDeps & { internalKey: InternalKeyGuard }) {
  return browseRoutes(deps, { guard: deps.internalKey, credentialsGuard: deps.internalKey })
}
