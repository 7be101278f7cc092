import { expect, test } from 'bun:test'
import { createTokenTrial } from '../../../src/adapters/channels/try-tokens.ts'
import { createIdpA } from '../../../src/adapters/identity/idp-a.ts'
import { createIdpB } from '../../../src/adapters/identity/idp-b.ts'
import { createIssuerKeys } from '../../../src/adapters/identity/issuer-keys.ts'
import { createRadioProvider } from '../../../src/adapters/media/radio.ts'
import { createVideoProvider } from '../../../src/adapters/media/video.ts'
import { createWebSearch } from '../../../src/adapters/search/search.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { findHold } from '../../harness/speed/loop-hold.ts'
import { measureSlowness } from '../../harness/speed/machine-speed.ts'

const HOLD_MS = 50
const TIMEOUT_MS = 600_000
const signIn = { redirectUri: 'http://here', state: 's', nonce: 'n', codeVerifier: 'v'.repeat(50) }
const identity = { clientId: 'a', clientSecret: 'b', timeoutMs: TIMEOUT_MS }

/** Returns a call of each external service of the operator, all of them at `url`. */
function listAsks(url: string, plainFetch: typeof fetch): (() => Promise<unknown>)[] {
  const search = createWebSearch({ searxngUrl: url, braveApiKey: undefined }, { fetch: plainFetch })
  const radio = createRadioProvider({ apiUrl: url, apiId: 'a', apiToken: 'b' }, { fetch: plainFetch })
  const video = createVideoProvider(
    { baseUrl: url, apiKey: 'a', model: 'm', usdPerSecond: undefined },
    { fetch: plainFetch },
  )
  const keys = createIssuerKeys({ configurationUrls: [url] }, { fetch: plainFetch, clock: systemClock })
  const trial = createTokenTrial({ telegram: url, discord: url, slack: url }, plainFetch)
  const idpA = createIdpA({ ...identity, authorizeUrl: url, tokenUrl: url, apiUrl: url }, { fetch: plainFetch })
  const idpB = createIdpB({ ...identity, issuer: url }, { fetch: plainFetch })
  return [
    () => search.search('x'),
    () => radio.listLive(),
    () => video.find('x', AbortSignal.timeout(TIMEOUT_MS)),
    () => keys({ alg: 'RS256', kid: 'x' }, { payload: '', signature: '' }),
    () => trial({ slackBotToken: 'x' }),
    async () => idpA?.identify({ ...signIn, code: 'c', search: '?code=c&state=s' }),
    async () => idpB?.startUrl(signIn),
  ]
}

const many = (one: string, bytes: number) => `[${`${one},`.repeat(bytes / (one.length + 1) - 1)}${one}]`

test.each([
  ['nothing, a million times', many('{}', 3_000_000)],
  ['nothing, as often as is read', many('{}', 80_000)],
  ['lists in each other', '['.repeat(500_000) + ']'.repeat(500_000)],
])(
  'callers are not blocked when services send %s',
  async (_what, said) => {
    const limitMs = HOLD_MS * measureSlowness()
    for (const name of ['results', 'data', 'keys', 'error', 'scopes_supported']) {
      using server = Bun.serve({
        hostname: '127.0.0.1',
        port: 0,
        fetch: () => new Response(`{"${name}":${said}}`, { headers: { 'content-type': 'application/json' } }),
      })
      const asks = listAsks(`http://127.0.0.1:${server.port}`, fetch)
      for (const ask of asks) {
        // The first call loads the library.
        expect(await findHold(limitMs, () => expect(ask()).rejects.toThrow())).toBeLessThan(limitMs)
      }
    }
  },
  TIMEOUT_MS,
)

test('a request ends when a service never stops sending', async () => {
  let sentBytes = 0
  using server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: () =>
      new Response(
        new ReadableStream({
          pull(controller) {
            sentBytes += 100_000
            controller.enqueue(new Uint8Array(100_000).fill(0x20))
          },
        }),
        { headers: { 'content-type': 'application/json' } },
      ),
  })
  const asks = listAsks(`http://127.0.0.1:${server.port}`, fetch)
  for (const ask of asks) await expect(ask()).rejects.toThrow()
  expect(sentBytes).toBeLessThan(asks.length * 16_000_000)
}, 600_000)
