import { Hono } from 'hono'
import { AppError } from '../../../core/errors.ts'
import { endpoint } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import { validate } from '../../../http/validate.ts'
import type { Feeds } from './feeds.ts'
import { type Feed, type FeedList, FeedQuery, FeedResponse } from './schemas.ts'

/** Serves the configured data feeds without authentication. */
export function feedsWeb({ feeds, appUrl }: { feeds: Feeds; appUrl: string }) {
  const app = new Hono<WebEnv>()

  app.get(
    '/api/feeds',
    endpoint({
      summary: 'Lists feeds, or reads one',
      tag: 'Web',
      responses: { 200: FeedResponse },
      errors: [
        'unauthenticated',
        'payment_required',
        'not_found',
        'limited',
        'internal',
        'upstream_failed',
        'unavailable',
      ],
    }),
    validate('query', FeedQuery),
    async (c) => {
      const { feed: id, preview } = c.req.valid('query')
      if (id === undefined) return c.json(toList(feeds, appUrl))
      const feed = feeds.get(id)
      const url = preview ? feed.preview : feed.url
      if (url === undefined) throw new AppError('invalid', 'This feed has no preview')
      const answer = await feeds.read(url)
      if ('status' in answer) return refuse(id, answer)
      const { data, fetchedAt, isStale } = answer
      const source = feed.source ?? new URL(feed.url).hostname
      return c.json({ feed: id, source, data, fetchedAt: fetchedAt.toISOString(), stale: isStale } satisfies Feed)
    },
  )

  return app
}

function toList(feeds: Feeds, appUrl: string): FeedList {
  const endpointOf = (id: string) => `${appUrl}/api/feeds?feed=${encodeURIComponent(id)}`
  return {
    feeds: feeds.ids.map((id) => ({
      id,
      endpoint: endpointOf(id),
      preview: feeds.get(id).preview === undefined ? null : `${endpointOf(id)}&preview=true`,
    })),
    total: feeds.ids.length,
    docs:
      feeds.ids.length > 0 ? 'GET the endpoint of a feed for its data.' : 'No data feeds are configured: set FEEDS.',
  }
}

/** Passes on the source's status, unless a response with that status cannot have a body. */
function refuse(feed: string, { status, challenge }: { status: number; challenge: unknown }): Response {
  if (status === 402) {
    const hint = 'The source of this feed asks for a payment.'
    return Response.json({ status: 'payment_required', feed, challenge, hint }, { status })
  }
  return Response.json({ error: 'Feed unavailable', status }, { status: status >= 400 && status < 600 ? status : 502 })
}
