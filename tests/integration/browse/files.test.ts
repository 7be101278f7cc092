import { expect, test } from 'bun:test'
import { spawnSync } from 'node:child_process'
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { INTERNAL_KEY } from '../../harness/platform.ts'
import { bearer, json } from '../../harness/requests.ts'
import { atMostMs } from '../../harness/speed/promised-times.ts'
import { fill, OPERATOR, openFiles } from './installation.ts'

const MEGABYTE = 1024 * 1024

test('GET /api/browse/tree: 200 with folders first, then files, alphabetical, three levels deep, without excluded ones', async () => {
  const { get, folders } = await openFiles()
  fill(folders.root, { 'b.txt': '', 'a.txt': '', 'src/z.ts': '', 'src/deep/er/est/bottom.ts': '' })
  for (const name of ['node_modules', '.git', '.next', 'dist', 'build', '.cache', '__pycache__']) {
    fill(folders.root, { [`${name}/x`]: '' })
  }
  symlinkSync('/etc', join(folders.root, 'link'))
  const { status, body } = await get('tree')
  expect(status).toBe(200)
  const er = { type: 'folder', name: 'er', path: 'src/deep/er', children: [] as unknown[] }
  const tree = (deepest: unknown) => ({
    ok: true,
    isComplete: true,
    root: {
      type: 'folder',
      name: 'workspace',
      path: '',
      children: [
        {
          type: 'folder',
          name: 'src',
          path: 'src',
          children: [
            { type: 'folder', name: 'deep', path: 'src/deep', children: [deepest] },
            { type: 'file', name: 'z.ts', path: 'src/z.ts' },
          ],
        },
        { type: 'file', name: 'a.txt', path: 'a.txt' },
        { type: 'file', name: 'b.txt', path: 'b.txt' },
      ],
    },
  })
  expect(body).toEqual(tree(er))
  const est = { type: 'folder', name: 'est', path: 'src/deep/er/est', children: [] }
  for (const depth of [4, 9]) expect((await get(`tree?depth=${depth}`)).body).toEqual(tree({ ...er, children: [est] }))
  for (const depth of ['0', '-1', 'x', '1.5']) expect((await get(`tree?depth=${depth}`)).status).toBe(400)
})

test('GET /api/browse/tree: 200 with 5,000 of 6,000 files in 60 folders within three seconds', async () => {
  const { get, folders } = await openFiles()
  for (let folder = 0; folder < 60; folder++) {
    mkdirSync(join(folders.root, `d${folder}`))
    for (let file = 0; file < 100; file++) writeFileSync(join(folders.root, `d${folder}`, `f${file}`), '')
  }
  const start = performance.now()
  const { body } = await get('tree')
  expect(performance.now() - start).toBeLessThan(atMostMs(3000))
  expect(body).toMatchObject({ ok: true, isComplete: false })
  expect(JSON.stringify(body).match(/"name"/g)).toHaveLength(5001)
}, 300_000)

test('GET /api/browse/read: 200 with content, size, time and hash', async () => {
  const { get, folders } = await openFiles()
  fill(folders.root, { 'notes/day one.md': 'Grüße\n' })
  const { status, body } = await get('read?path=notes%2Fday%20one.md')
  expect(status).toBe(200)
  expect(body).toEqual({
    ok: true,
    path: 'notes/day one.md',
    content: 'Grüße\n',
    size: 8,
    modified: statSync(join(folders.root, 'notes/day one.md')).mtime.toISOString(),
    hash: Bun.CryptoHasher.hash('sha256', 'Grüße\n', 'hex'),
  })
})

