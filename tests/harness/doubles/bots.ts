let server: ReturnType<typeof Bun.serve> | undefined

/**
 * Starts doubles of Telegram, Discord and Slack that accept every token, and returns their URL. They end with the
 * process.
 */
export function anyBotUrl(): string {
  server ??= Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: (request) => {
      const { pathname } = new URL(request.url)
      const me = { id: 1, is_bot: true, first_name: 'Ada', username: 'ada_bot' }
      if (pathname.endsWith('/getMe')) return Response.json({ ok: true, result: me })
      if (pathname === '/api/auth.test' || pathname === '/api/apps.connections.open') return Response.json({ ok: true })
      if (pathname === '/api/v10/users/@me') return Response.json(me)
      return Response.json({ ok: false, error_code: 404, description: 'Not Found' }, { status: 404 })
    },
  })
  server.unref()
  return `http://127.0.0.1:${server.port}`
}
