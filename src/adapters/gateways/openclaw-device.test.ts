import { expect, test } from 'bun:test'
import { z } from 'zod'
import { createAgentGateway } from './gateway.ts'

const gateway = createAgentGateway({ fetch }, { probeMs: 500, changeMs: 500, chatIdleMs: 500, chatTotalMs: 500 })
const Call = z.object({ method: z.string(), params: z.record(z.string(), z.string()) })

/** Simulates the admin API of an OpenClaw gateway with two paired devices and one pending. */
function startAdministration(answer: (method: string) => unknown = () => undefined) {
  const devices = new Set(['of-the-platform', 'of-a-stranger'])
  const requests = new Set(['request-1'])
  const calls: string[] = []
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      if (request.headers.get('authorization') !== 'Bearer gw_new') return new Response('{}', { status: 401 })
      if (new URL(request.url).pathname !== '/api/v1/admin/rpc') return new Response('{}', { status: 404 })
      const { method, params } = Call.parse(await request.json())
      calls.push(method)
      const requested = answer(method)
      if (requested !== undefined) return Response.json(requested)
      if (method === 'device.pair.remove') devices.delete(params.deviceId ?? '')
      if (method === 'device.pair.reject') requests.delete(params.requestId ?? '')
      const payload = {
        pending: [...requests].map((requestId) => ({ requestId, ts: 1 })),
        paired: [...devices].map((deviceId) => ({ deviceId, role: 'operator' })),
      }
      return Response.json({ id: '1', ok: true, payload })
    },
  })
  return {
    devices,
    requests,
    calls,
    endpoint: { baseUrl: `http://127.0.0.1:${server.port}`, gatewayToken: 'gw_new', kind: 'openclaw' as const },
    [Symbol.asyncDispose]: () => server.stop(true),
  }
}

test('endPairings removes all devices when an OpenClaw gateway has paired and pending ones', async () => {
  await using administration = startAdministration()
  await gateway.endPairings(administration.endpoint)
  expect([administration.devices.size, administration.requests.size]).toEqual([0, 0])
})

test('endPairings sends nothing when the agent is the built-in one', async () => {
  await using administration = startAdministration()
  await gateway.endPairings({ ...administration.endpoint, kind: 'stead' })
  expect(administration.calls).toEqual([])
})

test.each([
  ['that refuses', { ok: false, error: { message: 'admin HTTP RPC method is not supported' } }],
  ['that answers something else', { ok: true, payload: [] }],
])('endPairings throws when a gateway %s', async (_what, answer) => {
  await using administration = startAdministration(() => answer)
  await expect(gateway.endPairings(administration.endpoint)).rejects.toMatchObject({ kind: 'upstream_failed' })
})
