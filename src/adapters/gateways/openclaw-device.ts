import { createHash, createPrivateKey, createPublicKey, hkdfSync, type KeyObject, sign } from 'node:crypto'
import { z } from 'zod'

/** PKCS #8 of an Ed25519 key up to its 32 bytes (RFC 8410, 7). */
const PKCS8_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex')
const PublicJwk = z.object({ x: z.string() })

/** The platform as one agent's gateway knows it: who it says it is, and the key with which it proves that. */
type OpenClawDevice = { id: string; publicKey: string; privateKey: KeyObject }

/** What a gateway asks to be signed, so that nothing that was seen before can be sent again. */
export const Challenge = z.object({ nonce: z.string(), ts: z.number() })
export type Challenge = z.infer<typeof Challenge>

const CLIENT = { id: 'cli', version: '1.0.0', platform: 'linux', mode: 'cli' }
const ROLE = 'operator'
const SCOPES = ['operator.read', 'operator.write', 'operator.admin']

/**
 * The device of an agent, derived from its gateway token: whoever holds that owns the gateway anyway, and nothing has to
 * be stored. A rotated token makes another device, which is paired anew.
 */
export function toOpenClawDevice(gatewayToken: string): OpenClawDevice {
  const seed = Buffer.from(hkdfSync('sha256', gatewayToken, 'stead', 'openclaw device', 32))
  const privateKey = createPrivateKey({ key: Buffer.concat([PKCS8_HEAD, seed]), format: 'der', type: 'pkcs8' })
  const { x } = PublicJwk.parse(createPublicKey(privateKey).export({ format: 'jwk' }))
  const id = createHash('sha256').update(Buffer.from(x, 'base64url')).digest('hex')
  return { id, publicKey: x, privateKey }
}

/** The parameters of `connect` in protocol 4. */
export function toConnectParams(device: OpenClawDevice, token: string, challenge: Challenge) {
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

function signChallenge({ id, privateKey }: OpenClawDevice, token: string, { nonce, ts }: Challenge): string {
  const who = ['v3', id, CLIENT.id, CLIENT.mode, ROLE, SCOPES.join(',')]
  const signed = [...who, ts, token, nonce, CLIENT.platform, ''].join('|')
  return sign(null, Buffer.from(signed), privateKey).toString('base64url')
}
