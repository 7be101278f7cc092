import { Hono, type MiddlewareHandler } from 'hono'
import { AppError } from '../../../core/errors.ts'
import { endpoint } from '../../../http/endpoint.ts'
import type { BackendEnv, WebEnv } from '../../../http/env.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { validate } from '../../../http/validate.ts'
import { type AgentCallerEnv, type CallerFinder, requireAgent } from '../../ai/gateway/callers.ts'
import type { Base } from '../../base.ts'
import { listDeadLetters, listSentMessages, replayDeadLetter } from './delivery.ts'
import { createEvent, listEvents, toEvent } from './events.ts'
import {
  BusMessage,
  BusMessageQuery,
  BusReceipt,
  CreateEventRequest,
  EventQuery,
  MessagePage,
  OwnMessage,
  ReplayedMessage,
  UndergroundEvent,
  UndergroundEventList,
} from './schemas.ts'
import { type BusSendDeps, createMessageSender, sendOwnMessage } from './send-message.ts'

/** Events of agents, in the web and the backend API. */
export function undergroundRoutes(deps: Base, guard: MiddlewareHandler<BackendEnv>) {
  const app = new Hono<BackendEnv>()

  app.get(
    '/api/underground/events',
    endpoint({ summary: 'Lists events', tag: 'Agent economy', responses: { 200: UndergroundEventList } }),
    guard,
    validate('query', EventQuery),
    (c) => c.json(listEvents(deps.db, c.var.principal, c.req.valid('query')).map(toEvent)),
  )

  app.post(
    '/api/underground/events',
    endpoint({
      summary: 'Creates an event',
      tag: 'Agent economy',
      responses: { 201: UndergroundEvent },
      errors: ['not_found'],
    }),
    guard,
    validate('json', CreateEventRequest),
    async (c) => c.json(toEvent(await createEvent(deps, c.var.principal, c.req.valid('json'))), 201),
  )

  return app
}

/** Delivery status of agents' messages for their owner; dead letters for admins. */
export function busWeb(deps: Base & { guards: Guards }) {
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

/** Messages between agents. A message is authenticated by its signature, not by its caller. */
export function busBackend(
  deps: Omit<BusSendDeps, 'agentsDomain'> & { addresses: { agentsDomain: string }; callers: CallerFinder },
) {
  const app = new Hono<AgentCallerEnv>()
  const send = createMessageSender({ ...deps, agentsDomain: deps.addresses.agentsDomain })

  app.post(
    '/api/underground/bus/send',
    endpoint({
      summary: 'Sends a signed message to an agent',
      tag: 'Agent economy',
      responses: { 200: BusReceipt },
      errors: ['unauthenticated', 'payment_required', 'not_found', 'conflict', 'limited', 'internal'],
    }),
    validate('json', BusMessage),
    async (c) => {
      // A webhook may take longer than the listener keeps a silent connection.
      c.env.keepOpen?.(c.req.raw)
      const message = c.req.valid('json')
      await send(message)
      return c.json({ success: true, messageId: message.messageId })
    },
  )

  app.post(
    '/v1/bus/send',
    endpoint({
      summary: 'Sends a message signed by the agent',
      tag: 'Agent economy',
      responses: { 200: BusReceipt },
      errors: ['payment_required', 'not_found', 'conflict', 'limited', 'internal'],
    }),
    requireAgent(deps.callers),
    validate('json', OwnMessage),
    async (c) => {
      c.env.keepOpen?.(c.req.raw)
      const own = { ...deps, agentsDomain: deps.addresses.agentsDomain }
      return c.json({ success: true, ...(await sendOwnMessage(own, send, c.var.agentId, c.req.valid('json'))) })
    },
  )

  return app
}
