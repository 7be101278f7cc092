import { Hono } from 'hono'
import { endpoint } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { validate } from '../../../http/validate.ts'
import { ColonyQuery, ColonyStatus } from './schemas.ts'
import { type ColonyStatusDeps, getColonyDiagnostics, getColonySoul, getColonyTree } from './status.ts'

const ACTIONS = { tree: getColonyTree, soul: getColonySoul, diagnostics: getColonyDiagnostics } as const

/** The user's agents in the colony format of the x402 gateway. */
export function colonyWeb(deps: ColonyStatusDeps & { guards: Guards }) {
  const app = new Hono<WebEnv>()
  app.get(
    '/api/colony/status',
    endpoint({
      summary: 'Returns the status of all agents as a colony',
      tag: 'Mission control',
      responses: { 200: ColonyStatus },
    }),
    deps.guards.signedIn,
    validate('query', ColonyQuery),
    async (c) => c.json(await ACTIONS[c.req.valid('query').action](deps, c.var.user)),
  )
  return app
}
