import { expect, test } from 'bun:test'
import { rmSync } from 'node:fs'
import { bearer, json } from '../../harness/requests.ts'
import { dumpTables } from '../../harness/rows/dump.ts'
import { tempFolder } from '../../harness/temp-folder.ts'
import { LOGIN, startGitServer } from './git-server.ts'
import { fill, OPERATOR, openFiles } from './installation.ts'
import { git, HAS_GIT, initRepository } from './repository.ts'

const withGit = HAS_GIT ? test : test.skip
const ALLOW = { SUMMARIZER_ALLOW_PRIVATE: 'true' }

/** Creates Ada's agent with a repository whose remote is `repo.git` of a real server. */
async function openInstallation(environment: Record<string, string> = ALLOW) {
  const folder = tempFolder()
  const server = startGitServer(folder.path)
  const logLines: string[] = []
  const installation = await openFiles({ environment, logLines })
  const { agent, ada, folders } = installation
  const workspace = folders.agent
  initRepository(workspace)
  git(workspace, ['remote', 'add', 'origin', server.create('repo.git')])
  const query = `agentId=${agent.id}`
  return {
    ...installation,
    server,
    workspace,
    logLines,
    sync: async () => (await installation.post(`git-sync?${query}`, {})).body,
    setCredentials: (body: object, headers: Record<string, string> = ada.cookie) =>
      installation.call(`git-credentials?${query}`, json('PUT', body, headers), 'web'),
    dropCredentials: (origin: string) =>
      installation.call(
        `git-credentials?${query}&origin=${encodeURIComponent(origin)}`,
        { method: 'DELETE', headers: ada.cookie },
        'web',
      ),
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]()
      folder[Symbol.dispose]()
    },
  }
}

withGit('git-sync pushes to the real git-http-backend with the sealed credentials of the agent', async () => {
  await using installation = await openInstallation()
  const { server, workspace } = installation
  fill(workspace, { 'a.txt': 'one\n', 'deep/b.txt': 'two\n' })
  expect(await installation.sync()).toMatchObject({
    committed: true,
    pushed: false,
    message: 'Committed, not pushed: the remote wants credentials that it accepts',
  })
  const put = await installation.setCredentials({ origin: `${server.origin}/repo.git`, ...LOGIN })
  expect(put).toEqual({ status: 200, body: { ok: true, origin: server.origin, username: 'ada' } })
  for (let round = 0; round < 3; round++) {
    fill(workspace, { 'a.txt': `round ${round}\n`, [`new-${round}.txt`]: `${round}\n` })
    const head = await installation.sync()
    expect(head).toEqual({
      ok: true,
      committed: true,
      pushed: true,
      hash: git(workspace, ['rev-parse', 'HEAD']).trim(),
      message: 'Committed and pushed',
    })
    expect(server.log('repo.git')).toBe(git(workspace, ['log', '--format=%H %s']))
  }
  expect((await installation.sync()).message).toBe('Nothing to commit')
  git(workspace, ['fsck', '--full', '--strict'])
  expect(git(workspace, ['status', '-sb']).trim()).toBe('## main')
  expect(dumpTables(installation.platform.db)).not.toContain(LOGIN.password)
  expect(installation.logLines.join('')).not.toContain(LOGIN.password)
})

withGit('git-sync does not push over commits that the remote has and the workspace has not', async () => {
  await using installation = await openInstallation()
  const { server, workspace } = installation
  await installation.setCredentials({ origin: server.origin, ...LOGIN })
  fill(workspace, { a: 'one' })
  expect(await installation.sync()).toMatchObject({ pushed: true })
  git(workspace, ['checkout', '-q', '--orphan', 'other'])
  git(workspace, ['branch', '-q', '-D', 'main'])
  git(workspace, ['branch', '-q', '-m', 'main'])
  const before = server.log('repo.git')
  fill(workspace, { a: 'two' })
  expect(await installation.sync()).toMatchObject({
    committed: true,
    pushed: false,
    message: 'Committed, not pushed: the remote has commits that are not here',
  })
  expect(server.log('repo.git')).toBe(before)
})