test('GET /api/browse/read: 400 when a file is missing, irregular, binary or large', async () => {
  const { get, folders } = await openFiles()
  fill(folders.root, { 'full.txt': 'a'.repeat(MEGABYTE), 'over.txt': 'a'.repeat(MEGABYTE + 1), 'folder/x': '' })
  fill(folders.root, { binary: new Uint8Array([0xff, 0xfe, 0, 1]), sparse: '', twice: 'x' })
  truncateSync(join(folders.root, 'sparse'), 1024 ** 4)
  linkSync(join(folders.root, 'twice'), join(folders.root, 'again'))
  symlinkSync('/etc/hostname', join(folders.root, 'link'))
  symlinkSync('/etc', join(folders.root, 'etc'))
  expect(spawnSync('mkfifo', [join(folders.root, 'pipe')]).status).toBe(0)
  expect((await get('read?path=full.txt')).status).toBe(200)
  const wrong = [
    '',
    '?path=',
    ...['over.txt', 'folder', 'none', 'none/x', 'full.txt/x', 'binary', 'sparse', 'twice'].map(toQuery),
  ]
  for (const query of [...wrong, ...['link', 'etc/hostname', 'pipe', '.', 'folder/'].map(toQuery)]) {
    const start = performance.now()
    const { status, body } = await get(`read${query}`)
    expect({ query, status, ok: body.ok, error: typeof body.error }).toEqual({
      query,
      status: 400,
      ok: false,
      error: 'string',
    })
    expect(performance.now() - start).toBeLessThan(atMostMs(1000))
  }
})

test('POST /api/browse/write: 200 writes the whole file and its missing folders, and leaves no other file', async () => {
  const { post, folders } = await openFiles()
  const { status, body } = await post('write', { path: 'a/b/c.txt', content: 'one' })
  expect(status).toBe(200)
  expect(body).toEqual({ ok: true, path: 'a/b/c.txt', size: 3, hash: Bun.CryptoHasher.hash('sha256', 'one', 'hex') })
  await post('write', { path: 'a/b/c.txt', content: '' })
  expect(readFileSync(join(folders.root, 'a/b/c.txt'), 'utf8')).toBe('')
  expect(readdirSync(join(folders.root, 'a/b'))).toEqual(['c.txt'])
})

test('POST /api/browse/write: 400 when the body is invalid, or the file is Git’s or irregular', async () => {
  const { post, folders } = await openFiles()
  symlinkSync('/tmp', join(folders.root, 'tmp'))
  symlinkSync('/tmp/no-such-file', join(folders.root, 'dangling'))
  fill(folders.root, { 'folder/x': '', '.git/config': 'untouched' })
  const content = 'x'
  const paths = ['folder', 'folder/x/y', 'tmp/x', 'dangling', '.git/config', '.git/hooks/pre-commit', 'sub/.git/config']
  const git = [
    '.GIT/config',
    '.git /config',
    '.g\u200cit/config',
    '.git:config',
    'a/.Git/x',
    './/.git/config',
    'git~1/config',
    '.git',
  ]
  const bodies: unknown[] = [{ content }, { path: 'x' }, { path: '', content }, { path: 'x', content: 7 }, []]
  for (const body of [...bodies, ...[...paths, ...git, '.', '/'].map((path) => ({ path, content }))]) {
    expect({ body, status: (await post('write', body)).status }).toEqual({ body, status: 400 })
  }
  expect(readFileSync(join(folders.root, '.git/config'), 'utf8')).toBe('untouched')
  expect(readdirSync(join(folders.root, '.git'))).toEqual(['config'])
})

test('POST /api/browse/write: 409 when ifMatch differs from the file, which stays unchanged', async () => {
  const { get, post, folders } = await openFiles()
  expect((await post('write', { path: 'a', content: 'one', ifMatch: null })).status).toBe(200)
  const { hash } = (await get('read?path=a')).body
  const taken = await post('write', { path: 'a', content: 'two', ifMatch: null })
  expect(taken).toEqual({
    status: 409,
    body: { ok: false, error: 'The file has changed since it was read', code: 'FILE_CHANGED', hash },
  })
  expect((await post('write', { path: 'a', content: 'two', ifMatch: hash })).status).toBe(200)
  expect((await post('write', { path: 'a', content: 'three', ifMatch: hash })).status).toBe(409)
  expect((await post('write', { path: 'none', content: 'x', ifMatch: hash })).status).toBe(409)
  expect(readFileSync(join(folders.root, 'a'), 'utf8')).toBe('two')
})

