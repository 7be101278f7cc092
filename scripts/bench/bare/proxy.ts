/** The baseline of `chat`: passes a completion through to the upstream in the first argument, and does nothing else. */
const [upstream = ''] = process.argv.slice(2)

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  async fetch(request) {
    const response = await fetch(`${upstream}v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: await request.text(),
    })
    return new Response(await response.text(), { headers: { 'content-type': 'application/json' } })
  },
})
console.log(String(server.url))

export {}
