/** An agent with an empty page for hostile scripts. `/cookie` returns the received cookies. */
Bun.serve({
  port: Number(process.env.PORT),
  hostname: process.env.HOST ?? '127.0.0.1',
  fetch(request) {
    const { pathname } = new URL(request.url)
    if (pathname === '/page') return new Response('<!doctype html>', { headers: { 'content-type': 'text/html' } })
    if (pathname === '/cookie') return new Response(request.headers.get('cookie') ?? '')
    return Response.json({ ok: true, status: 'live', ready: true, failing: [] })
  },
})