test('POST /api/browse/write: 200 for one of 20 concurrent requests with the same ifMatch', async () => {
  const { post } = await openFiles()
  const { hash } = (await post('write', { path: 'a', content: 'start' })).body
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) => post('write', { path: 'a', content: `${index}`, ifMatch: hash })),
  )
  expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array.from({ length: 19 }, () => 409)])
})

test('POST /api/browse/write: the old file stays unchanged when the disk is full', async () => {
  const { post, folders } = await openFiles()
  const disk = join(folders.root, 'disk')
  mkdirSync(disk)
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', disk]).status !== 0) {
    console.log('skipped: no right to mount a small disk')
    return
  }
  try {
    await post('write', { path: 'disk/a', content: 'old' })
    const { status, body } = await post('write', { path: 'disk/a', content: 'n'.repeat(200_000) })
    expect({ status, body }).toMatchObject({ status: 507, body: { ok: false, code: 'DISK_FULL' } })
    expect(readFileSync(join(disk, 'a'), 'utf8')).toBe('old')
    expect(readdirSync(disk)).toEqual(['a'])
  } finally {
    spawnSync('umount', [disk])
  }
})

test('POST /api/browse/mkdir: 201, also when repeated; 400 and 409', async () => {
  const { post, folders } = await openFiles()
  for (let time = 0; time < 2; time++) expect((await post('mkdir', { path: 'a/b' })).status).toBe(201)
  expect(statSync(join(folders.root, 'a/b')).isDirectory()).toBe(true)
  fill(folders.root, { file: '' })
  expect((await post('mkdir', { path: 'file' })).status).toBe(409)
  for (const path of ['../x', '.git/x', '', undefined]) expect((await post('mkdir', { path })).status).toBe(400)
})

test('POST /api/browse/rename: 200; 400, 404 and 409', async () => {
  const { post, folders } = await openFiles()
  fill(folders.root, { 'a/x': 'x', 'a/y': 'y', '.git/HEAD': 'h' })
  expect(await post('rename', { from: 'a/x', to: 'b/c/x' })).toEqual({ status: 200, body: { ok: true, path: 'b/c/x' } })
  expect((await post('rename', { from: 'a', to: 'd' })).status).toBe(200)
  expect(readFileSync(join(folders.root, 'b/c/x'), 'utf8')).toBe('x')
  expect(readFileSync(join(folders.root, 'd/y'), 'utf8')).toBe('y')
  symlinkSync('/etc', join(folders.root, 'link'))
  expect((await post('rename', { from: 'none', to: 'e' })).status).toBe(404)
  expect((await post('rename', { from: 'd', to: 'b' })).status).toBe(409)
  const wrong = [
    { from: 'd', to: 'd/inside' },
    { from: 'd', to: '../d' },
    { from: '.git/HEAD', to: 'head' },
    { from: 'd/y', to: '.git/hooks/pre-commit' },
    { from: 'link', to: 'e' },
    { from: 'd', to: 'link/x' },
    { from: 'd' },
  ]
  for (const body of wrong) expect({ body, status: (await post('rename', body)).status }).toEqual({ body, status: 400 })
})

test('DELETE /api/browse/delete: 200 for a file and a folder, and for links without their targets; 400 and 404', async () => {
  const test = await openFiles()
  const { folders } = test
  fill(folders.agent, { 'precious/x': 'x' })
  fill(folders.root, { 'a/b/c': '', 'a/d': '', '.git/HEAD': '' })
  symlinkSync(join(folders.agent, 'precious'), join(folders.root, 'a/link'))
  expect((await test.delete('delete?path=a')).status).toBe(200)
  expect(existsSync(join(folders.root, 'a'))).toBe(false)
  expect(readFileSync(join(folders.agent, 'precious/x'), 'utf8')).toBe('x')
  expect((await test.delete('delete?path=a')).status).toBe(404)
  for (const path of ['', '.', '.git', '.git/HEAD', '../x']) {
    expect((await test.delete(`delete${toQuery(path)}`)).status).toBe(400)
  }
})

