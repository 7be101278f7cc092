import { Hono } from 'hono'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import type { Db } from '../../../db/open.ts'
import { endpoint } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { validate } from '../../../http/validate.ts'
import type { Enqueue } from '../../../jobs/queue.ts'
import { listDeadLetters, listSentMessages, replayDeadLetter } from './delivery.ts'
import { BusMessageQuery, MessagePage, ReplayedMessage } from './schemas.ts'

export type BusWebDeps = { db: Db; clock: Clock; guards: Guards; enqueue: Enqueue }

/** What has become of agents' messages: for their owner, and for admins those that cannot be delivered. */
export function busWeb(deps: BusWebDeps) {
  const app = new Hono<WebEnv>()
  const { signedIn, admin } = deps.guards

  app.get(
    '/api/underground/bus/messages',
    endpoint({ summary: 'Lists messages your agents sent', tag: 'Agent economy', responses: { 200: MessagePage } }),
    signedIn,
    validate('query', BusMessageQuery),
    (c) => c.json(listSentMessages(deps.db, c.var.user.id, c.req.valid('query'))),
  )

  app.get(
    '/api/admin/bus/dead-letters',
    endpoint({
      summary: 'Lists messages that could not be delivered',
      tag: 'Agent economy',
      responses: { 200: MessagePage },
    }),
    admin,
    validate('query', BusMessageQuery),
    (c) => c.json(listDeadLetters(deps.db, c.req.valid('query'))),
  )

  app.post(
    '/api/admin/bus/dead-letters/:id/replay',
    endpoint({
      summary: 'Redelivers a dead letter',
      tag: 'Agent economy',
      responses: { 200: ReplayedMessage },
      errors: ['not_found'],
      worksOnFullDisk: true,
    }),
    admin,
    async (c) => {
      const caller = { id: c.var.user.id, address: c.env.address }
      return c.json({ message: await replayDeadLetter(deps, caller, toNumber(c.req.param('id'))) })
    },
  )

  return app
}

function toNumber(id: string): number {
  if (!/^\d{1,15}$/.test(id)) throw new AppError('not_found', 'Dead letter not found')
  return Number(id)
}
