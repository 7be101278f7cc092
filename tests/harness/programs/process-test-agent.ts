/**
 * The agent of the runtime tests. It answers `/healthz`; `/die?code=` exits; `/spawn` starts one process in its group
 * and one in a new session. `IGNORE_TERM` ignores SIGTERM, `EXIT_CODE` exits immediately.
 */
const { PORT, HOST, AGENT_ID, EXIT_CODE, IGNORE_TERM } = Bun.env

if (IGNORE_TERM) process.on('SIGTERM', () => process.stdout.write('not now\n'))
if (EXIT_CODE) process.exit(Number(EXIT_CODE))

Bun.serve({
  port: Number(PORT),
  hostname: HOST ?? '127.0.0.1',
  fetch(request) {
    const url = new URL(request.url)
    if (url.pathname === '/die') process.exit(Number(url.searchParams.get('code')))
    if (url.pathname === '/spawn') {
      for (const detached of [false, true]) {
        Bun.spawn({ cmd: ['/bin/sleep', '600'], detached, stdio: ['ignore', 'ignore', 'ignore'] }).unref()
      }
    }
    return new Response('ok')
  },
})
process.stdout.write(`agent ${AGENT_ID} listens on ${PORT}\n`)
