import { Hono } from 'hono'
import type { Db } from '../../../db/open.ts'
import { endpoint } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { validate } from '../../../http/validate.ts'
import type { UsageRecorder } from '../usage/recorder.ts'
import { CallList, CallQuery } from '../usage/schemas.ts'
import { type BodyLog, deleteAllBodies, deleteBodies } from './bodies.ts'
import { getRequest } from './detail.ts'
import { listCalls, listRequests } from './list.ts'
import { DeletedBodies, RequestDetail, RequestList, RequestQuery } from './schemas.ts'

/** The request log of the signed-in user. */
export function requestsWeb(deps: {
  db: Db
  guards: Pick<Guards, 'signedIn'>
  usage: Pick<UsageRecorder, 'flush'>
  bodyLog: Pick<BodyLog, 'flush'>
}) {
  const app = new Hono<WebEnv>()
  const { signedIn } = deps.guards

  app.get(
    '/api/usage/calls',
    endpoint({ summary: 'Lists your model calls, paged', tag: 'Usage', responses: { 200: CallList } }),
    signedIn,
    validate('query', CallQuery),
    async (c) => {
      await deps.usage.flush()
      return c.json(listCalls(deps.db, c.var.user.id, c.req.valid('query')))
    },
  )

  app.get(
    '/api/requests',
    endpoint({ summary: 'Lists your model requests, paged', tag: 'Usage', responses: { 200: RequestList } }),
    signedIn,
    validate('query', RequestQuery),
    async (c) => {
      await deps.usage.flush()
      return c.json(listRequests(deps.db, c.var.user.id, c.req.valid('query')))
    },
  )

  app.get(
    '/api/requests/:generationId',
    endpoint({
      summary: 'Returns a model request with its attempts and stored bodies',
      tag: 'Usage',
      responses: { 200: RequestDetail },
      errors: ['not_found'],
    }),
    signedIn,
    async (c) => {
      await Promise.all([deps.usage.flush(), deps.bodyLog.flush()])
      return c.json(getRequest(deps.db, c.var.user.id, c.req.param('generationId')))
    },
  )

  app.delete(
    '/api/requests/bodies',
    endpoint({
      summary: 'Deletes all stored bodies of your model requests',
      tag: 'Usage',
      responses: { 200: DeletedBodies },
      worksOnFullDisk: true,
    }),
    signedIn,
    async (c) => {
      await deps.bodyLog.flush()
      return c.json({ deleted: await deleteAllBodies(deps.db, c.var.user.id) })
    },
  )

  app.delete(
    '/api/requests/:generationId/bodies',
    endpoint({
      summary: 'Deletes the stored bodies of a model request',
      tag: 'Usage',
      responses: { 200: DeletedBodies },
      errors: ['not_found'],
      worksOnFullDisk: true,
    }),
    signedIn,
    async (c) => {
      await Promise.all([deps.usage.flush(), deps.bodyLog.flush()])
      return c.json({ deleted: await deleteBodies(deps.db, c.var.user.id, c.req.param('generationId')) })
    },
  )

  return app
}
