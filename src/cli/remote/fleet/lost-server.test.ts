import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { openInstallation } from '../../../../tests/harness/server.ts'

const SECRET = 'whsec_told-once'

/** A server that makes one agent with its webhook channel, and is gone at the second one. */
function startMortalServer() {
  let made = 0
  const server = Bun.serve({
    port: 0,
    fetch(request) {
      const { pathname } = new URL(request.url)
      if (pathname === '/api/fleet') return Response.json({ agents: [], total: 0, statuses: {}, labels: [] })
      if (pathname.endsWith('/webhook-channel')) return Response.json({ secret: SECRET })
      made += 1
      if (made === 1) return Response.json({ agent: { id: 'agent_1' } }, { status: 201 })
      void server.stop(true)
      return new Promise<Response>(() => undefined)
    },
  })
  return server
}

test('stead apply FILE --json: exits with 75 and prints one-time secrets when the server is lost', async () => {
  await using installation = await openInstallation()
  const server = startMortalServer()
  const file = join(installation.dataDir, '..', 'fleet.yaml')
  const url = 'https://program.example.com/a'
  await Bun.write(file, `version: 1\nagents: [{name: Ada, channels: {webhook: {url: "${url}"}}}, {name: Bo}]`)
  const environment = { STEAD_KEY: 'sk_test' }
  const applied = await installation.run(['apply', file, '--yes', '--json', '--url', server.url.origin], {
    environment,
  })
  expect([applied.exitCode, applied.stderr]).toEqual([75, expect.stringContaining('no Stead answers')])
  expect(JSON.parse(applied.stdout).agents).toMatchObject([
    { id: 'agent_1', name: 'Ada', isDone: true, webhookSecret: SECRET },
    { id: null, name: 'Bo', isDone: false },
  ])
})
