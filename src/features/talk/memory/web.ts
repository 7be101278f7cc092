import { type Context, Hono, type Next } from 'hono'
import type { Log } from '../../../core/log.ts'
import type { WebEnv } from '../../../http/env.ts'
import { routeTraits } from '../../../http/route-traits.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { type Exports, sendExport } from '../../../http/streams/exports.ts'
import { sendPieces } from '../../../http/streams/send-pieces.ts'
import { validate } from '../../../http/validate.ts'
import { forgetKey } from './forget.ts'
import { exportMemory, type ReadDeps, readMemory } from './read.ts'
import { type SaveDeps, saveMemory } from './save.ts'
import { ForgetQuery, MemoryQuery, SaveMemoryRequest } from './schemas.ts'

const JSON_TYPE = 'application/json'

/** What one's own agents are to remember (Interface 4.15). */
export function memoryWeb(deps: SaveDeps & ReadDeps & { log: Log; guards: Guards; exports: Exports }) {
  const app = new Hono<WebEnv>()
  const { signedIn } = deps.guards

  app.get('/api/memory', signedIn, validate('query', MemoryQuery), keepWaiting, async (c) => {
    const pieces = await readMemory(deps, c.var.user, c.req.valid('query').agentId)
    return sendPieces(c, deps, { type: JSON_TYPE, pieces })
  })

  app.get('/api/memory/export', signedIn, keepWaiting, (c) =>
    sendExport(c, deps, async () => ({
      name: 'agent-memory.json',
      type: JSON_TYPE,
      pieces: await exportMemory(deps, c.var.user),
    })),
  )

  app.post(
    '/api/memory',
    routeTraits({ scope: 'agents' }),
    signedIn,
    validate('json', SaveMemoryRequest),
    keepWaiting,
    async (c) => {
      const request = c.req.valid('json')
      const { keys, savedAt } = await saveMemory(deps, c.var.user, request)
      const what = request.key === undefined ? { keysUpdated: keys.length } : { key: request.key }
      return c.json({ success: true, agentId: request.agentId, ...what, saved: savedAt.toISOString() })
    },
  )

  app.delete(
    '/api/memory',
    routeTraits({ scope: 'agents' }),
    signedIn,
    validate('query', ForgetQuery),
    keepWaiting,
    async (c) => {
      const { agentId, key } = c.req.valid('query')
      await forgetKey(deps, c.var.user, agentId, key)
      return c.json({ success: true, agentId, key, deleted: true })
    },
  )

  return app
}

/** An agent that keeps notes of its own may take longer than a listener keeps a silent connection. */
async function keepWaiting(c: Context<WebEnv>, next: Next): Promise<void> {
  c.env.keepOpen?.(c.req.raw)
  await next()
}
