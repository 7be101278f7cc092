/** The least that is an agent: it says that it is alive, and starts fast. */
Bun.serve({
  port: Number(Bun.env.PORT),
  hostname: Bun.env.HOST ?? '127.0.0.1',
  fetch: () => Response.json({ ok: true, status: 'live' }),
})
