import { expect, onTestFinished, test } from 'bun:test'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { INTERNAL_KEY, testPlatform } from '../../../tests/harness/platform.ts'
import { findFreePorts } from '../../../tests/harness/ports.ts'
import { bearer } from '../../../tests/harness/requests.ts'
import { tempFolder } from '../../../tests/harness/temp-folder.ts'
import { createAgentProxy } from '../agent-proxy.ts'
import { createAgentListener } from './agent-listener.ts'
import { hostRuleOf } from './hosts.ts'
import { listen } from './listen.ts'

/** A local address outside the listeners' addresses, like a container network's gateway. */
const ELSEWHERE = '127.0.0.2'
const PORTS = { web: 0, backend: 0, summarizer: 0 }

function openTestInstallation(host = '127.0.0.1', platformHost = ELSEWHERE) {
  const { platform, app, config: settings } = testPlatform()
  const installation = { app, agentProxy: createAgentProxy(platform), router: null }
  const listeners = listen(() => installation, {
    host,
    ports: PORTS,
    trustedProxies: [],
    judgeHost: hostRuleOf(settings),
    noteMisdirected: () => undefined,
  })
  const folder = tempFolder()
  onTestFinished(() => folder[Symbol.dispose]())
  const config = { host, dataDir: folder.path }
  const enter = createAgentListener({ config, listeners })
  const findAddress = (host = platformHost) => enter({ platformHost: async () => host })
  return { listeners, findAddress, config, [Symbol.asyncDispose]: () => listeners.stop() }
}

test('createAgentListener serves /v1 and returns 404 for every spelling of other paths', async () => {
  await using installation = openTestInstallation()
  const url = await installation.findAddress()
  expect(url).toBe(`http://${ELSEWHERE}:${installation.listeners.ports.backend}`)
  expect((await fetch(`${url}/v1/models`)).status).toBe(401)
  const headers = bearer(INTERNAL_KEY)
  expect((await fetch(`${installation.listeners.localUrls.backend}/api/agents`, { headers })).status).toBe(200)
  const others = [
    '/',
    '/health',
    '/api/agents',
    '/v1/../api/agents',
    '/v1/%2e%2e/api/agents',
    '//api/agents',
    '/v1%2f../api/agents',
  ]
  for (const path of others) expect([path, (await fetch(`${url}${path}`, { headers })).status]).toEqual([path, 404])
})

test('createAgentListener opens one port and reuses it after a restart', async () => {
  await using installation = openTestInstallation()
  const holder = createServer()
  await new Promise<void>((resolve) => holder.listen(installation.listeners.ports.backend, ELSEWHERE, resolve))
  const urls = await Promise.all([installation.findAddress(), installation.findAddress()])
  expect(new Set(urls).size).toBe(1)
  expect(urls[0]).not.toBe(`http://${ELSEWHERE}:${installation.listeners.ports.backend}`)
  await installation.listeners.stop()
  await new Promise((resolve) => holder.close(resolve))

  await using again = openTestInstallation()
  const findAddress = createAgentListener({ config: installation.config, listeners: again.listeners })
  expect(await findAddress({ platformHost: async () => ELSEWHERE })).toBe(urls[0] ?? '')
})

test('createAgentListener reuses the port of each address after a restart', async () => {
  const other = '127.0.0.3'
  await using installation = openTestInstallation()
  const first = await installation.findAddress()
  const holder = createServer()
  await new Promise<void>((resolve) => holder.listen(installation.listeners.ports.backend, other, resolve))
  const second = await installation.findAddress(other)
  expect(new URL(second).port).not.toBe(new URL(first).port)
  await installation.listeners.stop()
  await new Promise((resolve) => holder.close(resolve))

  await using again = openTestInstallation()
  const findAddress = createAgentListener({ config: installation.config, listeners: again.listeners })
  expect(await findAddress({ platformHost: async () => other })).toBe(second)
  expect(await findAddress({ platformHost: async () => ELSEWHERE })).toBe(first)
})

test('createAgentListener reads the port file of a single listener', async () => {
  await using installation = openTestInstallation()
  const [free] = await findFreePorts(1)
  await Bun.write(join(installation.config.dataDir, 'agents.port'), String(free))
  expect(await installation.findAddress()).toBe(`http://${ELSEWHERE}:${free}`)
})

test('createAgentListener opens no port for an address the listeners already serve', async () => {
  await using near = openTestInstallation('127.0.0.1', '127.0.0.1')
  expect(await near.findAddress()).toBe(near.listeners.localUrls.backend)
  await using wide = openTestInstallation('0.0.0.0')
  expect(await wide.findAddress()).toBe(`http://${ELSEWHERE}:${wide.listeners.ports.backend}`)
})

test('createAgentListener reports an address when it is of another machine, and retries at the next call', async () => {
  await using installation = openTestInstallation('127.0.0.1', '192.0.2.1')
  for (let attempt = 0; attempt < 2; attempt++)
    await expect(installation.findAddress()).rejects.toMatchObject({ kind: 'internal' })
})
