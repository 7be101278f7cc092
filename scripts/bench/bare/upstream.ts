/** A model provider that answers at once and always the same, in the OpenAI form. */
const ANSWER = JSON.stringify({
  id: 'chatcmpl-bench',
  object: 'chat.completion',
  created: 1_780_000_000,
  model: 'openai/gpt-4o-mini',
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: 'It is a quarter past nine, and the kettle is on. '.repeat(8) },
      finish_reason: 'stop',
    },
  ],
  // Little, so that the plan's monthly tokens outlast the measurement.
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
})

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  async fetch(request) {
    if (request.method !== 'POST') return new Response('Not found', { status: 404 })
    await request.text()
    return new Response(ANSWER, { headers: { 'content-type': 'application/json' } })
  },
})
console.log(String(server.url))

export {}
