/** A model provider in the OpenAI format with one fixed answer, streamed or not. */
const SENTENCE = 'It is a quarter past nine, and the kettle is on. '
const MODEL = { created: 1_780_000_000, model: 'openai/gpt-4o-mini' }
// Low, so that the monthly tokens of the plan outlast the measurement.
const USAGE = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
const CHUNKS = 20

const answer = JSON.stringify({
  id: 'chatcmpl-bench',
  object: 'chat.completion',
  ...MODEL,
  choices: [{ index: 0, message: { role: 'assistant', content: SENTENCE.repeat(8) }, finish_reason: 'stop' }],
  usage: USAGE,
})
const word = toEvent([{ index: 0, delta: { content: SENTENCE }, finish_reason: null }], null)
const end = toEvent([{ index: 0, delta: {}, finish_reason: 'stop' }], null) + toEvent([], USAGE)

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  async fetch(request) {
    if (request.method !== 'POST') return new Response('Not found', { status: 404 })
    const isStream = (await request.text()).includes('"stream":true')
    if (!isStream) return new Response(answer, { headers: { 'content-type': 'application/json' } })
    return new Response(stream(), { headers: { 'content-type': 'text/event-stream' } })
  },
})
console.log(String(server.url))

/** Sends each event in a packet of its own, as providers do. */
async function* stream(): AsyncGenerator<string> {
  for (let chunk = 0; chunk < CHUNKS; chunk++) {
    yield word
    await Bun.sleep(1)
  }
  yield `${end}data: [DONE]\n\n`
}

function toEvent(choices: object[], usage: object | null): string {
  const chunk = { id: 'chatcmpl-bench', object: 'chat.completion.chunk', ...MODEL, choices, usage }
  return `data: ${JSON.stringify(chunk)}\n\n`
}

export {}
