import { Hono } from 'hono'
import type { BackendEnv } from '../../../http/env.ts'
import { validate } from '../../../http/validate.ts'
import { SendRequest } from './schemas.ts'
import { createMessageSender, type SendDeps } from './send-message.ts'

/** The bus between agents: a message is its own proof, whoever brings it (Interface 4.8). */
export function busBackend(deps: Omit<SendDeps, 'agentsDomain'> & { addresses: { agentsDomain: string } }) {
  const app = new Hono<BackendEnv>()
  const send = createMessageSender({ ...deps, agentsDomain: deps.addresses.agentsDomain })

  app.post('/api/underground/bus/send', validate('json', SendRequest), async (c) => {
    // A webhook may take longer than a listener keeps a silent connection.
    c.env.keepOpen?.(c.req.raw)
    const message = c.req.valid('json')
    await send(message)
    return c.json({ success: true, messageId: message.messageId })
  })

  return app
}
