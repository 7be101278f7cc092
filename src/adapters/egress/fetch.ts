import type { Egress, EgressResponse } from './egress.ts'

/** Limits for the whole request and for the response size. */
type Limits = { timeoutMs: number; maxBytes: number }

/**
 * Adapts the egress client to `fetch` for libraries that accept one. Redirects are not followed; `onError` receives
 * errors that the library would hide.
 */
export function fetchOver(egress: Egress, limits: Limits, onError: (error: unknown) => void = () => {}): typeof fetch {
  const ask = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const request = input instanceof Request ? input : new Request(String(input), init)
    const text = request.body === null ? undefined : await request.text()
    try {
      const answer = await egress.request(request.url, {
        method: request.method,
        headers: Object.fromEntries(request.headers),
        ...(text && { body: text }),
        ...limits,
        signal: request.signal,
        maxRedirects: 0,
      })
      return await toResponse(answer)
    } catch (error) {
      onError(error)
      throw error
    }
  }
  return Object.assign(ask, { preconnect: () => undefined })
}

async function toResponse({ status, headers, bytes }: EgressResponse): Promise<Response> {
  const body = await bytes()
  const hasBody = body.byteLength > 0 && ![204, 205, 304].includes(status)
  return new Response(hasBody ? body : null, {
    status,
    headers: [...headers].filter(([name]) => name !== 'content-encoding'),
  })
}
