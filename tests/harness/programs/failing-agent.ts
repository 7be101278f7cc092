/**
 * An agent that fails once when the file exists that its first argument names: it takes the file away, leaves `poison`
 * among what it stores, and ends as one with bad settings does. `/poison` says whether it has any.
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