withGit('credentials go to their origin alone, whatever remote, proxy or redirect the workspace names', async () => {
  await using installation = await openInstallation()
  const { server, workspace } = installation
  const stolen: (string | null)[] = []
  using thief = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: (request) => {
      stolen.push(request.headers.get('authorization'))
      return new Response('', { status: 401, headers: { 'www-authenticate': 'Basic realm="git"' } })
    },
  })
  using redirecting = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: ({ url }) => {
      const { pathname, search } = new URL(url)
      return Response.redirect(`http://127.0.0.1:${thief.port}${pathname}${search}`, 307)
    },
  })
  await installation.setCredentials({ origin: server.origin, ...LOGIN })
  await installation.setCredentials({ origin: `http://127.0.0.1:${redirecting.port}`, ...LOGIN })
  const real = `${server.origin}/repo.git`
  const arrangements: [string[], boolean][] = [
    [['remote.origin.url', `http://127.0.0.1:${thief.port}/repo.git`], false],
    [['remote.origin.url', `http://127.0.0.1:${redirecting.port}/repo.git`], false],
    [['http.corsProxy', `http://127.0.0.1:${thief.port}`], true],
    [['http.proxy', `http://127.0.0.1:${thief.port}`], true],
    [['remote.origin.proxy', `http://127.0.0.1:${thief.port}`], true],
    [[`url.http://127.0.0.1:${thief.port}/.insteadOf`, `${server.origin}/`], true],
    [['remote.origin.pushurl', `http://127.0.0.1:${thief.port}/repo.git`], true],
    [['http.extraHeader', 'x: y'], true],
  ]
  for (const [index, [config, pushes]] of arrangements.entries()) {
    git(workspace, ['config', 'remote.origin.url', real])
    git(workspace, ['config', ...config])
    fill(workspace, { a: `${index}` })
    const { pushed } = await installation.sync()
    expect({ config: config[0], pushed }).toEqual({ config: config[0], pushed: pushes })
  }
  expect(stolen.filter((authorization) => authorization !== null)).toEqual([])
})

withGit(
  'private addresses, other schemes and other answers are not pushed to, and are told apart by nothing',
  async () => {
    await using installation = await openInstallation({})
    const { server, workspace } = installation
    await installation.setCredentials({ origin: server.origin, ...LOGIN })
    const pushTo = async (url: string, content: string) => {
      git(workspace, ['config', 'remote.origin.url', url])
      fill(workspace, { a: content })
      const { committed, pushed, message } = await installation.sync()
      return { committed, pushed, message }
    }
    const unreachable = {
      committed: true,
      pushed: false,
      message: 'Committed, not pushed: the remote could not be reached',
    }
    expect(await pushTo(`${server.origin}/repo.git`, '1')).toEqual(unreachable)
    expect(await pushTo('http://127.0.0.1:1/repo.git', '2')).toEqual(unreachable)
    expect(await pushTo('http://169.254.169.254/repo.git', '3')).toEqual(unreachable)
    expect(server.seen).toEqual([])
    const elsewhere = { ...unreachable, message: 'Committed, not pushed: only http and https remotes are pushed to' }
    for (const [index, url] of [
      'file:///tmp/repo.git',
      '/tmp/repo.git',
      'ssh://git@example.com/x',
      'git@example.com:x/y.git',
      'ext::sh -c true',
      'git://example.com/x',
    ].entries()) {
      expect(await pushTo(url, `other ${index}`)).toEqual(elsewhere)
    }
  },
)

withGit('PUT and DELETE /api/browse/git-credentials: replaced, forgotten, gone with the agent; 400, 404', async () => {
  await using installation = await openInstallation()
  const { server, workspace, platform } = installation
  await installation.setCredentials({ origin: server.origin, username: 'ada', password: 'wrong' })
  fill(workspace, { a: '1' })
  expect(await installation.sync()).toMatchObject({ pushed: false })
  await installation.setCredentials({ origin: server.origin, ...LOGIN })
  fill(workspace, { a: '2' })
  expect(await installation.sync()).toMatchObject({ pushed: true })
  expect(await installation.dropCredentials(server.origin)).toEqual({
    status: 200,
    body: { ok: true, origin: server.origin },
  })
  expect((await installation.dropCredentials(server.origin)).status).toBe(404)
  fill(workspace, { a: '3' })
  expect(await installation.sync()).toMatchObject({ pushed: false })
  const wrong = [
    {},
    { origin: 'x', ...LOGIN },
    { origin: 'ssh://x', ...LOGIN },
    { origin: server.origin, username: 'a' },
  ]
  for (const body of wrong) expect((await installation.setCredentials(body)).status).toBe(400)
  expect((await installation.dropCredentials('nonsense')).status).toBe(400)
  // API keys may not manage passwords.
  const key = await installation.createKey(installation.ada.cookie)
  const byKey = await installation.setCredentials({ origin: server.origin, ...LOGIN }, bearer(key))
  expect(byKey.status).toBe(401)
  await installation.setCredentials({ origin: server.origin, ...LOGIN })
  await installation.web.request(`/api/agents/${installation.agent.id}`, {
    method: 'DELETE',
    headers: installation.ada.cookie,
  })
  expect(dumpTables(platform.db)).not.toContain(server.origin)
})

withGit('the common workspace has credentials of its own', async () => {
  await using installation = await openInstallation()
  const { server, folders } = installation
  initRepository(folders.root)
  git(folders.root, ['remote', 'add', 'upstream', server.create('common.git')])
  await installation.setCredentials({ origin: server.origin, ...LOGIN })
  fill(folders.root, { a: '1' })
  expect((await installation.post('git-sync', {})).body).toMatchObject({ committed: true, pushed: false })
  const put = await installation.call('git-credentials', json('PUT', { origin: server.origin, ...LOGIN }, OPERATOR))
  expect(put.status).toBe(200)
  fill(folders.root, { a: '2' })
  expect((await installation.post('git-sync', {})).body).toMatchObject({ committed: true, pushed: true })
  rmSync(folders.root, { recursive: true })
})
