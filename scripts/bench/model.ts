import type { Workbench } from './workbench.ts'

/** `settings` make Stead use the provider; `ask` calls it directly. `askedAt` is a time of `performance.now()`. */
export type Model = { settings: Record<string, string>; askedAt: () => number; ask(text: string): Promise<string> }

/** A provider that answers immediately and records the time of its last request. */
export function startModel(bench: Workbench): Model {
  let askedAt = 0
  const chunk = { id: 'bench', object: 'chat.completion.chunk', created: 1_780_000_000, model: 'bench' }
  const says = { ...chunk, choices: [{ index: 0, delta: { role: 'assistant', content: 'Good morning.' } }] }
  const ends = {
    ...chunk,
    choices: [{ index: 0, delta: {}, finish_reason: 'stop' }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  }
  const body = `${[says, ends].map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')}data: [DONE]\n\n`
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request) {
      if (request.method !== 'POST') return new Response('Not found', { status: 404 })
      askedAt = performance.now()
      return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
    },
  })
  bench.onEnd(() => server.stop(true))
  const settings = { OPENROUTER_API_KEY: 'bench', OPENROUTER_BASE_URL: `${server.url}v1` }
  const ask = async (text: string) => {
    const request = { model: 'bench', stream: true, messages: [{ role: 'user', content: text }] }
    const response = await fetch(`${server.url}v1/chat/completions`, { method: 'POST', body: JSON.stringify(request) })
    return response.text()
  }
  return { settings, askedAt: () => askedAt, ask }
}