test('DELETE /api/browse/delete: 400 for endlessly nested folders, 200 for thousands of files', async () => {
  const test = await openFiles()
  mkdirSync(join(test.folders.root, 'a/'.repeat(300)), { recursive: true })
  expect((await test.delete('delete?path=a')).status).toBe(400)
  expect((await test.delete(`delete${toQuery('a/'.repeat(250))}`)).status).toBe(200)
  fill(test.folders.root, Object.fromEntries(Array.from({ length: 3000 }, (_, index) => [`many/${index}`, ''])))
  expect((await test.delete('delete?path=many')).status).toBe(200)
  expect(readdirSync(test.folders.root)).toEqual(['a'])
})

test('POST /api/browse/upload: 201, and GET /api/browse/download returns the same bytes', async () => {
  const { backend, folders } = await openFiles()
  const bytes = crypto.getRandomValues(new Uint8Array(65_536)).slice(0, 65_000)
  const upload = (path: string, body: string | Uint8Array<ArrayBuffer>) =>
    backend.request(`/api/browse/upload${toQuery(path)}`, { method: 'POST', body, headers: OPERATOR })
  expect((await upload('pic/ä 1.png', bytes)).status).toBe(201)
  const download = (path: string) => backend.request(`/api/browse/download${toQuery(path)}`, { headers: OPERATOR })
  const response = await download('pic/ä 1.png')
  expect(response.status).toBe(200)
  expect(Object.fromEntries(response.headers)).toMatchObject({
    'content-type': 'application/octet-stream',
    'content-length': '65000',
    'content-disposition': "attachment; filename*=UTF-8''%C3%A4%201.png",
  })
  expect(new Uint8Array(await response.arrayBuffer())).toEqual(bytes)
  expect((await upload('big', new Uint8Array(MEGABYTE + 1))).status).toBe(413)
  expect((await upload('../x', 'x')).status).toBe(400)
  expect((await upload('.git/hooks/x', 'x')).status).toBe(400)
  writeFileSync(join(folders.root, 'large'), new Uint8Array(3 * MEGABYTE).fill(7))
  expect((await (await download('large')).arrayBuffer()).byteLength).toBe(3 * MEGABYTE)
  fill(folders.root, { empty: '' })
  expect(await (await download('empty')).text()).toBe('')
  expect((await download('none')).status).toBe(404)
  expect((await download('pic')).status).toBe(400)
  const again = await backend.request(`/api/browse/upload${toQuery('pic/ä 1.png')}&ifMatch=other`, {
    method: 'POST',
    body: 'x',
    headers: OPERATOR,
  })
  expect(again.status).toBe(409)
})

test('GET /api/browse/search: 200 with a limited number of matches in names and contents; 400', async () => {
  const { get, folders } = await openFiles()
  fill(folders.root, {
    'src/Needle.ts': 'first\nA NEEDLE here\n',
    'src/other.ts': 'needle',
    'node_modules/needle.js': 'needle',
    'bin.dat': new Uint8Array([0, ...Buffer.from('needle')]),
  })
  symlinkSync('/etc/passwd', join(folders.root, 'needle-link'))
  expect((await get('search?q=needle')).body).toEqual({
    ok: true,
    isComplete: true,
    matches: [{ path: 'src/Needle.ts', line: null, text: null }],
  })
  expect((await get('search?q=Needle&in=content')).body.matches).toEqual([
    { path: 'src/Needle.ts', line: 2, text: 'A NEEDLE here' },
    { path: 'src/other.ts', line: 1, text: 'needle' },
  ])
  fill(folders.root, { many: 'needle\n'.repeat(500) })
  const many = (await get('search?q=needle&in=content')).body
  expect(many).toMatchObject({ isComplete: false })
  expect(many.matches).toHaveLength(100)
  for (const query of ['', '?q=', '?q=x&in=all']) expect((await get(`search${query}`)).status).toBe(400)
})

