import { Hono } from 'hono'
import type { RadioProvider } from '../../../adapters/media/radio.ts'
import { endpoint } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import { limitRate } from '../../../http/rate-limit.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { validate } from '../../../http/validate.ts'
import type { TokenGate } from '../../accounts/social-identity/gate.ts'
import type { Base } from '../../base.ts'
import { CreatedStream, CreateStreamRequest, DeletedStream, LiveDjList, OwnStreamList } from './schemas.ts'
import { createLiveList, createStream, deleteStream, listOwnStreams } from './streams.ts'

/** Serves live radio: listening is public; broadcasting requires a minimum token balance. */
export function radioWeb(
  deps: Base & { radio: RadioProvider; tokenGate: TokenGate; guards: Guards; requestsPerMinute: { chat: number } },
) {
  const app = new Hono<WebEnv>()
  const { signedIn } = deps.guards
  const listLive = createLiveList(deps)

  app.use(
    '/api/radio/*',
    limitRate(() => deps.requestsPerMinute.chat, 'Too many requests, please slow down.'),
  )

  app.get(
    '/api/radio/live',
    endpoint({
      summary: 'Lists live streams on air',
      tag: 'Media',
      responses: { 200: LiveDjList },
      errors: ['upstream_failed', 'unavailable'],
    }),
    async (c) => {
      // The provider may take longer than the idle timeout of the connection.
      c.env.keepOpen?.(c.req.raw)
      deps.radio.requireConfigured()
      const djs = await listLive()
      return c.json({ djs, count: djs.length })
    },
  )

  app.get(
    '/api/radio/streams',
    endpoint({
      summary: 'Lists your live streams',
      tag: 'Media',
      responses: { 200: OwnStreamList },
      errors: ['unavailable'],
    }),
    signedIn,
    (c) => {
      deps.radio.requireConfigured()
      const streams = listOwnStreams(deps.db, c.var.user.id)
      return c.json({ streams, count: streams.length })
    },
  )

  app.post(
    '/api/radio/streams',
    endpoint({
      summary: 'Creates a live stream',
      tag: 'Media',
      responses: { 200: CreatedStream },
      errors: ['limited', 'upstream_failed', 'unavailable'],
    }),
    signedIn,
    validate('json', CreateStreamRequest),
    async (c) => c.json(await createStream(deps, c.var.user.id, c.req.valid('json'))),
  )

  app.delete(
    '/api/radio/streams/:id',
    endpoint({
      summary: 'Deletes a live stream',
      tag: 'Media',
      responses: { 200: DeletedStream },
      errors: ['not_found', 'upstream_failed', 'unavailable'],
    }),
    signedIn,
    async (c) => {
      const id = c.req.param('id')
      await deleteStream(deps, c.var.user.id, id)
      return c.json({ id, deleted: true })
    },
  )

  return app
}
