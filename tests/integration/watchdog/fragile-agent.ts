/** An agent that fails as its settings define, like an agent with an invalid configuration. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'

const { PORT, HOST = '127.0.0.1', AGENT_DIR = '.', TEMPLATE } = Bun.env
console.log(`starting with ${TEMPLATE}`)
if (TEMPLATE === 'fails-to-start' || existsSync(join(AGENT_DIR, 'broken'))) {
  console.error('cannot read the template')
  process.exit(3)
}
Bun.serve({ port: Number(PORT), hostname: HOST, fetch: () => Response.json({ ok: true, status: 'live' }) })
if (TEMPLATE === 'crashes') setTimeout(() => process.exit(4), 700)
