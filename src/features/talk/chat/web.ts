import { Hono } from 'hono'
import type { Log } from '../../../core/log.ts'
import type { WebEnv } from '../../../http/env.ts'
import { toAppError } from '../../../http/errors.ts'
import { limitRate } from '../../../http/rate-limit.ts'
import { routeTraits } from '../../../http/route-traits.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { eventStream } from '../../../http/streams/sse.ts'
import { validate } from '../../../http/validate.ts'
import { listMessages } from './history.ts'
import { MessageQuery, SendMessageRequest } from './schemas.ts'
import { openTurn, type SendDeps, sendMessage, streamMessage } from './send.ts'

export type ChatWebDeps = SendDeps & { log: Log; guards: Guards; requestsPerMinute: { chat: number } }

/** Talking to one's own agents (Interface 4.15). */
export function chatWeb(deps: ChatWebDeps) {
  const app = new Hono<WebEnv>()
  const { signedIn } = deps.guards

  app.use('/api/chat', limitRate(deps.requestsPerMinute.chat, 'Too many requests, please slow down.'))

  app.get('/api/chat', signedIn, validate('query', MessageQuery), (c) =>
    c.json(listMessages(deps.db, c.var.user, c.req.valid('query'))),
  )

  app.post('/api/chat', routeTraits({ scope: 'agents' }), signedIn, validate('json', SendMessageRequest), async (c) => {
    const request = c.req.valid('json')
    const turn = await openTurn(deps, c.var.user, request)
    if (!request.stream) return c.json(await sendMessage(deps, turn, c.req.raw.signal))
    return eventStream(c, deps.log, async ({ send, signal }) => {
      try {
        const sent = await streamMessage(deps, turn, signal, (text) => send('delta', { text }))
        await send('done', sent)
      } catch (error) {
        if (signal.aborted) return
        const { message, extra } = toAppError(error)
        await send('error', { error: message, ...extra })
      }
    })
  })

  return app
}