const ROUTES: [method: string, path: string][] = [
  ['GET', 'tree'],
  ['GET', 'read?path=a'],
  ['POST', 'write'],
  ['GET', 'git-status'],
  ['GET', 'git-diff'],
  ['POST', 'git-sync'],
  ['GET', 'git-log'],
  ['GET', 'search?q=a'],
  ['GET', 'download?path=a'],
  ['POST', 'upload?path=a'],
  ['POST', 'mkdir'],
  ['POST', 'rename'],
  ['DELETE', 'delete?path=a'],
  ['PUT', 'git-credentials'],
  ['DELETE', 'git-credentials?origin=https%3A%2F%2Fgit.example.com'],
]

const BODIES: Record<string, object> = {
  write: { path: 'new', content: 'x' },
  mkdir: { path: 'new' },
  rename: { from: 'a', to: 'b' },
  'git-sync': {},
  'git-credentials': { origin: 'https://git.example.com', username: 'u', password: 'p' },
}

/** Returns a request that fails only if its caller is not authorized. */
function toInit(method: string, path: string, headers: Record<string, string>): RequestInit {
  if (method === 'GET' || method === 'DELETE' || path.startsWith('upload')) return { method, headers }
  return json(method === 'PUT' ? 'PUT' : 'POST', BODIES[path.replace(/\?.*/, '')], headers)
}

test.each(ROUTES)(
  '%s /api/browse/%s: 401 without a bearer and without a session, 403 with a wrong bearer',
  async (method, path) => {
    const { call } = await openFiles()
    expect(await call(path, toInit(method, path, {}))).toEqual({
      status: 401,
      body: { ok: false, error: 'Unauthorized' },
    })
    expect((await call(path, toInit(method, path, bearer(`${INTERNAL_KEY}0`)))).status).toBe(403)
    expect((await call(path, toInit(method, path, {}), 'web')).status).toBe(401)
    expect((await call(path, toInit(method, path, OPERATOR), 'web')).status).toBe(401)
  },
)

test.each(ROUTES)(
  '%s /api/browse/%s: 404 for a stranger’s agent on both APIs, without changes',
  async (method, path) => {
    const { call, agent, eve, folders } = await openFiles()
    fill(folders.agent, { a: 'Ada’s' })
    const named = `${path}${path.includes('?') ? '&' : '?'}agentId=${agent.id}`
    const expected = { status: 404, body: { ok: false, error: 'Agent not found' } }
    expect(await call(named, toInit(method, named, eve.cookie), 'web')).toEqual(expected)
    expect(await call(named, toInit(method, named, { ...OPERATOR, 'x-user-id': eve.user.id }))).toEqual(expected)
    expect(readdirSync(folders.agent)).toEqual(['a'])
  },
)

test.each(ROUTES)(
  '%s /api/browse/%s: 403 for the common workspace, except for administrators with a session',
  async (method, path) => {
    const { call, ada, admin, folders } = await openFiles()
    fill(folders.root, { a: 'secret' })
    const expected = { status: 403, body: { ok: false, error: 'Admin access required.', code: 'ADMIN_REQUIRED' } }
    expect(await call(path, toInit(method, path, ada.cookie), 'web')).toEqual(expected)
    expect(await call(path, toInit(method, path, { ...OPERATOR, 'x-user-id': ada.user.id }))).toEqual(expected)
    if (path.startsWith('download')) return
    expect([401, 403]).not.toContain((await call(path, toInit(method, path, admin.cookie), 'web')).status)
  },
)

