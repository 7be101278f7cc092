import { expect, test } from 'bun:test'
import { existsSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { MP4, startVideoDouble } from '../../../../tests/harness/doubles/video.ts'
import { startJobs } from '../../../../tests/harness/jobs.ts'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { json, read } from '../../../../tests/harness/requests.ts'
import { until } from '../../../../tests/harness/until.ts'
import { write } from '../../../db/write.ts'
import { users } from '../../accounts/users/tables.ts'
import { usageLogs } from '../../ai/usage/tables.ts'
import { videoFilesJob } from './jobs.ts'
import { OwnVideoList, PendingVideo } from './schemas.ts'
import { videos } from './tables.ts'

const Finished = z.object({ url: z.string() })
const DEMO = { type: 'demo', agentName: 'Ada', agentDescription: 'Answers mail' }

async function openTestInstallation(
  first?: Parameters<typeof startVideoDouble>[0],
  settings: Record<string, string> = {},
) {
  const provider = startVideoDouble(first)
  const test = testPlatform({ environment: { ...provider.environment, ...settings } })
  const { cookie, user } = await test.signIn('ada@example.com', 'solo')
  const jobs = startJobs(test.platform)
  return {
    ...test,
    provider,
    cookie,
    user,
    generate: (body: object = DEMO, headers: Record<string, string> = {}) =>
      test.web.request('/api/generate-video', json('POST', body, { ...cookie, ...headers })),
    get: (url: string, headers: Record<string, string> = cookie) => test.web.request(url, { headers }),
    rows: () => test.platform.db.select().from(videos).all(),
    recordedUsage: async () => {
      await test.platform.usage.settle()
      return test.platform.db.select().from(usageLogs).all()
    },
    files: () =>
      existsSync(join(test.config.dataDir, 'videos')) ? readdirSync(join(test.config.dataDir, 'videos')) : [],
    [Symbol.asyncDispose]: async () => {
      await jobs[Symbol.asyncDispose]()
      await provider.stop()
    },
  }
}

const ASYNC = { prefer: 'respond-async' }

test('POST /api/generate-video: 200 with the URL when the video finishes quickly; GET /api/videos/:id: 200 for its owner only', async () => {
  await using test = await openTestInstallation()
  const response = await test.generate()
  expect(response.status).toBe(200)
  const { url } = await read(Finished, response)
  expect(url).toMatch(/^\/api\/videos\/vid_/)
  const video = await test.get(url)
  expect(video.status).toBe(200)
  expect(video.headers.get('content-type')).toBe('video/mp4')
  expect(new Uint8Array(await video.arrayBuffer())).toEqual(MP4)
  const part = await test.get(url, { ...test.cookie, range: 'bytes=2-4' })
  expect([part.status, part.headers.get('content-range')]).toEqual([206, `bytes 2-4/${MP4.byteLength}`])
  expect(new Uint8Array(await part.arrayBuffer())).toEqual(MP4.slice(2, 5))
  const [file = ''] = test.files()
  expect(statSync(join(test.config.dataDir, 'videos', file)).mode & 0o777).toBe(0o600)
  expect(test.rows()).toMatchObject([{ status: 'completed', sizeBytes: MP4.byteLength }])

  const eve = (await test.signIn('eve@example.com')).cookie
  const foreign = await test.get(url, eve)
  expect([foreign.status, await foreign.json()]).toEqual([404, { error: 'Video not found' }])
  expect((await test.get('/api/videos/vid_missing')).status).toBe(404)
  rmSync(join(test.config.dataDir, 'videos', file))
  expect((await test.get(url)).status).toBe(404)
  expect((await test.get(url, {})).status).toBe(401)
})

test('GET /api/videos: 200 with the user’s videos newest first, and the missing setting when none can be created; 401 without a session', async () => {
  await using test = await openTestInstallation()
  await test.generate()
  test.clock.advance(1000)
  await test.generate({ type: 'tutorial', topic: 'Tea', steps: ['Boil', 'Wait'] })
  const own = await read(OwnVideoList, test.get('/api/videos'))
  expect(own.videos.map(({ type, status }) => [type, status])).toEqual([
    ['tutorial', 'completed'],
    ['demo', 'completed'],
  ])
  expect(own).toMatchObject({ count: 2, obstacle: null })
  expect((await test.get(own.videos[0]?.url ?? '')).status).toBe(200)
  const eve = (await test.signIn('eve@example.com')).cookie
  expect((await read(OwnVideoList, test.get('/api/videos', eve))).videos).toEqual([])
  expect((await test.get('/api/videos', {})).status).toBe(401)

  const { web, signIn } = testPlatform()
  const { cookie } = await signIn('ada@example.com')
  const { obstacle } = await read(OwnVideoList, web.request('/api/videos', { headers: cookie }))
  expect(obstacle).toBe('Video generation is not configured: set VIDEO_BASE_URL and VIDEO_API_KEY')
})

test('POST /api/generate-video: 202 with Prefer: respond-async; the URL serves the video when it is finished', async () => {
  await using test = await openTestInstallation({ status: 'queued' })
  const response = await test.generate(DEMO, ASYNC)
  expect(response.status).toBe(202)
  const pending = await read(PendingVideo, response)
  expect(pending).toEqual({ id: expect.stringMatching(/^vid_/), status: 'queued', url: `/api/videos/${pending.id}` })
  await until('the order', () => test.rows()[0]?.status === 'processing')
  const early = await test.get(pending.url)
  expect([early.status, await early.json()]).toEqual([202, { ...pending, status: 'processing' }])
  test.provider.set({ status: 'in_progress' })
  await until('another look', () => {
    test.clock.advance(1000)
    return test.provider.requests.includes('GET /v1/videos/video_1')
  })
  test.provider.set({ status: 'completed' })
  await until('the video', async () => {
    test.clock.advance(1000)
    return (await test.get(pending.url)).status === 200
  })
  expect(test.provider.orders).toHaveLength(1)
})

test.each([
  [DEMO, ['Ada', 'Answers mail']],
  [{ type: 'marketing', productName: 'Stead', features: ['fast', 'small'] }, ['Stead', 'fast; small']],
  [{ type: 'marketing', productName: 'Stead', features: 'fast' }, ['Stead', 'fast']],
  [{ type: 'screenshot', imageUrl: 'https://example.com/a.png', description: 'The agents page' }, ['The agents page']],
  [
    { type: 'screenshot', imageUrl: 'https://ada:geheim@example.com/a.png', description: 'No password' },
    ['No password'],
  ],
  [{ type: 'tutorial', topic: 'Keys', steps: ['Open settings', 'Press create'] }, ['Keys', 'Step 2: Press create']],
])('POST /api/generate-video: when the body is %j, 200 with a prompt that contains its fields', async (body, words) => {
  await using test = await openTestInstallation()
  expect((await test.generate(body)).status).toBe(200)
  const [order] = test.provider.orders
  expect(order?.model).toBe('sora-2')
  for (const word of words) expect(order?.prompt).toContain(word)
  expect(order?.input_reference).toEqual('imageUrl' in body ? { image_url: 'https://example.com/a.png' } : undefined)
})

test.each([
  [{}, 'Invalid video type'],
  [{ type: 'opera' }, 'Invalid video type'],
  [{ type: 'demo' }, 'agentName required'],
  [{ type: 'demo', agentName: 'Ada', agentDescription: ' ' }, 'agentDescription required'],
  [{ type: 'marketing', productName: 'a', features: [] }, 'features must be text or a list of 1 to 30 texts'],
  [{ type: 'screenshot', imageUrl: 'file:///etc/passwd', description: 'x' }, 'imageUrl must be an http or https URL'],
  [{ type: 'tutorial', topic: 'x' }, 'steps must be text or a list of 1 to 30 texts'],
  [{ type: 'demo', agentName: 'x'.repeat(201), agentDescription: 'x' }, 'agentName must be at most 200 characters'],
])('POST /api/generate-video: 400 when the body is %j, and nothing is ordered', async (body, error) => {
  await using test = await openTestInstallation()
  const response = await test.generate(body)
  expect([response.status, await response.json()]).toEqual([400, { error }])
  expect(test.rows()).toEqual([])
})

test('POST /api/generate-video: 502 with the provider’s reason when it fails, also at the video’s URL', async () => {
  await using test = await openTestInstallation({
    status: 'failed',
    error: { code: 'moderation', message: 'Not this one' },
  })
  const response = await test.generate()
  expect(response.status).toBe(502)
  const [row] = test.rows()
  expect(await response.json()).toEqual({ error: 'Not this one', id: row?.id, status: 'failed' })
  expect((await test.get(`/api/videos/${row?.id}`)).status).toBe(502)
})

test('POST /api/generate-video: 502 without a retry when the provider rejects the request', async () => {
  await using test = await openTestInstallation()
  test.provider.refuseWith(() => Response.json({ error: { message: 'Prompt not allowed' } }, { status: 400 }))
  const response = await test.generate()
  expect(response.status).toBe(502)
  expect(await response.json()).toMatchObject({ error: 'The video provider refused: Prompt not allowed' })
  expect(test.provider.requests).toHaveLength(1)
})

test('videoJob retries when the provider fails temporarily, and the video completes', async () => {
  await using test = await openTestInstallation()
  test.provider.refuseWith(() => new Response('busy', { status: 503 }))
  const { url } = await read(PendingVideo, test.generate(DEMO, ASYNC))
  await until('the first attempt', () => test.logLines.some((line) => line.includes('job failed')))
  test.provider.refuseWith(null)
  await until('the video', async () => {
    test.clock.advance(1000)
    return (await test.get(url)).status === 200
  })
})

test.each([
  ['no video', () => new Response('<!doctype html>', { headers: { 'content-type': 'text/html' } })],
  ['nothing', () => new Response(new Uint8Array(0), { headers: { 'content-type': 'video/mp4' } })],
])('videoJob fails and leaves no file when the content is %s', async (_what, content) => {
  await using test = await openTestInstallation()
  test.provider.serve(content)
  const { url } = await read(PendingVideo, test.generate(DEMO, ASYNC))
  await until('the end', async () => {
    test.clock.advance(10_000)
    return (await test.get(url)).status === 502
  })
  expect(await (await test.get(url)).json()).toMatchObject({ error: 'The video provider failed', status: 'failed' })
  expect(test.files()).toEqual([])
})

test('videoJob fails a video when it takes more than half an hour', async () => {
  await using test = await openTestInstallation({ status: 'in_progress' })
  const { url } = await read(PendingVideo, test.generate(DEMO, ASYNC))
  await until('the order', () => test.rows()[0]?.status === 'processing')
  test.clock.advance(31 * 60_000)
  await until('the end', async () => (await test.get(url)).status === 502)
  expect(test.rows()[0]?.error).toBe('The video took too long')
})

test('POST /api/generate-video: 429 when two videos are in progress', async () => {
  await using test = await openTestInstallation({ status: 'in_progress' })
  const answers = await Promise.all(Array.from({ length: 6 }, () => test.generate(DEMO, ASYNC)))
  expect(answers.filter(({ status }) => status === 202)).toHaveLength(2)
  const refused = answers.find(({ status }) => status === 429)
  expect(await refused?.json()).toEqual({ error: 'Only 2 videos can be made at once' })
})

test('POST /api/generate-video: 503 without a provider, 401 without a session', async () => {
  const { web, signIn } = testPlatform()
  const { cookie } = await signIn()
  const response = await web.request('/api/generate-video', json('POST', DEMO, cookie))
  expect(response.status).toBe(503)
  expect(await response.json()).toEqual({
    error: 'Video generation is not configured: set VIDEO_BASE_URL and VIDEO_API_KEY',
    code: 'NOT_CONFIGURED',
  })
  expect((await web.request('/api/generate-video', json('POST', DEMO))).status).toBe(401)
})

test('POST /api/generate-video: 402 without an active plan, and no order is placed', async () => {
  await using test = await openTestInstallation()
  const { cookie } = await test.signIn('poor@example.com')
  const response = await test.generate(DEMO, cookie)
  expect([response.status, await response.json()]).toEqual([
    402,
    { error: 'Valid subscription required. Choose a plan at /pricing', success: false, code: 'PLAN_REQUIRED' },
  ])
  expect([test.rows(), test.provider.requests]).toEqual([[], []])
})

test.each([
  ['as long as it is', { status: 'completed', seconds: '8' }, {}, { costMicroUsd: 800_000, estimated: false }],
  [
    'at the operator’s price',
    { status: 'completed', seconds: '8' },
    { VIDEO_USD_PER_SECOND: '0.5' },
    { costMicroUsd: 4_000_000 },
  ],
  ['as long as usual where nobody says', { status: 'completed' }, {}, { costMicroUsd: 400_000, estimated: true }],
  [
    'at no cost when the price is unknown',
    { status: 'completed' },
    { VIDEO_MODEL: 'film-1' },
    { costMicroUsd: 0, model: 'film-1' },
  ],
])('videoJob records the cost once for the user, %s', async (_how, state, settings, row) => {
  await using test = await openTestInstallation(state, settings)
  expect((await test.generate()).status).toBe(200)
  expect(await test.recordedUsage()).toMatchObject([
    {
      ...{ userId: test.user.id, agentId: 'direct', endpoint: '/api/generate-video', provider: 'video', success: true },
      ...row,
    },
  ])
})

test('videoJob records no cost when the order is rejected, and an estimate when the response is unreadable', async () => {
  await using test = await openTestInstallation()
  test.provider.refuseWith(() => Response.json({ error: { message: 'Prompt not allowed' } }, { status: 400 }))
  await test.generate()
  expect(await test.recordedUsage()).toMatchObject([{ success: false, costMicroUsd: 0, estimated: false }])
  let isFirst = true
  test.provider.refuseWith(() => {
    if (isFirst) test.provider.refuseWith(null)
    isFirst = false
    return new Response('{"id":')
  })
  const { url } = await read(PendingVideo, test.generate(DEMO, ASYNC))
  await until('the video', async () => {
    test.clock.advance(1000)
    return (await test.get(url)).status === 200
  })
  const [, unread, second, ...others] = await test.recordedUsage()
  expect(unread).toMatchObject({ success: false, costMicroUsd: 400_000, estimated: true })
  expect([second?.success, others]).toEqual([true, []])
})

test('videoFilesJob deletes only the files of deleted accounts', async () => {
  await using test = await openTestInstallation()
  await test.generate()
  const [kept = ''] = test.files()
  writeFileSync(join(test.config.dataDir, 'videos/vid_gone.mp4'), 'x')
  const job = videoFilesJob(test.platform)
  const { signal } = new AbortController()
  await job.run(signal)
  expect(test.files()).toEqual([kept])
  await write(test.platform.db, (tx) => tx.delete(users).run())
  await job.run(signal)
  expect(test.files()).toEqual([])
})
