import { z } from 'zod'

const CreateBody = z.object({
  playback_policy: z.array(z.string()),
  new_asset_settings: z.object({ playback_policy: z.array(z.string()) }),
})

type Stream = {
  id: string
  status: string
  stream_key: string
  playback_ids: { id: string; policy: string }[]
  created_at: string
}

/** Starts Mux's live stream API for one token; streams are kept in memory. */
export function startMuxDouble() {
  const streams = new Map<string, Stream>()
  const requests: string[] = []
  let fault: 'status' | 'html' | 'wrong shape' | null = null
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const { pathname, search } = new URL(request.url)
      requests.push(`${request.method} ${pathname}${search}`)
      if (request.headers.get('authorization') !== `Basic ${btoa('mux-id:mux-token')}`) {
        return Response.json({ error: { type: 'unauthorized', messages: ['Unauthorized'] } }, { status: 401 })
      }
      if (fault === 'status') return Response.json({ error: { messages: ['no'] } }, { status: 500 })
      if (fault === 'html') return new Response('<!doctype html>', { headers: { 'content-type': 'text/html' } })
      if (fault === 'wrong shape') return Response.json({ data: 'nothing' })
      if (request.method === 'POST') {
        CreateBody.parse(await request.json())
        return Response.json({ data: add('idle') }, { status: 201 })
      }
      if (request.method === 'DELETE') {
        const isThere = streams.delete(pathname.split('/').at(-1) ?? '')
        return isThere ? new Response(null, { status: 204 }) : Response.json({ error: {} }, { status: 404 })
      }
      return Response.json({ data: [...streams.values()] })
    },
  })
  const add = (status: string): Stream => {
    const number = streams.size + requests.length
    const stream = {
      id: `stream-${number}`,
      status,
      stream_key: `secret-key-${number}`,
      playback_ids: [{ id: `playback-${number}`, policy: 'public' }],
      created_at: '1700000000',
    }
    streams.set(stream.id, stream)
    return stream
  }
  return {
    environment: { RADIO_API_URL: server.url.origin, RADIO_API_ID: 'mux-id', RADIO_API_TOKEN: 'mux-token' },
    /** `METHOD path?query` of each request. */
    requests,
    streams,
    /** A stream created by another client. */
    add,
    setStatus(id: string, status: string) {
      const stream = streams.get(id)
      if (stream) streams.set(id, { ...stream, status })
    },
    failWith(next: typeof fault) {
      fault = next
    },
    stop: () => server.stop(true),
  }
}
