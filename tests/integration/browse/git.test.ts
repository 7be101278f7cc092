import { expect, test } from 'bun:test'
import {
  chmodSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { json } from '../../harness/requests.ts'
import { atMostMs } from '../../harness/speed/promised-times.ts'
import { fill, OPERATOR, openFiles } from './installation.ts'
import { git, HAS_GIT, initRepository } from './repository.ts'

const withGit = HAS_GIT ? test : test.skip

/** Creates a workspace with a repository that has every kind of change. */
async function withChanges() {
  const installation = await openFiles()
  const { root } = installation.folders
  initRepository(root)
  fill(root, {
    'same.txt': 'same\n',
    'edited.txt': Array.from({ length: 60 }, (_, line) => `line ${line}\n`).join(''),
    'staged.txt': 'one\n',
    'both.txt': 'one\n',
    'gone.txt': 'gone\n',
    'staged-gone.txt': 'gone\n',
    'untracked-again.txt': 'x\n',
    'no-newline.txt': 'a\nb',
    'image.png': new Uint8Array([0x89, 0x50, 0, 1, 2, 3]),
    'deep/er/file.txt': 'deep\n',
    'with space.txt': 'a\n',
    'ünïcode.txt': 'a\n',
    'script.sh': '#!/bin/sh\n',
    'becomes-folder': 'file\n',
    '.gitignore': '*.log\n/secret/\n',
  })
  symlinkSync('same.txt', join(root, 'link'))
  git(root, ['add', '-A'])
  git(root, ['commit', '-q', '-m', 'start'])
  const edited = readFileSync(join(root, 'edited.txt'), 'utf8')
  fill(root, {
    'edited.txt': edited.replace('line 3\n', 'line three\n').replace('line 50\n', 'line 50\nand a half\n'),
    'staged.txt': 'two\n',
    'both.txt': 'two\n',
    'new.txt': 'new\n',
    'empty.txt': '',
    'no-newline.txt': 'a\nc',
    'image.png': new Uint8Array([0x89, 0x50, 0, 9, 9, 9]),
    'deep/er/file.txt': 'deeper\n',
    'with space.txt': 'b\n',
    'ünïcode.txt': 'b\n',
  })
  git(root, ['add', 'staged.txt', 'both.txt', 'new.txt', 'empty.txt'])
  git(root, ['rm', '-q', 'staged-gone.txt'])
  git(root, ['rm', '-q', '--cached', 'untracked-again.txt'])
  fill(root, { 'both.txt': 'three\n', 'untracked/a.txt': 'a', 'x.log': 'ignored', 'secret/x': 'ignored' })
  rmSync(join(root, 'gone.txt'))
  rmSync(join(root, 'becomes-folder'))
  fill(root, { 'becomes-folder/file': 'x' })
  rmSync(join(root, 'link'))
  symlinkSync('/etc/passwd', join(root, 'link'))
  chmodSync(join(root, 'script.sh'), 0o755)
  return { ...installation, root }
}

/** Returns the output of the real git in the format of the API. */
function realStatus(folder: string): { status: string; path: string }[] {
  const text = git(folder, ['-c', 'core.quotePath=false', 'status', '--porcelain', '-z', '-uall', '--no-renames'])
  return text
    .split('\0')
    .filter((line) => line !== '')
    .map((line) => ({ status: line.slice(0, 2).trim(), path: line.slice(3) }))
    .sort(byPath)
}

function byPath(a: { status: string; path: string }, b: { status: string; path: string }): number {
  return a.path === b.path ? (a.status < b.status ? 1 : -1) : a.path < b.path ? -1 : 1
}

const listed = (body: Record<string, unknown>) => body.changes as { status: string; path: string }[]

withGit('GET /api/browse/git-status: 200 with what the real program tells', async () => {
  const { get, root } = await withChanges()
  const { status, body } = await get('git-status')
  expect(status).toBe(200)
  expect(body).toMatchObject({ ok: true, isGitRepo: true, branch: 'main', remote: null, hasChanges: true })
  expect(listed(body).toSorted(byPath)).toEqual(realStatus(root))
  expect(listed(body).length).toBeGreaterThan(15)
})

withGit(
  'GET /api/browse/git-status: clean after a commit, and a change of the same size and moment is seen',
  async () => {
    const { get, folders } = await openFiles()
    initRepository(folders.root)
    fill(folders.root, { a: 'one' })
    const moment = new Date('2026-01-01T00:00:00Z')
    utimesSync(join(folders.root, 'a'), moment, moment)
    git(folders.root, ['add', '-A'])
    git(folders.root, ['commit', '-q', '-m', 'start'])
    expect((await get('git-status')).body).toMatchObject({ changes: [], hasChanges: false })
    writeFileSync(join(folders.root, 'a'), 'two')
    expect(listed((await get('git-status')).body)).toEqual([{ status: 'M', path: 'a' }])
    git(folders.root, ['add', '-A'])
    writeFileSync(join(folders.root, 'a'), 'six')
    expect(listed((await get('git-status')).body)).toEqual(realStatus(folders.root))
  },
)

withGit('GET /api/browse/git-status: credentials of the remote are masked', async () => {
  const { get, folders } = await openFiles()
  initRepository(folders.root)
  git(folders.root, ['remote', 'add', 'origin', 'https://ada:t0ken@git.example.com/ada/x.git?key=t0ken'])
  const { body } = await get('git-status')
  expect(body.remote).toBe('https://***@git.example.com/ada/x.git?key=***')
  expect(JSON.stringify(body)).not.toContain('t0ken')
})

withGit(
  'GET /api/browse/git-diff: the real program turns HEAD into the index, and that into the files, by it',
  async () => {
    const { get, root, folders } = await withChanges()
    const { status, body } = await get('git-diff')
    expect(status).toBe(200)
    expect(body).toMatchObject({ ok: true, isComplete: true })
    const [unstaged, staged] = [String(body.unstaged), String(body.staged)]
    // Binary changes are named but not shown: git cannot apply them.
    expect(unstaged).toContain('Binary files a/image.png and b/image.png differ')
    const copy = join(folders.agent, 'copy')
    git(folders.agent, ['clone', '-q', '--no-hardlinks', root, copy])
    const applyTo = (patch: string, ...options: string[]) => git(copy, ['apply', ...options], { input: patch })
    applyTo(staged, '--index')
    expect(git(copy, ['write-tree'])).toBe(git(root, ['write-tree']))
    applyTo(without(unstaged, 'image.png'))
    for (const path of [
      'edited.txt',
      'both.txt',
      'no-newline.txt',
      'with space.txt',
      'ünïcode.txt',
      'deep/er/file.txt',
    ]) {
      expect(readFileSync(join(copy, path), 'utf8')).toBe(readFileSync(join(root, path), 'utf8'))
    }
    expect(git(copy, ['diff', '--stat', '--', 'script.sh', 'gone.txt'])).toBe(
      git(root, ['diff', '--stat', '--', 'script.sh', 'gone.txt']),
    )
    const one = (await get('git-diff?path=edited.txt')).body
    expect(one.staged).toBeNull()
    const real = git(root, ['diff', '--', 'edited.txt']).replace(/^index .*\n/m, '')
    expect(String(one.unstaged).replace(/^(@@.*@@).*$/gm, '$1')).toBe(real.replace(/^(@@.*@@).*$/gm, '$1'))
    expect(String((await get('git-diff?path=deep')).body.unstaged)).toContain('deep/er/file.txt')
  },
)

withGit('GET /api/browse/git-diff: null where nothing differs; large and very different files are named', async () => {
  const { get, folders } = await openFiles()
  initRepository(folders.root)
  const lines = (seed: number) =>
    Array.from({ length: 40_000 }, (_, line) => `${Bun.hash(`${seed}${line}`).toString(36).slice(0, 8)}\n`).join('')
  fill(folders.root, { large: 'a'.repeat(1_100_000), different: lines(1) })
  git(folders.root, ['add', '-A'])
  git(folders.root, ['commit', '-q', '-m', 'start'])
  expect((await get('git-diff')).body).toEqual({ ok: true, unstaged: null, staged: null, isComplete: true })
  fill(folders.root, { large: 'b'.repeat(1_100_000), different: lines(2) })
  const start = performance.now()
  const { unstaged } = (await get('git-diff')).body
  expect(performance.now() - start).toBeLessThan(atMostMs(5000))
  expect(String(unstaged)).toContain('Large files a/large and b/large differ')
  expect(String(unstaged)).toContain('Very different files a/different and b/different differ')
  for (const path of ['../x', '/etc/passwd', 'a%00b']) expect((await get(`git-diff?path=${path}`)).status).toBe(400)
})

withGit('GET /api/browse/git-log: newest first, 20 unless asked, at most 100, as the real program tells', async () => {
  const { get, folders, clock } = await openFiles()
  initRepository(folders.root)
  clock.set(new Date('2026-06-01T12:00:00Z'))
  for (let index = 0; index < 105; index++) {
    const dates = new Date(Date.UTC(2026, 5, 1, 11, 59) - (104 - index) * 6 * 3_600_000).toISOString()
    git(folders.root, ['commit', '-q', '--allow-empty', '-m', `commit ${index}\n\nbody`], { dates })
  }
  const { status, body } = await get('git-log')
  expect(status).toBe(200)
  const commits = body.commits as Record<string, string>[]
  expect(commits).toHaveLength(20)
  expect(commits[0]).toEqual({
    hash: git(folders.root, ['rev-parse', 'HEAD']).trim(),
    shortHash: git(folders.root, ['rev-parse', '--short=7', 'HEAD']).trim(),
    subject: 'commit 104',
    author: 'Ada',
    date: '1 minute ago',
  })
  expect(commits[1]).toMatchObject({ date: '6 hours ago' })
  expect(commits[4]).toMatchObject({ date: '1 day ago' })
  const all = (await get('git-log?limit=1000')).body.commits as Record<string, string>[]
  const real = git(folders.root, ['log', '-100', '--format=%H %s']).trim().split('\n')
  expect(all.map(({ hash, subject }) => `${hash} ${subject}`)).toEqual(real)
  for (const limit of ['0', '-1', 'x', '1;id']) expect((await get(`git-log?limit=${limit}`)).status).toBe(400)
})

withGit('GET /api/browse/git-log: merges of several branches, packed, as the real program orders them', async () => {
  const { get, folders } = await openFiles()
  initRepository(folders.root)
  const commit = (name: string, hour: number) => {
    fill(folders.root, { [name]: name })
    git(folders.root, ['add', '-A'])
    git(folders.root, ['commit', '-q', '-m', name], { dates: `2026-01-01T${String(hour).padStart(2, '0')}:00:00Z` })
  }
  commit('a', 1)
  git(folders.root, ['checkout', '-q', '-b', 'side'])
  commit('b', 2)
  commit('d', 4)
  git(folders.root, ['checkout', '-q', 'main'])
  commit('c', 3)
  git(folders.root, ['merge', '-q', '--no-edit', 'side'], { dates: '2026-01-01T05:00:00Z' })
  git(folders.root, ['gc', '-q', '--aggressive', '--prune=now'])
  const { commits } = (await get('git-log')).body as { commits: { hash: string }[] }
  expect(commits.map(({ hash }) => hash)).toEqual(git(folders.root, ['log', '--format=%H']).trim().split('\n'))
  expect((await get('git-status')).body).toMatchObject({ changes: [] })
})

test('status reports that there is no repository; diff, sync and log return 500', async () => {
  const { get, post, folders } = await openFiles()
  fill(folders.root, { a: 'x' })
  const none = { isGitRepo: false, branch: '', remote: null, changes: [], hasChanges: false }
  expect(await get('git-status')).toEqual({ status: 200, body: { ok: true, ...none } })
  const expected = { status: 500, body: { ok: false, error: 'Not a git repository' } }
  expect(await get('git-diff')).toEqual(expected)
  expect(await get('git-log')).toEqual(expected)
  expect(await post('git-sync', {})).toEqual(expected)
})

withGit('POST /api/browse/git-sync: stages all and commits; the real program finds nothing wrong', async () => {
  const { post, root, call, admin } = await withChanges()
  const { status, body } = await post('git-sync', { message: 'all of it' })
  expect(status).toBe(200)
  expect(body).toEqual({
    ok: true,
    committed: true,
    pushed: false,
    hash: git(root, ['rev-parse', 'HEAD']).trim(),
    message: 'Committed, not pushed: there is no remote',
  })
  expect(git(root, ['log', '-1', '--format=%an <%ae> %s'])).toBe('Stead <stead@localhost> all of it\n')
  expect(realStatus(root)).toEqual([])
  git(root, ['fsck', '--full', '--strict'])
  const nothing = { ok: true, committed: false, pushed: false, hash: '', message: 'Nothing to commit' }
  expect((await post('git-sync', {})).body).toEqual(nothing)
  fill(root, { later: 'x' })
  // The body is optional; the signed-in user is the author.
  expect(await call('git-sync', { method: 'POST', headers: admin.cookie }, 'web')).toMatchObject({
    status: 200,
    body: { committed: true },
  })
  expect(git(root, ['log', '-1', '--format=%ae %s'])).toBe('root@example.com sync changes\n')
  for (const wrong of [{ message: 7 }, { message: ' ' }, []]) expect((await post('git-sync', wrong)).status).toBe(400)
  expect((await call('git-sync', { ...json('POST', {}, OPERATOR), body: '{' })).status).toBe(400)
})

withGit(
  'POST /api/browse/git-init: 201 with a first commit of what is not ignored, 409 when there is a repository',
  async () => {
    const { call, ada, eve, agent, folders } = await openFiles()
    const init = (headers: Record<string, string>) =>
      call(`git-init?agentId=${agent.id}`, { method: 'POST', headers }, 'web')
    fill(folders.agent, { a: 'x', 'deep/er/b': 'y', 'x.log': 'ignored', '.gitignore': '*.log\n' })
    expect((await init(eve.cookie)).status).toBe(404)
    const { status, body } = await init(ada.cookie)
    expect(status).toBe(201)
    const hash = git(folders.agent, ['rev-parse', 'HEAD']).trim()
    expect(body).toEqual({ ok: true, branch: 'main', hash })
    expect(git(folders.agent, ['log', '--format=%ae %s'])).toBe('ada@example.com Start version history\n')
    expect(git(folders.agent, ['ls-files'])).toBe('.gitignore\na\ndeep/er/b\n')
    expect(realStatus(folders.agent)).toEqual([])
    git(folders.agent, ['fsck', '--full', '--strict'])
    expect(await init(ada.cookie)).toMatchObject({ status: 409, body: { ok: false } })
    expect(git(folders.agent, ['rev-list', '--count', 'HEAD'])).toBe('1\n')
  },
)

withGit('POST /api/browse/git-init: 201 without a commit when there are no files', async () => {
  const { post, get, folders } = await openFiles()
  expect(await post('git-init', {})).toEqual({ status: 201, body: { ok: true, branch: 'main', hash: '' } })
  expect((await get('git-status')).body).toMatchObject({ isGitRepo: true, branch: 'main', hasChanges: false })
  expect(git(folders.root, ['symbolic-ref', 'HEAD'])).toBe('refs/heads/main\n')
})

withGit('POST /api/browse/git-init: 409 when .git is a link or a file, and nothing is written there', async () => {
  const { post, folders, agent } = await openFiles()
  const elsewhere = join(folders.agent, 'elsewhere')
  mkdirSync(elsewhere)
  symlinkSync(elsewhere, join(folders.root, '.git'))
  expect((await post('git-init', {})).status).toBe(409)
  expect(readdirSync(elsewhere)).toEqual([])
  writeFileSync(join(folders.agent, '.git'), 'gitdir: /elsewhere\n')
  expect((await post(`git-init?agentId=${agent.id}`, {})).status).toBe(409)
})

withGit('POST /api/browse/git-init: 201 when an interrupted one left a folder without HEAD', async () => {
  const { post, folders } = await openFiles()
  fill(folders.root, { a: 'x', '.git/config': '[core]\n\trepositoryformatversion = 0\n' })
  expect((await post('git-init', {})).status).toBe(201)
  expect(git(folders.root, ['ls-files'])).toBe('a\n')
})

test('POST /api/browse/git-init: 404 when the workspace does not exist yet', async () => {
  const { post, folders, agent } = await openFiles()
  rmSync(folders.agent, { recursive: true })
  expect((await post(`git-init?agentId=${agent.id}`, {})).status).toBe(404)
})

withGit('POST /api/browse/git-sync: the first commit of an empty repository, by the owner of the agent', async () => {
  const { post, agent, folders } = await openFiles()
  initRepository(folders.agent)
  fill(folders.agent, { a: 'x', 'nested/a': 'x' })
  initRepository(join(folders.agent, 'nested'))
  expect((await post(`git-sync?agentId=${agent.id}`, {})).body).toMatchObject({ committed: true })
  expect(git(folders.agent, ['log', '--format=%ae'])).toBe('ada@example.com\n')
  expect(git(folders.agent, ['ls-files'])).toBe('a\n')
})

withGit('POST /api/browse/git-sync: 500 when the index cannot be read, and the files stay', async () => {
  const { post, get, folders } = await openFiles()
  initRepository(folders.root)
  fill(folders.root, { a: 'x' })
  git(folders.root, ['add', '-A'])
  writeFileSync(join(folders.root, '.git/index'), 'no index')
  for (const { status, body } of [await post('git-sync', {}), await get('git-status'), await get('git-diff')]) {
    expect({ status, ok: body.ok }).toEqual({ status: 500, ok: false })
    expect(JSON.stringify(body)).not.toContain(folders.root)
  }
  expect(readFileSync(join(folders.root, 'a'), 'utf8')).toBe('x')
})

withGit('a detached HEAD is told as HEAD, and a clone with shared objects is read', async () => {
  const { get, folders, agent } = await openFiles()
  initRepository(folders.root)
  fill(folders.root, { a: 'x' })
  git(folders.root, ['add', '-A'])
  git(folders.root, ['commit', '-q', '-m', 'start'])
  git(folders.root, ['checkout', '-q', '--detach'])
  expect((await get('git-status')).body).toMatchObject({ branch: 'HEAD' })
  rmSync(folders.agent, { recursive: true })
  git(folders.root, ['clone', '-q', '--local', folders.root, folders.agent])
  expect((await get(`git-log?agentId=${agent.id}`)).body.commits).toHaveLength(1)
})

withGit('a repository elsewhere is none of the workspace: link, gitfile, worktree', async () => {
  const { get, folders } = await openFiles()
  initRepository(folders.agent)
  git(folders.agent, ['commit', '-q', '--allow-empty', '-m', 'secret of another'])
  const dotGit = join(folders.root, '.git')
  const tries: [string, () => void][] = [
    ['link', () => symlinkSync(join(folders.agent, '.git'), dotGit)],
    ['gitfile', () => writeFileSync(dotGit, `gitdir: ${join(folders.agent, '.git')}\n`)],
    [
      'linked parts',
      () => {
        mkdirSync(dotGit)
        cpSync(join(folders.agent, '.git/HEAD'), join(dotGit, 'HEAD'))
        for (const name of ['objects', 'refs', 'config'])
          symlinkSync(join(folders.agent, '.git', name), join(dotGit, name))
      },
    ],
    [
      'commondir and alternates',
      () => {
        initRepository(folders.root)
        const { objects } = { objects: join(folders.agent, '.git/objects') }
        fill(dotGit, { 'objects/info/alternates': `${objects}\n`, commondir: `${join(folders.agent, '.git')}\n` })
        fill(dotGit, { 'refs/heads/main': git(folders.agent, ['rev-parse', 'HEAD']) })
      },
    ],
  ]
  for (const [name, arrange] of tries) {
    rmSync(dotGit, { recursive: true, force: true })
    arrange()
    const answers = [await get('git-status'), await get('git-log'), await get('git-diff')]
    expect({ name, text: JSON.stringify(answers).includes('secret of another') }).toEqual({ name, text: false })
    expect({ name, log: answers[1]?.body.commits ?? [] }).toEqual({ name, log: [] })
  }
})

/** Returns the patch without one file. */
function without(patch: string, path: string): string {
  return patch
    .split(/^(?=diff --git )/m)
    .filter((part) => !part.startsWith(`diff --git a/${path} `))
    .join('')
}
