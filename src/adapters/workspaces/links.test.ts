import { expect, test } from 'bun:test'
import { mkdirSync, writeFileSync } from 'node:fs'
import { PassThrough } from 'node:stream'
import { tempFolder } from '../../../tests/harness/temp-folder.ts'
import { until } from '../../../tests/harness/until.ts'
import { createLog } from '../../core/log.ts'
import type { ByteLink } from '../files/channel.ts'
import { createGitRunner } from '../git/runner.ts'
import type { FilesLink } from '../runtimes/contract/runtime.ts'
import { createWorkspaceLinks } from './links.ts'
import { serveWorkspace } from './server.ts'

const log = createLog('silent')
const git = createGitRunner()

/** Opens two ends of a connection and tracks whether the local one was closed. */
function openPair() {
  const [there, back] = [new PassThrough(), new PassThrough()]
  let isClosed = false
  const write = (stream: PassThrough) => async (text: string) => {
    stream.write(text)
  }
  const ours: FilesLink = {
    input: back,
    write: write(there),
    async close() {
      isClosed = true
      there.end()
      back.end()
    },
  }
  const theirs: ByteLink = { input: there, write: write(back) }
  return { ours, theirs, end: () => back.end(), isClosed: () => isClosed }
}

/** Serves `folder` as the files of every agent and records each connection. */
function openInstallation(folder: string, options: { idleMs?: number; maxLinks?: number } = {}) {
  const pairs: ReturnType<typeof openPair>[] = []
  const links = createWorkspaceLinks({ log, ...options })
  const connect = async () => {
    const pair = openPair()
    pairs.push(pair)
    void serveWorkspace(pair.theirs, { base: folder, below: [] }, git)
    return pair.ours
  }
  const read = (agentId: string) => links.use(agentId, connect, async (files) => (await files.read('a')).content)
  return { links, pairs, connect, read }
}

/** Answers each request with the result of `answer`, like an untrusted peer. */
async function answerWith(link: ByteLink, answer: (question: { m: string; i: string }) => unknown): Promise<void> {
  let rest = ''
  for await (const chunk of link.input) {
    const lines = (rest + Buffer.from(chunk).toString()).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const question = JSON.parse(line)
      if (question.t === 'q') await link.write(`${JSON.stringify({ t: 's', i: question.i, r: answer(question) })}\n`)
    }
  }
}

test('use shares one connection, closes it when idle and reconnects', async () => {
  using folder = tempFolder()
  writeFileSync(folder.file('a'), 'hello')
  const { links, pairs, read } = openInstallation(folder.path, { idleMs: 30 })
  expect(await Promise.all([read('ada'), read('ada'), read('ada')])).toEqual(['hello', 'hello', 'hello'])
  expect(pairs).toHaveLength(1)
  await until('the end of the idle one', () => pairs[0]?.isClosed())
  expect(await read('ada')).toBe('hello')
  expect(pairs).toHaveLength(2)
  await links.close()
  expect(pairs.every((pair) => pair.isClosed())).toBe(true)
})

test('use closes the longest idle link at the limit and rejects when all are in use', async () => {
  using folder = tempFolder()
  writeFileSync(folder.file('a'), 'hello')
  const { links, pairs, connect, read } = openInstallation(folder.path, { maxLinks: 2 })
  await read('ada')
  await read('bo')
  await read('cy')
  expect(pairs.map((pair) => pair.isClosed())).toEqual([true, false, false])
  const held = Promise.withResolvers<void>()
  const holding = ['bo', 'cy'].map((id) => links.use(id, connect, () => held.promise))
  await expect(read('ada')).rejects.toMatchObject({ kind: 'unavailable', message: expect.stringMatching(/too many/) })
  held.resolve()
  await Promise.all(holding)
  expect(await read('ada')).toBe('hello')
  await links.close()
})

test('use keeps a connection open while a download is read', async () => {
  using folder = tempFolder()
  writeFileSync(folder.file('a'), Buffer.alloc(500_000, 'x'))
  const { links, pairs, connect } = openInstallation(folder.path, { idleMs: 10 })
  const { body } = await links.use('ada', connect, (files) => files.download('a'))
  const reader = body.getReader()
  let bytes = 0
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    bytes += piece.value.length
    // Three times as long as an idle connection is kept.
    await Bun.sleep(30)
    if (bytes < 400_000) expect(pairs[0]?.isClosed()).toBe(false)
  }
  expect(bytes).toBe(500_000)
  await until('the end of the idle one', () => pairs[0]?.isClosed())
  await links.close()
})

