import { expect, test } from 'bun:test'
import { testClock, testPlatform } from '../../../tests/harness/platform.ts'
import { tempFolder } from '../../../tests/harness/temp-folder.ts'
import { createLog } from '../../core/log.ts'
import { rate } from './host.ts'
import { healthWeb } from './web.ts'

test('GET /api/health: 200 with what the machine does, for everybody', async () => {
  const { web, clock } = testPlatform()
  const response = await web.request('/api/health')
  expect(response.status).toBe(200)
  expect(await response.json()).toEqual({
    status: 'ok',
    health: expect.stringMatching(/^(healthy|degraded|unhealthy)$/),
    timestamp: clock.now().toISOString(),
    cpu: { usage: expect.any(Number), cores: expect.any(Number) },
    memory: {
      usage: expect.any(Number),
      total: expect.any(Number),
      used: expect.any(Number),
      free: expect.any(Number),
    },
    uptime: expect.any(Number),
  })
})

test.each([
  [0, 'healthy'],
  [70, 'healthy'],
  [70.1, 'degraded'],
  [85, 'degraded'],
  [85.1, 'unhealthy'],
  [100, 'unhealthy'],
] as const)('%d percent is %s', (percent, health) => {
  expect(rate(percent)).toBe(health)
})

test('GET /api/health: 500 without figures when the machine cannot be measured', async () => {
  const clock = testClock()
  const probeHost = () => {
    throw new Error('no /proc here')
  }
  const response = await healthWeb({ clock, log: createLog('silent'), probeHost }).request('/api/health')
  expect(response.status).toBe(500)
  expect(await response.json()).toEqual({ status: 'error', health: 'unhealthy', timestamp: clock.now().toISOString() })
})

test.each(['/nowhere/docker.sock', 'tcp://127.0.0.1:1', 'unix:///nowhere/docker.sock'])(
  'GET /health: 200 with docker unavailable at %s',
  async (host) => {
    const { backend, clock } = testPlatform({ environment: { DOCKER_HOST: host } })
    const response = await backend.request('/health')
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({
      status: 'ok',
      timestamp: clock.now().toISOString(),
      docker: 'unavailable',
      provisioning: 'enabled',
    })
  },
)

test('GET /health: docker is available when an engine answers on the socket', async () => {
  using folder = tempFolder()
  using _engine = Bun.serve({ unix: folder.file('docker.sock'), fetch: () => new Response('OK') })
  const { backend } = testPlatform({ environment: { DOCKER_HOST: folder.file('docker.sock') } })
  expect(await (await backend.request('/health')).json()).toMatchObject({ docker: 'available' })
})

test('GET /health: provisioning is disabled by the kill switch', async () => {
  const { backend } = testPlatform({ environment: { KILL_SWITCH: 'true' } })
  expect(await (await backend.request('/health')).json()).toMatchObject({ status: 'ok', provisioning: 'disabled' })
})

test('GET / and GET /health of the summarizer: 200 for everybody', async () => {
  const { summarizer } = testPlatform()
  const about = await summarizer.request('/')
  expect(about.status).toBe(200)
  expect(await about.json()).toEqual({
    service: expect.any(String),
    description: expect.any(String),
    endpoints: expect.any(Object),
    payment: { network: expect.any(String), currency: 'USDC', payTo: null, note: expect.any(String) },
  })
  const health = await summarizer.request('/health')
  expect(health.status).toBe(200)
  expect(await health.json()).toEqual({ status: 'ok', service: expect.any(String), version: expect.any(String) })
})
