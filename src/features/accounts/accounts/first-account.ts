import { createMiddleware } from 'hono/factory'
import { AppError } from '../../../core/errors.ts'
import type { Db } from '../../../db/open.ts'
import { isForwarded, isLocalName, isLoopback } from '../../../http/address.ts'
import { describeMiddleware } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import { hasAccounts, type SignUp } from './register.ts'

export type FirstAccountDeps = { db: Db; signUp: Pick<SignUp, 'firstUserOwnsHouse'>; appUrl: string }

/**
 * At home the first account owns the house. Until there is one, only somebody at this very machine may make it without the
 * setup link: whoever reaches an open port first must not become the owner (decisions, 44).
 * @throws AppError `forbidden` with code `SETUP_REQUIRED`.
 */
export function requireOwnerSetUp(deps: FirstAccountDeps) {
  const middleware = createMiddleware<WebEnv>(async (c, next) => {
    const isFree = !deps.signUp.firstUserOwnsHouse || hasAccounts(deps.db)
    if (!isFree && !isAtThisMachine(c.req.raw, c.env.address, deps.appUrl)) {
      throw new AppError('forbidden', 'Stead is not set up yet: open the setup link that its start has printed', {
        code: 'SETUP_REQUIRED',
      })
    }
    await next()
  })
  return describeMiddleware(middleware, { errors: ['forbidden'] })
}

/**
 * Does the request come from this machine, under a name of this machine, to a Stead that has no other name? Behind a proxy
 * that tells nothing of itself, `APP_URL` says that there is one.
 */
function isAtThisMachine(request: Request, address: string | null, appUrl: string): boolean {
  if (isForwarded(request.headers)) return false
  const names = [new URL(request.url).hostname, new URL(appUrl).hostname]
  return isLoopback(address ?? '') && names.every(isLocalName)
}
