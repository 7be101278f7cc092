import { expect, test } from 'bun:test'
import { createWriteStream, existsSync } from 'node:fs'
import { chmod, mkdir, readdir, readFile, readlink, realpath, rename, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { type Header, pack } from 'tar-stream'
import { tempFolder } from '../../../../tests/harness/temp-folder.ts'
import { agentFolder, createFolder } from './files.ts'
import { restoreStateFolder, settleRestore, writeSnapshot } from './snapshot.ts'

async function openAgent() {
  const temporary = tempFolder()
  const folder = agentFolder(temporary.file('agents'), 'ada')
  await createFolder(folder)
  return { ...temporary, folder, file: temporary.file('snapshot.tar.gz'), [Symbol.dispose]: temporary[Symbol.dispose] }
}

/** Writes an archive with arbitrary entries. */
async function writeArchive(file: string, entries: (Pick<Header, 'name'> & Partial<Header> & { text?: string })[]) {
  const archive = pack()
  const writing = pipeline(archive, createGzip(), createWriteStream(file))
  for (const { text = '', ...header } of entries) archive.entry(header, text)
  archive.finalize()
  await writing
}

test('restoreStateFolder restores files, folders, modes and inner links, and removes everything else', async () => {
  using agent = await openAgent()
  const { state } = agent.folder
  const deep = join(state, 'a'.repeat(120), 'b'.repeat(120))
  await mkdir(deep, { recursive: true })
  await mkdir(join(state, 'empty'))
  await writeFile(join(deep, 'ünï.txt'), 'deep')
  await writeFile(join(state, 'nothing'), '')
  const large = Buffer.alloc(3_000_000, 'x')
  await writeFile(join(state, 'large'), large)
  await writeFile(join(state, 'run.sh'), 'echo', { mode: 0o700 })
  await symlink('large', join(state, 'link'))
  await symlink('/etc/passwd', join(state, 'outward'))
  await writeSnapshot(agent.folder, agent.file)
  expect((await stat(agent.file)).mode & 0o777).toBe(0o600)
  await writeFile(join(state, 'large'), 'changed')
  await writeFile(join(state, 'later'), 'new')
  await restoreStateFolder(agent.folder, agent.file)
  expect((await readdir(state)).sort()).toEqual(['a'.repeat(120), 'empty', 'large', 'link', 'nothing', 'run.sh'])
  expect(await readFile(join(deep, 'ünï.txt'), 'utf8')).toBe('deep')
  expect(large.equals(await readFile(join(state, 'large')))).toBe(true)
  expect(await readFile(join(state, 'nothing'), 'utf8')).toBe('')
  expect((await stat(join(state, 'run.sh'))).mode & 0o777).toBe(0o700)
  expect(await readlink(join(state, 'link'))).toBe('large')
  expect((await readdir(agent.folder.dir)).sort()).toEqual(['secrets', 'state', 'tmp'])
})

test.each([
  ['a path above', [{ name: '../escaped', text: 'x' }]],
  ['a path above in the middle', [{ name: 'a/../../escaped', text: 'x' }]],
  ['an absolute path', [{ name: '/tmp/stead-escaped', text: 'x' }]],
  ['a link that leads outside', [{ name: 'out', type: 'symlink', linkname: '../../..' } as const]],
  ['an absolute link', [{ name: 'out', type: 'symlink', linkname: '/etc' } as const]],
  [
    'a file through a link',
    [{ name: 'out', type: 'symlink', linkname: '/tmp' } as const, { name: 'out/stead-escaped', text: 'x' }],
  ],
  [
    'a link below a link',
    [
      { name: 'a/b/c/up', type: 'symlink', linkname: '../../..' } as const,
      { name: 'a/b/c/up/out', type: 'symlink', linkname: '../../../..' } as const,
    ],
  ],
  ['a device', [{ name: 'null', type: 'character-device', devmajor: 1, devminor: 3 } as const]],
  ['a hard link', [{ name: 'hard', type: 'link', linkname: '/etc/passwd' } as const]],
])('restoreStateFolder throws and changes nothing when an archive contains %s', async (_what, entries) => {
  using agent = await openAgent()
  await writeFile(join(agent.folder.state, 'kept'), 'as it was')
  await writeArchive(agent.file, [{ name: 'first', text: 'x' }, ...entries])
  const error = await restoreStateFolder(agent.folder, agent.file).catch((caught: unknown) => caught)
  expect(error).toMatchObject({ kind: 'invalid' })
  expect(await readdir(agent.folder.state)).toEqual(['kept'])
  expect((await readdir(agent.folder.dir)).sort()).toEqual(['secrets', 'state', 'tmp'])
  expect(existsSync('/tmp/stead-escaped')).toBe(false)
  expect(existsSync(join(agent.folder.root, 'escaped'))).toBe(false)
})

test('restoreStateFolder follows a link to another link when both are in the folder', async () => {
  using agent = await openAgent()
  await writeArchive(agent.file, [
    { name: 'a/b/up', type: 'symlink', linkname: '../..' },
    { name: 'out', type: 'symlink', linkname: 'a/b/up/../..' },
  ])
  await restoreStateFolder(agent.folder, agent.file)
  const { state } = agent.folder
  expect(await realpath(join(state, 'out'))).toBe(await realpath(join(state, 'a')))
})

test.each([
  ['no archive at all', Buffer.from('not gzip')],
  ['half an archive', null],
])('restoreStateFolder throws and changes nothing when given %s', async (_what, bytes) => {
  using agent = await openAgent()
  await writeFile(join(agent.folder.state, 'kept'), crypto.getRandomValues(Buffer.alloc(50_000)))
  await writeSnapshot(agent.folder, agent.file)
  const whole = await readFile(agent.file)
  await writeFile(agent.file, bytes ?? whole.subarray(0, whole.length / 2))
  const error = await restoreStateFolder(agent.folder, agent.file).catch((caught: unknown) => caught)
  expect(error).toMatchObject({ kind: 'invalid' })
  expect((await stat(join(agent.folder.state, 'kept'))).size).toBe(50_000)
})

test('writeSnapshot leaves no file when it fails', async () => {
  using agent = await openAgent()
  await writeFile(join(agent.folder.state, 'kept'), 'x')
  const file = join(agent.path, 'missing', 'snapshot.tar.gz')
  expect(await writeSnapshot(agent.folder, file).catch((error: unknown) => error)).toBeInstanceOf(Error)
  expect(existsSync(file)).toBe(false)
  expect(existsSync(`${file}.part`)).toBe(false)
})

test('settleRestore restores the old state when the new one is incomplete', async () => {
  using agent = await openAgent()
  const { state, replaced, restoring } = agent.folder
  await writeFile(join(state, 'kept'), 'as it was')
  await rename(state, replaced)
  await mkdir(restoring)
  await settleRestore(agent.folder)
  expect(await readFile(join(state, 'kept'), 'utf8')).toBe('as it was')
  expect((await readdir(agent.folder.dir)).sort()).toEqual(['secrets', 'state', 'tmp'])
})

test('settleRestore removes the old state when the new one is complete', async () => {
  using agent = await openAgent()
  const { state, replaced } = agent.folder
  await writeFile(join(state, 'kept'), 'new')
  await mkdir(replaced)
  await chmod(replaced, 0o700)
  await settleRestore(agent.folder)
  expect(await readFile(join(state, 'kept'), 'utf8')).toBe('new')
  expect(existsSync(replaced)).toBe(false)
})
