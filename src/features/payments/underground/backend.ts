import { Hono } from 'hono'
import { endpoint } from '../../../http/endpoint.ts'
import { validate } from '../../../http/validate.ts'
import { type AgentCallerEnv, type CallerFinder, requireAgent } from '../../ai/gateway/callers.ts'
import { BusMessage, BusReceipt, OwnMessage } from './schemas.ts'
import { type BusSendDeps, createMessageSender, sendOwnMessage } from './send-message.ts'

/** The bus between agents: a message is its own proof, whoever brings it (Interface 4.8). */
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
      // A webhook may take longer than a listener keeps a silent connection.
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
