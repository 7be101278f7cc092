import { createHash, createPublicKey, verify } from 'node:crypto'
import { z } from 'zod'
import type { AgentEndpoint } from '../../../src/adapters/gateways/http.ts'

const Request = z.object({ type: z.literal('req'), id: z.string(), method: z.string(), params: z.looseObject({}) })
const Connect = z.object({
  client: z.object({ id: z.string(), platform: z.string(), mode: z.string() }),
  role: z.string(),
  scopes: z.array(z.string()),
  auth: z.object({ token: z.string() }),
  device: z.object({
    id: z.string(),
    publicKey: z.string(),
    signature: z.string(),
    signedAt: z.number(),
    nonce: z.string(),
  }),
})
const Approval = z.object({ method: z.literal('device.pair.approve'), params: z.object({ requestId: z.string() }) })

type Answering = (method: string, params: Record<string, unknown>) => unknown

/** Creates the error response of a gateway. */
export const refusal = (message: string) => ({ error: { code: 'INVALID_REQUEST', message } })
export const SILENCE = Symbol('silence')

/** An OpenClaw gateway with protocol 4: it verifies signatures, requires pairing, and answers as the test defines. */
type OpenClawDouble = AsyncDisposable & { endpoint: AgentEndpoint; calls: string[]; paired: Set<string> }

/** With `isStubborn`, no device is approved. */
export function startOpenClawDouble(
  answer: Answering,
  { isStubborn = false, gatewayToken = 'gw_1' } = {},
): OpenClawDouble {
  const calls: string[] = []
  const paired = new Set<string>()
  const nonce = crypto.randomUUID()
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request, server) {
      if (server.upgrade(request)) return undefined
      const approval = Approval.safeParse(await request.json())
      const isOwner = request.headers.get('authorization') === `Bearer ${gatewayToken}`
      if (!isOwner || !approval.success) return Response.json({ error: { message: 'Unauthorized' } }, { status: 401 })
      if (!isStubborn) paired.add(approval.data.params.requestId)
      return Response.json({ id: '1', ok: true, payload: {} })
    },
    websocket: {
      open: (socket) => void socket.send(JSON.stringify(event('connect.challenge', { nonce, ts: 1_800_000_000_000 }))),
      message(socket, text) {
        const { id, method, params } = Request.parse(JSON.parse(String(text)))
        calls.push(method)
        const result = method === 'connect' ? connect(params) : answer(method, params)
        if (result === SILENCE) return
        const isRefusal = z.object({ error: z.unknown() }).safeParse(result).success
        const body = isRefusal ? { ok: false, ...z.looseObject({}).parse(result) } : { ok: true, payload: result }
        socket.send(JSON.stringify(event('tick', {})))
        socket.send(JSON.stringify({ type: 'res', id, ...body }))
      },
    },
  })

  function connect(params: unknown) {
    const { device, auth, client, role, scopes } = Connect.parse(params)
    const raw = Buffer.from(device.publicKey, 'base64url')
    const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: device.publicKey }, format: 'jwk' })
    const signed = ['v3', device.id, client.id, client.mode, role, scopes.join(','), device.signedAt, auth.token]
    const text = [...signed, nonce, client.platform, ''].join('|')
    const isSigned = verify(null, Buffer.from(text), key, Buffer.from(device.signature, 'base64url'))
    const isItself = createHash('sha256').update(raw).digest('hex') === device.id
    if (!isSigned || !isItself || auth.token !== gatewayToken) return refusal('device identity invalid')
    if (paired.has(device.id)) return { server: { version: '2026.9.4' } }
    return { error: { code: 'NOT_PAIRED', message: 'pairing required', details: { requestId: device.id } } }
  }
  return {
    endpoint: { baseUrl: `http://127.0.0.1:${server.port}`, gatewayToken, kind: 'openclaw' },
    calls,
    paired,
    [Symbol.asyncDispose]: () => server.stop(true),
  }
}

function event(name: string, payload: object) {
  return { type: 'event', event: name, payload }
}
