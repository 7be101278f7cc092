import { expect, test } from 'bun:test'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { read } from '../../../../tests/harness/requests.ts'
import { VERSION } from '../../../core/version.ts'
import { UpdateNotice } from './schemas.ts'

/** An administrator of a platform whose release feed is a real HTTP server that answers `answer()`. */
async function withFeed(answer: () => Response, isConfigured = true) {
  let requests = 0
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: () => {
      requests += 1
      return answer()
    },
  })
  const feed: Record<string, string> = isConfigured
    ? { RELEASE_FEED_URL: `http://127.0.0.1:${server.port}/latest` }
    : {}
  const test = testPlatform({ environment: { ADMIN_EMAILS: 'root@example.com', ...feed } })
  const admin = await test.signIn('root@example.com')
  const get = (headers: Record<string, string> = admin.cookie) => test.web.request('/api/admin/update', { headers })
  return {
    ...test,
    get,
    check: async () => {
      await test.platform.admin.releaseFeed.check(new AbortController().signal)
      return read(UpdateNotice, get())
    },
    countRequests: () => requests,
    [Symbol.asyncDispose]: () => server.stop(true),
  }
}

test.each<[object, string, boolean, string | null]>([
  [{ version: '999.0.0', url: 'https://example.com/999' }, '999.0.0', true, 'https://example.com/999'],
  [{ tag_name: 'v999.1.0', html_url: 'https://example.com/r' }, '999.1.0', true, 'https://example.com/r'],
  [{ version: VERSION }, VERSION, false, null],
  [{ version: '0.0.1' }, '0.0.1', false, null],
])('GET /api/admin/update: 200 when the feed returns %j', async (release, latest, isNewer, url) => {
  await using test = await withFeed(() => Response.json(release))
  const notice = await test.check()
  expect(notice).toMatchObject({ isConfigured: true, current: VERSION, latest, isNewer, url, error: null })
  expect(notice.checkedAt).not.toBeNull()
})

test('GET /api/admin/update: 200 and nothing is requested without RELEASE_FEED_URL', async () => {
  await using test = await withFeed(() => Response.json({ version: '999.0.0' }), false)
  expect(await test.check()).toMatchObject({ isConfigured: false, latest: null, isNewer: false, checkedAt: null })
  expect(test.countRequests()).toBe(0)
})

test.each<[string, () => Response, string]>([
  ['an error', () => new Response('no', { status: 500 }), 'the feed answered 500'],
  ['no JSON', () => new Response('<html>'), 'JSON'],
  ['no version', () => Response.json({ version: 'newest' }), 'the feed does not name a version'],
  ['a link that is no web address', () => Response.json({ version: '9.9.9', url: 'javascript:alert(1)' }), 'version'],
])(
  'GET /api/admin/update: 200 with the reason when the feed returns %s; the last known version stays',
  async (_what, bad, error) => {
    let answer = () => Response.json({ version: '999.0.0' })
    await using test = await withFeed(() => answer())
    await test.check()
    answer = bad
    expect(await test.check()).toMatchObject({
      latest: '999.0.0',
      isNewer: true,
      error: expect.stringContaining(error),
    })
  },
)

test('GET /api/admin/update: 401 without a session, 403 for a user who is not an administrator', async () => {
  await using test = await withFeed(() => Response.json({}))
  expect((await test.get({})).status).toBe(401)
  expect((await test.get((await test.signIn('ada@example.com')).cookie)).status).toBe(403)
})
