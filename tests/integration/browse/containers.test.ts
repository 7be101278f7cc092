import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { lstatSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buildAgentImage } from '../../harness/engines/built-image.ts'
import { execIn, findEngine } from '../../harness/engines/engine.ts'
import { roundsOf } from '../../harness/rounds.ts'
import { tempFolder } from '../../harness/temp-folder.ts'
import { until } from '../../harness/until.ts'
import { readLines } from '../../harness/wires/lines.ts'
import { AGENT_UID, giveToAgent, openContainerInstallation, openProxy } from './container-installation.ts'
import { LOGIN, startGitServer } from './git-server.ts'
import { openPlace, VECTORS } from './hostile-repositories.ts'
import { fill } from './installation.ts'
import { git, HAS_GIT, initRepository } from './repository.ts'

/**
 * Number of operations that race with a swapping process: `BROWSE_OPERATIONS=20000 bun test
 * tests/integration/browse/containers.test.ts`.
 */
const OPERATIONS = roundsOf('BROWSE_OPERATIONS', 200)
const PATIENCE_MS = 300_000
const SECRET = 'what-the-agent-alone-knows'
const WAYS = ['opened as root', 'served by a container'] as const
const withGit = HAS_GIT ? test : test.skip

const found = await findEngine()

describe.skipIf(!found || process.getuid?.() !== 0)('files of agents in containers', () => {
  if (!found) return
  const { docker } = found
  let image = ''
  let proxy: Awaited<ReturnType<typeof openProxy>>

  beforeAll(async () => {
    image = await buildAgentImage(found.dockerHost)
    proxy = await openProxy(found.dockerHost)
  }, PATIENCE_MS * 3)
  afterAll(() => proxy[Symbol.asyncDispose]())

  const openTestInstallation = (way: (typeof WAYS)[number], logLines: string[] = []) =>
    openContainerInstallation(found, {
      logLines,
      ...(way === 'served by a container' && { dockerHost: proxy.dockerHost, filesImages: ['nobody/has:1', image] }),
    })

  describe.each(WAYS)('%s', (way) => {
    test(
      'files are listed, read, written, moved and deleted while the agent runs or not, and stay owned by it',
      async () => {
        await using installation = await openTestInstallation(way)
        for (const isRunning of [true, false]) {
          if (!isRunning) await installation.runtime.stop(installation.id)
          expect(await installation.post('write', { path: 'notes/a.md', content: 'hello' })).toMatchObject({
            status: 200,
          })
          expect((await installation.post('mkdir', { path: 'empty' })).status).toBe(201)
          expect((await installation.get('read?path=notes/a.md')).body).toMatchObject({
            ok: true,
            content: 'hello',
            size: 5,
          })
          expect(JSON.stringify((await installation.get('tree')).body)).toContain('"path":"notes/a.md"')
          expect((await installation.get('search?q=HELL&in=content')).body).toMatchObject({
            matches: [{ path: 'notes/a.md', line: 1, text: 'hello' }],
          })
          for (const path of ['notes', 'notes/a.md', 'empty']) {
            const { uid, gid } = lstatSync(join(installation.folder, path))
            expect({ path, uid, gid }).toEqual({ path, uid: AGENT_UID, gid: AGENT_UID })
          }
          if (isRunning) {
            const append = ['sh', '-c', 'echo more >> /data/workspace/notes/a.md']
            expect((await execIn(docker, installation.name, append)).exitCode).toBe(0)
            expect((await installation.get('read?path=notes/a.md')).body).toMatchObject({ content: 'hellomore\n' })
          }
          expect((await installation.post('rename', { from: 'notes/a.md', to: 'b.md' })).status).toBe(200)
          expect((await installation.delete('delete?path=b.md')).status).toBe(200)
          expect((await installation.get('read?path=b.md')).status).toBe(400)
          expect((await installation.delete('delete?path=notes')).status).toBe(200)
          expect((await installation.delete('delete?path=empty')).status).toBe(200)
        }
      },
      PATIENCE_MS,
    )

    test(
      'downloads return the bytes of uploads, and hashes prevent overwriting changed files',
      async () => {
        await using installation = await openTestInstallation(way)
        const bytes = Buffer.alloc(3_000_000)
        for (let at = 0; at < bytes.length; at += 4) bytes.writeUInt32LE(at, at)
        writeFileSync(join(installation.folder, 'large.bin'), bytes)
        const download = await installation.request('download?path=large.bin')
        expect(download.headers.get('content-length')).toBe(String(bytes.length))
        expect(Buffer.from(await download.arrayBuffer()).equals(bytes)).toBe(true)
        const left = await installation.request('download?path=large.bin')
        await left.body?.cancel()
        const upload = { method: 'POST', body: bytes.subarray(0, 900_000) }
        expect((await installation.request('upload?path=small.bin', upload)).status).toBe(201)
        expect(readFileSync(join(installation.folder, 'small.bin')).equals(bytes.subarray(0, 900_000))).toBe(true)
        const { hash } = (await installation.post('write', { path: 'x', content: 'one', ifMatch: null })).body
        expect((await installation.post('write', { path: 'x', content: 'two', ifMatch: null })).body).toMatchObject({
          ok: false,
          code: 'FILE_CHANGED',
          hash,
        })
        expect((await installation.post('write', { path: 'x', content: 'two', ifMatch: hash })).status).toBe(200)
      },
      PATIENCE_MS,
    )

    test(
      'links never lead outside the workspace, even when they are swapped concurrently',
      async () => {
        await using installation = await openTestInstallation(way)
        // The volume's folder on the host, or its path in the container.
        const seenAt = way === 'opened as root' ? installation.state : '/data'
        const outside = join(installation.state, 'outside')
        fill(outside, { canary: SECRET, x: SECRET, 'inner/x': SECRET })
        fill(installation.folder, { file: 'inside', 'folder/x': 'inside', 'folder/inner/x': 'inside' })
        for (const [name, target] of Object.entries({
          up: '..',
          out: `${seenAt}/outside`,
          etc: '/etc',
          self: '/proc/self',
        }))
          symlinkSync(target, join(installation.folder, name))
        giveToAgent(installation.state)
        for (const path of ['up/outside/canary', 'out/canary', 'etc/passwd', 'self/environ', 'up', 'etc']) {
          expect([path, (await installation.get(`read?path=${path}`)).status]).toEqual([path, 400])
          expect([path, (await installation.post('write', { path: `${path}/new`, content: 'x' })).status]).toEqual([
            path,
            400,
          ])
        }
        const before = [readFileSync(join(outside, 'canary'), 'utf8'), readFileSync(join(outside, 'x'), 'utf8')]
        await using _swapper = await startSwapper(installation.folder, `${seenAt}/outside`)
        const work = [
          () => installation.get('read?path=folder/x'),
          () => installation.get('read?path=file'),
          () => installation.get('read?path=folder/inner/x'),
          () => installation.get('read?path=folder/canary'),
          () => installation.get('tree?depth=4'),
          () => installation.post('mkdir', { path: 'folder/inner/made' }),
          () => installation.delete('delete?path=folder/inner/made'),
          () => installation.delete('delete?path=folder/inner/x'),
          () => installation.post('write', { path: 'folder/x', content: 'inside' }),
          () => installation.post('write', { path: 'folder/inner/x', content: 'inside' }),
        ]
        const statuses = new Map<number, number>()
        const reported: string[] = []
        let started = 0
        const loop = async () => {
          while (started < OPERATIONS) {
            const { status, body } = (await work[started++ % work.length]?.()) ?? { status: 0, body: {} }
            statuses.set(status, (statuses.get(status) ?? 0) + 1)
            const answer = JSON.stringify(body)
            if (answer.includes(SECRET) || answer.includes('"path":"folder/canary"')) reported.push(answer)
          }
        }
        await Promise.all(Array.from({ length: 8 }, loop))
        console.log(`${way}: ${JSON.stringify(Object.fromEntries(statuses))}`)
        expect(reported).toEqual([])
        expect([readFileSync(join(outside, 'canary'), 'utf8'), readFileSync(join(outside, 'x'), 'utf8')]).toEqual(
          before,
        )
        expect([...statuses.keys()].filter((status) => status >= 500)).toEqual([])
        expect(Math.min(statuses.get(200) ?? 0, statuses.get(400) ?? 0)).toBeGreaterThan(0)
      },
      PATIENCE_MS * 4,
    )

    withGit(
      'are a repository as well: status, diff, log and commits, and nothing that it names is run',
      async () => {
        await using installation = await openTestInstallation(way)
        for (const { name, arrange } of VECTORS) {
          Bun.spawnSync(['rm', '-rf', installation.folder])
          using place = openPlace(installation.folder)
          arrange(place)
          giveToAgent(installation.folder)
          const answers = [
            await installation.get('git-status'),
            await installation.get('git-diff'),
            await installation.post('git-sync', { message: 'all of it' }),
            await installation.get('git-log'),
          ]
          expect([name, answers.map(({ status }) => status)]).toEqual([name, [200, 200, 200, 200]])
          expect(answers[2]?.body).toMatchObject({ committed: true })
          expect(answers[3]?.body).toMatchObject({ commits: [{ subject: 'all of it' }, { subject: 'start' }] })
          expect([name, place.markers()]).toEqual([name, []])
          expect(lstatSync(join(installation.folder, '.git/index')).uid).toBe(AGENT_UID)
        }
      },
      PATIENCE_MS * 4,
    )

    withGit(
      'are pushed with the password of the remote, which nobody else is told',
      async () => {
        using folder = tempFolder()
        const logLines: string[] = []
        await using installation = await openTestInstallation(way, logLines)
        await using server = startGitServer(folder.path)
        const asked: (string | null)[] = []
        using thief = Bun.serve({
          hostname: '127.0.0.1',
          port: 0,
          fetch: (request) => {
            asked.push(request.headers.get('authorization'))
            return new Response('', { status: 401, headers: { 'www-authenticate': 'Basic realm="git"' } })
          },
        })
        Bun.spawnSync(['rm', '-rf', installation.folder])
        initRepository(installation.folder)
        git(installation.folder, ['remote', 'add', 'origin', server.create('repo.git')])
        fill(installation.folder, { 'a.txt': 'one\n', 'deep/b.txt': 'two\n' })
        giveToAgent(installation.folder)
        expect((await installation.post('git-sync', {})).body.message).toBe(
          'Committed, not pushed: the remote wants credentials that it accepts',
        )
        expect((await installation.put('git-credentials', { origin: server.origin, ...LOGIN })).status).toBe(200)
        fill(installation.folder, { 'a.txt': 'two\n' })
        const synced = (await installation.post('git-sync', { message: 'second' })).body
        expect(synced).toMatchObject({ ok: true, committed: true, pushed: true })
        expect(server.log('repo.git')).toContain(`${synced.hash} second`)
        const config = join(installation.folder, '.git/config')
        writeFileSync(config, readFileSync(config, 'utf8').replace(server.origin, `http://127.0.0.1:${thief.port}`))
        fill(installation.folder, { 'a.txt': 'three\n' })
        expect((await installation.post('git-sync', {})).body).toMatchObject({ committed: true, pushed: false })
        expect(asked).toEqual([null])
        expect(logLines.join('')).not.toContain(LOGIN.password)
      },
      PATIENCE_MS,
    )
  })

  test(
    'the container that serves files has no network, privileges or secrets, and is removed with the agent, its volume or the platform',
    async () => {
      await using installation = await openTestInstallation('served by a container')
      await installation.post('write', { path: 'a', content: 'a' })
      const filters = { label: [`stead.instance=${installation.instance}`, 'stead.files'] }
      const [server] = await docker.listContainers({ filters })
      const { HostConfig, Config, Mounts } = await docker.getContainer(server?.Id ?? '').inspect()
      expect(HostConfig).toMatchObject({
        NetworkMode: 'none',
        Privileged: false,
        CapDrop: ['ALL'],
        SecurityOpt: ['no-new-privileges:true'],
        ReadonlyRootfs: true,
        AutoRemove: true,
        LogConfig: { Type: 'none' },
      })
      expect(Config).toMatchObject({ User: `${AGENT_UID}:${AGENT_UID}`, Healthcheck: { Test: ['NONE'] } })
      expect(Mounts.map(({ Destination, Source }) => `${Destination} ${Source}`)).toEqual([
        `/data ${installation.state}`,
      ])
      expect(JSON.stringify([HostConfig, Config])).not.toContain('gw_secret')
      expect((await installation.runtime.list()).map(({ id }) => id)).toEqual([installation.id])

      // The container that serves the replaced volume must end.
      using folder = tempFolder()
      await installation.runtime.stop(installation.id)
      await installation.runtime.snapshot(installation.id, folder.file('snapshot.tar.gz'))
      await installation.post('write', { path: 'b', content: 'b' })
      await installation.runtime.restore(installation.id, folder.file('snapshot.tar.gz'))
      await until('the end of the one with the old volume', async () => (await installation.countServers()) === 0)
      expect((await installation.get('read?path=b')).status).toBe(400)
      expect((await installation.get('read?path=a')).status).toBe(200)

      // Closes the platform's connections, as its exit does.
      await installation.platform.workspaceLinks.close()
      await until('the end of the one without a platform', async () => (await installation.countServers()) === 0)
      expect((await installation.get('read?path=a')).status).toBe(200)
      await installation.runtime.remove(installation.id)
      expect(await installation.countServers()).toBe(0)
    },
    PATIENCE_MS,
  )

  test('503 with the command to run when the image that serves files is missing', async () => {
    await using installation = await openContainerInstallation(found, {
      dockerHost: proxy.dockerHost,
      filesImages: [found.image],
    })
    expect(await installation.get('tree')).toEqual({
      status: 503,
      body: { ok: false, code: 'NOT_CONFIGURED', error: expect.stringContaining('stead agent-image') },
    })
  })

  test('503 with the reason when the agent has no container', async () => {
    await using installation = await openTestInstallation('opened as root')
    await installation.runtime.remove(installation.id)
    expect(await installation.get('tree')).toEqual({
      status: 503,
      body: { ok: false, code: 'NOT_CONFIGURED', error: 'The agent has no files yet: start it' },
    })
  })
})

/** Starts a process that swaps a folder and a file of `workspace` for links to `target` and back. */
async function startSwapper(workspace: string, target: string) {
  const script = Bun.fileURLToPath(import.meta.resolve('./swapper.ts'))
  const child = Bun.spawn([process.execPath, script, workspace, target], { stdout: 'pipe', stderr: 'inherit' })
  expect((await readLines(child.stdout).next()).value).toBe('ready')
  return {
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL')
      await child.exited
    },
  }
}
