import { createHash, createPrivateKey, createPublicKey, hkdfSync, type KeyObject, sign } from 'node:crypto'
import { z } from 'zod'
import { AppError } from '../../core/errors.ts'
import { listOf } from '../../core/text/lines.ts'
import type { AgentEndpoint, Ask } from './http.ts'

/** PKCS #8 prefix of an Ed25519 key (RFC 8410, section 7). */
const PKCS8_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex')
const PublicJwk = z.object({ x: z.string() })

/** The platform's identity towards one agent's gateway. */
type OpenClawDevice = { id: string; publicKey: string; privateKey: KeyObject }

/** The gateway's challenge, which prevents replays. */
export const OpenClawChallenge = z.object({ nonce: z.string(), ts: z.number() })
export type OpenClawChallenge = z.infer<typeof OpenClawChallenge>

const CLIENT = { id: 'cli', version: '1.0.0', platform: 'linux', mode: 'cli' }
const ROLE = 'operator'
const SCOPES = ['operator.read', 'operator.write', 'operator.admin']

/**
 * Derives the device of an agent from its gateway token, whose holder has full access anyway, so that nothing has to be
 * stored. A rotated token yields another device, which has to be paired again.
 */
export function toOpenClawDevice(gatewayToken: string): OpenClawDevice {
  const seed = Buffer.from(hkdfSync('sha256', gatewayToken, 'stead', 'openclaw device', 32))
  const privateKey = createPrivateKey({ key: Buffer.concat([PKCS8_HEAD, seed]), format: 'der', type: 'pkcs8' })
  const { x } = PublicJwk.parse(createPublicKey(privateKey).export({ format: 'jwk' }))
  const id = createHash('sha256').update(Buffer.from(x, 'base64url')).digest('hex')
  return { id, publicKey: x, privateKey }
}

/** Returns the `connect` parameters of protocol 4. */
export function toConnectParams(device: OpenClawDevice, token: string, challenge: OpenClawChallenge) {
  const { nonce, ts } = challenge
  return {
    minProtocol: 4,
    maxProtocol: 4,
    client: CLIENT,
    role: ROLE,
    scopes: SCOPES,
    caps: [],
    auth: { token },
    device: {
      id: device.id,
      publicKey: device.publicKey,
      signature: signChallenge(device, token, challenge),
      signedAt: ts,
      nonce,
    },
  }
}

function signChallenge({ id, privateKey }: OpenClawDevice, token: string, { nonce, ts }: OpenClawChallenge): string {
  const who = ['v3', id, CLIENT.id, CLIENT.mode, ROLE, SCOPES.join(',')]
  const signed = [...who, ts, token, nonce, CLIENT.platform, ''].join('|')
  return sign(null, Buffer.from(signed), privateKey).toString('base64url')
}

/** Limit for all devices together, however many the agent lists. */
const MAX_MS = 10 * 60_000

const Pairings = z.object({
  pending: listOf(z.object({ requestId: z.string() })),
  paired: listOf(z.object({ deviceId: z.string() })),
})

/** Approves a device that requested pairing. @throws AppError as the gateway. */
export async function approveOpenClawDevice(
  ask: Ask,
  endpoint: AgentEndpoint,
  requestId: string,
  timeoutMs: number,
): Promise<void> {
  await callAdmin(
    ask,
    endpoint,
    { method: 'device.pair.approve', params: { requestId } },
    { schema: z.unknown(), timeoutMs },
  )
}

/**
 * Removes every paired and pending device of an OpenClaw gateway, because their tokens outlive the gateway token. The
 * platform pairs again when needed.
 */
export async function endOpenClawPairings(ask: Ask, endpoint: AgentEndpoint, timeoutMs: number): Promise<void> {
  const endsAt = performance.now() + MAX_MS
  const call = <Schema extends z.ZodType>(schema: Schema, method: string, params: object) => {
    if (performance.now() > endsAt) throw new AppError('upstream_timeout', 'The agent did not answer in time')
    return callAdmin(ask, endpoint, { method, params }, { schema, timeoutMs })
  }
  const { pending, paired } = await call(Pairings, 'device.pair.list', {})
  for (const { requestId } of pending) await call(z.unknown(), 'device.pair.reject', { requestId })
  for (const { deviceId } of paired) await call(z.unknown(), 'device.pair.remove', { deviceId })
}

const Answer = z.object({ ok: z.literal(true), payload: z.unknown() })

async function callAdmin<Schema extends z.ZodType>(
  ask: Ask,
  endpoint: AgentEndpoint,
  call: { method: string; params: object },
  { schema, timeoutMs }: { schema: Schema; timeoutMs: number },
): Promise<z.infer<Schema>> {
  const answer = await ask(Answer, {
    endpoint,
    path: '/api/v1/admin/rpc',
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(call),
    timeoutMs,
  })
  const payload = schema.safeParse(answer.payload)
  if (payload.success) return payload.data
  throw new AppError('upstream_failed', 'The agent answered something unexpected', {}, { cause: payload.error })
}