test('use rejects pending calls and reconnects when the peer disconnects', async () => {
  using folder = tempFolder()
  writeFileSync(folder.file('a'), 'hello')
  const { links, pairs, connect, read } = openInstallation(folder.path)
  const cut = links.use('ada', connect, async (files) => {
    await files.read('a')
    pairs[0]?.end()
    return files.read('a')
  })
  await expect(cut).rejects.toMatchObject({ kind: 'unavailable' })
  expect(await read('ada')).toBe('hello')
  await links.close()
})

test.each([
  ['nothing', async (link: ByteLink) => void (await link.write('').then(() => link.write('')))],
  ['no JSON', async (link: ByteLink) => link.write('Segmentation fault\n')],
  ['JSON that is no message', async (link: ByteLink) => link.write('null\n')],
  ['another protocol', (link: ByteLink) => answerWith(link, () => ({ result: { protocol: 99 } }))],
  ['an answer of no form', (link: ByteLink) => answerWith(link, () => 'yes')],
])('use rejects with 503 when the peer sends %s', async (_what, speak) => {
  const links = createWorkspaceLinks({ log })
  const pair = openPair()
  const connect = async () => {
    void speak(pair.theirs).then(() => pair.end())
    return pair.ours
  }
  await expect(links.use('ada', connect, (files) => files.tree(1))).rejects.toMatchObject({
    kind: 'unavailable',
    extra: { code: 'NOT_CONFIGURED' },
  })
  await until('the end of it', () => pair.isClosed())
})

test('use gives a compromised peer no credentials and nothing but the push', async () => {
  const seen: string[] = []
  using remote = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: (request) => {
      seen.push(`${new URL(request.url).pathname} ${request.headers.get('authorization')}`)
      return new Response('', { status: 401 })
    },
  })
  const origin = `http://127.0.0.1:${remote.port}`
  const pair = openPair()
  const heard: string[] = []
  const ask = (url: string, headers = {}) =>
    pair.theirs.write(
      `${JSON.stringify({ t: 'q', i: url, m: 'ask', a: [{ url, method: 'GET', headers, body: '' }] })}\n`,
    )
  const wanted = `${origin}/repo.git/info/refs?service=git-receive-pack`
  const countAnswers = () => heard.filter((line) => JSON.parse(line).t === 's').length
  const answer = async (m: string): Promise<unknown> => {
    if (m === 'hello') {
      await ask(`${wanted}&early`)
      await until('the answer', () => countAnswers() === 1)
      return { protocol: 1 }
    }
    await ask(`${origin}/admin`)
    await ask(wanted, { authorization: 'Basic forged' })
    await until('both answers', () => countAnswers() === 3)
    return 'refused'
  }
  const serve = async () => {
    for await (const chunk of pair.theirs.input) {
      for (const line of Buffer.from(chunk).toString().split('\n').filter(Boolean)) {
        heard.push(line)
        const { t, i, m } = JSON.parse(line)
        const reply = async () =>
          pair.theirs.write(`${JSON.stringify({ t: 's', i, r: { result: await answer(m) } })}\n`)
        if (t === 'q') void reply()
      }
    }
  }
  void serve()
  const links = createWorkspaceLinks({ log })
  const credentials = [
    { origin, username: 'ada', password: 'git-password-1' },
    { origin: 'http://other.example', username: 'bo', password: 'git-password-2' },
  ]
  const pushed = await links.use(
    'ada',
    async () => pair.ours,
    (files) => files.push({ allowPrivate: true, credentials }),
  )
  expect(pushed).toBe('refused')
  const basic = `Basic ${btoa('ada:git-password-1')}`
  // Only the push was sent: earlier and other requests were rejected, and forged headers were removed.
  expect(seen).toEqual(['/repo.git/info/refs null', `/repo.git/info/refs ${basic}`])
  expect(heard.join('')).not.toContain('git-password')
  expect(heard.join('')).not.toContain(basic)
  const answers = heard.map((line) => JSON.parse(line)).filter(({ t }) => t === 's')
  expect(answers.map(({ r }) => r.failure?.kind ?? r.result.status)).toEqual(['forbidden', 'forbidden', 401])
  await links.close()
})

test('use rejects when a remote peer names a path outside the workspace', async () => {
  using folder = tempFolder()
  mkdirSync(folder.file('workspace'))
  writeFileSync(folder.file('a'), 'outside')
  const { links, connect } = openInstallation(folder.file('workspace'))
  for (const path of ['../a', '/etc/passwd', 'x/../../a', '.git/config'])
    await expect(links.use('ada', connect, (files) => files.write(path, Buffer.from('x')))).rejects.toMatchObject({
      kind: 'invalid',
    })
  await links.close()
})
