import type { Context } from 'hono'
import { createMiddleware } from 'hono/factory'
import { AppError } from '../../../core/errors.ts'
import { describeMiddleware } from '../../../http/endpoint.ts'
import type { BackendEnv, SignedInUser } from '../../../http/env.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { browseRoutes } from './routes.ts'
import type { BrowseDeps } from './workspace.ts'

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
