/**
 * An agent that fails once if the file in its first argument exists: it deletes the file, writes `poison` to its state
 * and exits like an agent with invalid settings. `/poison` returns whether `poison` exists.
 */
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'

const gate = process.argv[2] ?? ''
const { PORT, HOST, AGENT_DIR } = process.env
const poison = join(AGENT_DIR ?? '', 'poison')

if (existsSync(gate)) {
  process.stdout.write('the new version does not work here\n')
  await Bun.write(poison, 'bad')
  rmSync(gate)
  process.exit(78)
}

Bun.serve({
  port: Number(PORT),
  hostname: HOST ?? '127.0.0.1',
  fetch(request) {
    const { pathname } = new URL(request.url)
    if (pathname === '/poison') return Response.json(existsSync(poison))
    return Response.json({ ok: true, status: 'live' })
  },
})
