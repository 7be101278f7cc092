import { createHmac } from 'node:crypto'
import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'

type SigningKey = { kid: string; privateKey: CryptoKey; jwk: JWK }

/** An issuer of security event tokens over HTTP: configuration, keys, and tokens signed for a test. */
export type EventIssuer = Disposable & {
  issuer: string
  /** Number of requests for the keys. */
  keyFetches(): number
  /** Signs a token with the newest key. `header` and `claims` override the defaults; undefined removes a field. */
  sign(claims?: Record<string, unknown>, header?: Record<string, unknown>): Promise<string>
  /** Rotates the signing key and removes the old one from the published set. */
  rotate(): Promise<void>
  /** Sets the status of all responses; 200 restores normal operation. */
  answerWith(status: number): void
}

const CLIENT_ID = 'stead-client'

/** Starts an issuer whose tokens are for the client `stead-client`. */
export async function startEventIssuer(): Promise<EventIssuer> {
  const keys = [await newKey(1)]
  let fetches = 0
  let status = 200
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch(request) {
      const { pathname, origin } = new URL(request.url)
      if (status !== 200) return new Response('down', { status })
      if (pathname === '/keys') {
        fetches++
        return Response.json({ keys: keys.slice(-1).map(({ jwk }) => jwk) })
      }
      const isConfiguration = /^\/\.well-known\/(risc|openid)-configuration$/.test(pathname)
      return isConfiguration
        ? Response.json({ issuer: origin, jwks_uri: `${origin}/keys` })
        : new Response('no', { status: 404 })
    },
  })
  const issuer = server.url.origin

  return {
    issuer,
    keyFetches: () => fetches,
    async sign(claims = {}, header = {}) {
      const key = keys.at(-1)
      if (!key) throw new Error('The issuer has no key')
      const payload = { iss: issuer, aud: CLIENT_ID, jti: crypto.randomUUID(), ...claims }
      return new SignJWT(withoutUndefined(payload))
        .setProtectedHeader({ alg: 'RS256', kid: key.kid, ...header })
        .sign(key.privateKey)
    },
    async rotate() {
      keys.push(await newKey(keys.length + 1))
    },
    answerWith(next) {
      status = next
    },
    [Symbol.dispose]: () => void server.stop(true),
  }
}

/** Returns the settings of a platform that accepts this issuer. */
export function settingsFor({ issuer }: EventIssuer): Record<string, string> {
  return { RISC_ISSUER: issuer, IDP_B_ISSUER: issuer, RISC_AUDIENCES: CLIENT_ID }
}

/** Returns a token with any claims, signed with a key unknown to the issuer. */
export function forge(header: Record<string, unknown>, claims: Record<string, unknown>, secret?: string): string {
  const encode = (part: unknown) => Buffer.from(JSON.stringify(part)).toString('base64url')
  const signed = `${encode(header)}.${encode(claims)}`
  const signature = secret === undefined ? '' : createHmac('sha256', secret).update(signed).digest('base64url')
  return `${signed}.${signature}`
}

/** Generating a key takes 100 ms, so all issuers of a process share them. */
const made = new Map<number, Promise<SigningKey>>()

function newKey(number: number): Promise<SigningKey> {
  const key = made.get(number) ?? makeKey(number)
  made.set(number, key)
  return key
}

async function makeKey(number: number): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair('RS256', { extractable: true })
  const kid = `key-${number}`
  return { kid, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, use: 'sig', alg: 'RS256' } }
}

function withoutUndefined(claims: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== undefined))
}
