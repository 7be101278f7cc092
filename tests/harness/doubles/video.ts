import { z } from 'zod'

const CreateBody = z.object({
  model: z.string(),
  prompt: z.string(),
  input_reference: z.object({ image_url: z.string() }).optional(),
})

/** Prompts of requested videos. */
export type VideoOrder = z.infer<typeof CreateBody>
type State = { status: string; seconds?: string; error?: { code: string; message: string } | null }

/** The start of an MP4 file and some more bytes. */
export const MP4 = new Uint8Array([
  0,
  0,
  0,
  24,
  0x66,
  0x74,
  0x79,
  0x70,
  0x69,
  0x73,
  0x6f,
  0x6d,
  ...new Array(2000).fill(7),
])

/** Starts a video API in the OpenAI format. Every job has the status `first`, until `set` changes it. */
export function startVideoDouble(first: State = { status: 'completed' }) {
  const orders: VideoOrder[] = []
  const requests: string[] = []
  let state = first
  let refuse: (() => Response) | null = null
  let content = () => new Response(MP4, { headers: { 'content-type': 'video/mp4' } })
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const { pathname } = new URL(request.url)
      requests.push(`${request.method} ${pathname}`)
      if (request.headers.get('authorization') !== 'Bearer video-key') return new Response('no', { status: 401 })
      if (refuse) return refuse()
      if (pathname.endsWith('/content')) return content()
      if (request.method === 'POST') orders.push(CreateBody.parse(await request.json()))
      return Response.json({ id: 'video_1', object: 'video', progress: 0, ...state })
    },
  })
  return {
    environment: { VIDEO_BASE_URL: `${server.url.origin}/v1`, VIDEO_API_KEY: 'video-key', VIDEO_MODEL: 'sora-2' },
    orders,
    /** `METHOD path` of each request. */
    requests,
    set(next: State) {
      state = next
    },
    refuseWith(next: (() => Response) | null) {
      refuse = next
    },
    serve(next: () => Response) {
      content = next
    },
    stop: () => server.stop(true),
  }
}
