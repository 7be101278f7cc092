/** A minimal agent that starts fast and reports that it is live. */
Bun.serve({
  port: Number(Bun.env.PORT),
  hostname: Bun.env.HOST ?? '127.0.0.1',
  fetch: () => Response.json({ ok: true, status: 'live' }),
})
