/** An agent that becomes healthy when the file in its first argument exists. */
import { existsSync } from 'node:fs'

const gate = process.argv[2] ?? ''
const { PORT, HOST } = process.env

Bun.serve({
  port: Number(PORT),
  hostname: HOST ?? '127.0.0.1',
  fetch: () =>
    existsSync(gate) ? Response.json({ ok: true, status: 'live' }) : new Response('not yet', { status: 503 }),
})
