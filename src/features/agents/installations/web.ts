import { Hono } from 'hono'
import type { Log } from '../../../core/log.ts'
import type { Db } from '../../../db/open.ts'
import { Done, endpoint } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { sendPieces } from '../../../http/streams/send-pieces.ts'
import { BackendAddress, Installations } from './schemas.ts'
import { deleteInstallation, listInstallations } from './service.ts'

/** Installation routes of the web API: own machines only. */
export function installationsWeb(deps: { db: Db; log: Log; guards: Guards; backendPort: number }) {
  const app = new Hono<WebEnv>()
  const { signedIn } = deps.guards

  app.get(
    '/api/installations',
    endpoint({ summary: 'Lists registered machines', tag: 'Machines', responses: { 200: Installations } }),
    signedIn,
    (c) => {
      const pieces = listInstallations(deps.db, { kind: 'user', user: c.var.user })
      return sendPieces(c, deps, { type: 'application/json', pieces })
    },
  )

  app.get(
    '/api/installations/address',
    endpoint({ summary: 'Returns the backend port', tag: 'Machines', responses: { 200: BackendAddress } }),
    signedIn,
    (c) => c.json({ port: deps.backendPort }),
  )

  app.delete(
    '/api/installations/:id',
    endpoint({
      summary: 'Removes a machine',
      tag: 'Machines',
      responses: { 200: Done },
      errors: ['not_found'],
      scope: 'agents',
    }),
    signedIn,
    async (c) => {
      await deleteInstallation(deps.db, c.var.user.id, c.req.param('id'))
      return c.json({ success: true })
    },
  )

  return app
}