test.each(ROUTES)('%s /api/browse/%s: 404 on both APIs when planned endpoints are off', async (method, path) => {
  const { call, ada } = await openFiles({ environment: { PLANNED_ENDPOINTS: 'false' } })
  const expected = { status: 404, body: { error: 'Not found' } }
  expect(await call(path, toInit(method, path, OPERATOR))).toEqual(expected)
  expect(await call(path, toInit(method, path, ada.cookie), 'web')).toEqual(expected)
})

test.each(ROUTES)('%s /api/browse/%s: 503 when the files of the agent are in a container', async (method, path) => {
  const { call, agent, ada } = await openFiles({ runtime: 'docker' })
  const named = `${path}${path.includes('?') ? '&' : '?'}agentId=${agent.id}`
  expect(await call(named, toInit(method, named, ada.cookie), 'web')).toMatchObject({
    status: 503,
    body: { ok: false, code: 'NOT_CONFIGURED' },
  })
})

test('an owner reads and writes a workspace on both APIs, and a read-only key only reads', async () => {
  const { call, agent, ada, folders, createKey } = await openFiles()
  fill(folders.agent, { 'notes.md': 'hello' })
  const path = `read?path=notes.md&agentId=${agent.id}`
  expect((await call(path, { headers: ada.cookie }, 'web')).body).toMatchObject({ ok: true, content: 'hello' })
  expect((await call(path, { headers: { ...OPERATOR, 'x-user-id': ada.user.id } })).body).toMatchObject({ ok: true })
  const key = await createKey(ada.cookie, ['read'])
  expect((await call(path, { headers: bearer(key) }, 'web')).status).toBe(200)
  const write = { path: 'x', content: 'x' }
  expect((await call(`write?agentId=${agent.id}`, json('POST', write, bearer(key)), 'web')).status).toBe(403)
  expect((await call(`write?agentId=${agent.id}`, json('POST', write, ada.cookie), 'web')).status).toBe(200)
  expect(readFileSync(join(folders.agent, 'x'), 'utf8')).toBe('x')
})

test('an administrator’s key has no access to the common workspace', async () => {
  const { call, admin, createKey } = await openFiles()
  const key = await createKey(admin.cookie)
  expect((await call('tree', { headers: bearer(key) }, 'web')).status).toBe(403)
  expect((await call('tree', { headers: admin.cookie }, 'web')).status).toBe(200)
})

test('an agent that replaces its workspace with a link gives no access to the target', async () => {
  const { get, agent, folders } = await openFiles()
  rmSync(folders.agent, { recursive: true })
  expect((await get(`tree?agentId=${agent.id}`)).status).toBe(404)
  fill(folders.root, { secret: 'secret' })
  symlinkSync(folders.root, folders.agent)
  for (const path of ['tree?', 'read?path=secret&', 'git-status?', 'git-log?', 'search?q=secret&in=content&']) {
    const { status, body } = await get(`${path}agentId=${agent.id}`)
    expect(status === 200 ? body.isGitRepo : false).toBe(false)
    expect(JSON.stringify(body)).not.toContain('"secret"')
  }
})

test('BROWSE_ROOT is created at its first use', async () => {
  const { get, folders } = await openFiles()
  rmSync(folders.root, { recursive: true })
  expect((await get('tree')).body).toMatchObject({ ok: true, root: { children: [] } })
})

function toQuery(path: string): string {
  return `?path=${encodeURIComponent(path)}`
}

test.each([
  ['write', { path: 'a.txt', content: 'new', ifMatches: 'x' }, 200, 'a.txt'],
  ['mkdir', { path: 'folder', recursive: true }, 201, 'folder'],
  ['rename', { from: 'a.txt', to: 'b.txt', force: true }, 200, 'b.txt'],
])('POST /api/browse/%s: success when the body has an unknown field', async (action, body, status, made) => {
  const { post, folders } = await openFiles()
  fill(folders.root, { 'a.txt': 'old' })
  expect((await post(action, body)).status).toBe(status)
  expect(readdirSync(folders.root)).toContain(made)
})
