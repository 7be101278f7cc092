/** The baseline of `chat`: forwards a completion to the upstream in the first argument. */
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
    const contentType = response.headers.get('content-type') ?? ''
    const body = contentType === 'text/event-stream' ? response.body : await response.text()
    return new Response(body, { headers: { 'content-type': contentType } })
  },
})
console.log(String(server.url))

export {}
