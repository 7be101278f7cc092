import { expect, test } from 'bun:test'
import { createAgentListener } from '../../../src/server/listeners/agent-listener.ts'
import { startServer } from '../../harness/server.ts'
import { tempFolder } from '../../harness/temp-folder.ts'
import { askRaw } from '../../harness/wires/raw-http.ts'
import { openAgentProxy, startAgentDouble } from './open-agent-proxy.ts'

const SETTINGS = { DOMAIN: 'stead.example', APP_URL: 'https://app.stead.example', ALLOWED_HOSTS: 'nas.lan, Stead-1' }
const HEALTH = { web: '/api/health', backend: '/health', summarizer: '/health' } as const

const ask = (url: string, path: string, ...hosts: string[]) =>
  askRaw(url, [`GET ${path} HTTP/1.1`, ...hosts.map((host) => `Host: ${host}`)])

test('each port: serves the hosts of the settings and addresses, and returns 421 for any other', async () => {
  await using server = await startServer(SETTINGS)
  for (const api of ['web', 'backend', 'summarizer'] as const) {
    const statusOf = async (host: string) => (await ask(server.urls[api], HEALTH[api], host)).status
    const ours = [
      'app.stead.example',
      'APP.stead.example.:443',
      'stead.example',
      'localhost:3000',
      '192.168.1.7:3000',
      '[::1]:3000',
      'nas.lan',
      'stead-1:3001',
      'host.docker.internal:3001',
    ]
    for (const host of ours) expect([api, host, await statusOf(host)]).toEqual([api, host, 200])
    for (const host of ['evil.example', 'evil.example:3000', 'localhost.evil.example', '127.0.0.1.nip.io', '']) {
      const answer = await ask(server.urls[api], HEALTH[api], host)
      expect([api, host, answer.status]).toEqual([api, host, 421])
      expect(JSON.parse(answer.body)).toEqual({ error: 'Misdirected request' })
    }
  }
})

test('each port: 400 when there are two Host headers, or none except in HTTP/1.0', async () => {
  await using server = await startServer(SETTINGS)
  for (const api of ['web', 'backend', 'summarizer'] as const) {
    const url = server.urls[api]
    expect((await ask(url, HEALTH[api], 'localhost', 'localhost')).status).toBe(400)
    expect((await ask(url, HEALTH[api], 'localhost', 'evil.example')).status).toBe(400)
    expect((await askRaw(url, [`GET ${HEALTH[api]} HTTP/1.1`, 'host: localhost', 'HOST: nas.lan'])).status).toBe(400)
    expect((await ask(url, HEALTH[api])).status).toBe(400)
    expect((await askRaw(url, [`GET ${HEALTH[api]} HTTP/1.0`])).status).toBe(200)
    expect((await askRaw(url, [`GET ${HEALTH[api]} HTTP/1.0`, 'Host: evil.example'])).status).toBe(421)
    expect((await askRaw(url, [`GET /x:aaa${HEALTH[api]} HTTP/1.0`])).status).toBe(404)
    expect((await askRaw(url, ['CONNECT evil.example:99999 HTTP/1.0'])).status).toBe(404)
  }
})

test('an absolute request target does not bypass the check of the host', async () => {
  await using server = await startServer(SETTINGS)
  const { web } = server.urls
  const target = 'http://localhost/api/health'
  expect((await askRaw(web, [`GET ${target} HTTP/1.1`, 'Host: evil.example'])).status).toBe(421)
  expect((await askRaw(web, [`GET ${target} HTTP/1.1`, 'Host: localhost'])).status).toBe(200)
  expect((await askRaw(web, ['GET //evil.example/api/health HTTP/1.1', 'Host: evil.example'])).status).toBe(421)
  expect((await askRaw(web, ['CONNECT evil.example:443 HTTP/1.1', 'Host: evil.example'])).status).toBe(421)
})

test('a host that is not served is logged once, and its WebSockets are refused', async () => {
  await using server = await startServer(SETTINGS)
  for (const path of ['/', '/api/health', '/api/agents']) await ask(server.urls.web, path, 'stead.lan')
  const upgrade = ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Key: x', 'Sec-WebSocket-Version: 13']
  expect((await askRaw(server.urls.web, ['GET / HTTP/1.1', 'Host: stead.lan', ...upgrade])).status).toBe(421)
  const lines = server.logLines.filter((line) => line.includes('ALLOWED_HOSTS'))
  expect(lines.map((line) => JSON.parse(line))).toEqual([expect.objectContaining({ level: 40, host: 'stead.lan' })])
})

test('the listener for agents in containers: serves the address they call and the machine’s names, and no other host', async () => {
  await using agentProxy = await openAgentProxy({ environment: SETTINGS, domain: 'stead.example' })
  using folder = tempFolder()
  const startListener = createAgentListener({
    config: { host: '127.0.0.1', dataDir: folder.path },
    listeners: agentProxy.listeners,
  })
  const url = await startListener({ platformHost: async () => '127.0.0.2' })
  expect((await fetch(`${url}/v1/models`)).status).toBe(401)
  const statusOf = async (...hosts: string[]) =>
    (await askRaw(url, ['GET /v1/models HTTP/1.1', ...hosts.map((host) => `Host: ${host}`)], '', '127.0.0.2')).status
  expect(await statusOf('host.docker.internal:3001')).toBe(401)
  expect(await statusOf('evil.example')).toBe(421)
  expect(await statusOf('127.0.0.2', '127.0.0.2')).toBe(400)
})

test('AGENTS_DOMAIN: agents are served below it, and no longer below DOMAIN', async () => {
  using agent = startAgentDouble(() => new Response('agent'))
  await using agentProxy = await openAgentProxy({
    domain: 'stead.example',
    environment: { ...SETTINGS, AGENTS_DOMAIN: 'Stead-Pages.Example' },
  })
  await agentProxy.add('ada', agent.port)
  expect((await ask(agentProxy.web, '/', 'ada.stead-pages.example')).body).toBe('agent')
  expect((await ask(agentProxy.web, '/', 'bo.stead-pages.example')).status).toBe(404)
  expect((await ask(agentProxy.web, '/api/health', 'ada.agents.stead.example')).status).toBe(421)
  expect((await ask(agentProxy.web, '/api/health', 'stead-pages.example')).status).toBe(421)
})
