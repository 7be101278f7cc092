import { expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { json } from '../../harness/requests.ts'
import { fill, OPERATOR, openFiles } from './installation.ts'

const CANARY = 'canary-outside-the-workspace'
const UP = [
  '..',
  '%2e%2e',
  '.%2e',
  '%2e.',
  '%252e%252e',
  '%c0%ae%c0%ae',
  '%e0%80%ae%e0%80%ae',
  '%f0%80%80%ae%f0%80%80%ae',
  '%u002e%u002e',
  '....',
  '...',
  '.. ',
  '..\0',
  '..\t',
  '\uFF0E\uFF0E',
  '..;',
]
const SEPARATORS = ['/', '//', '\\', '%2f', '%5c', '%252f', '/./', '\u2215', '%c0%af', '\\/']
const TARGETS = ['outside.txt', 'link/outside.txt', 'etc/passwd', 'tmp/x']
const WHOLE = [
  '/etc/passwd',
  '//etc/passwd',
  '\\etc\\passwd',
  '\\\\server\\share\\x',
  'C:\\Windows\\win.ini',
  'C:/Windows/win.ini',
  'c:x',
  'file:///etc/passwd',
  'FILE://localhost/etc/passwd',
  '/proc/self/environ',
  '/proc/self/root/etc/passwd',
  '/dev/zero',
  'a\0b',
  '\0',
  'a/../../outside.txt',
  'a/b/../../../outside.txt',
  './../outside.txt',
  'link/../outside.txt',
  'outside',
  'outside/outside.txt',
  'deep/link/outside.txt',
  'self/self/self/outside/outside.txt',
  'environ',
  'socket',
  '%2fetc%2fpasswd',
  '%00',
  'x'.repeat(4096),
  `${'a/'.repeat(2048)}x`,
  `${'../'.repeat(1365)}x`,
  '\uD800',
  '\uFFFD',
  '--output=/tmp/x',
]

/** Combines 16 traversal prefixes, 10 targets, four depths and four suffixes, and adds single cases. */
function listTricks(): string[] {
  const climbs = UP.flatMap((up) =>
    SEPARATORS.flatMap((separator) =>
      TARGETS.map((target, index) => `${`${up}${separator}`.repeat(index + 1)}${target}`),
    ),
  )
  return [...climbs, ...WHOLE]
}

test('every route with a path refuses hundreds of paths that lead outside, and reads or writes nothing there', async () => {
  const { get, call, folders } = await openFiles()
  const parent = dirname(folders.root)
  fill(parent, { 'outside.txt': CANARY, 'outside/outside.txt': CANARY })
  fill(folders.root, { 'a/b/x': '', 'deep/x': '', inside: 'inside' })
  symlinkSync(parent, join(folders.root, 'link'))
  symlinkSync(parent, join(folders.root, 'deep/link'))
  symlinkSync('../outside', join(folders.root, 'outside'))
  symlinkSync('.', join(folders.root, 'self'))
  symlinkSync('/proc/self/environ', join(folders.root, 'environ'))
  symlinkSync('/var/run/docker.sock', join(folders.root, 'socket'))
  const before = fingerprint(parent, folders.root)
  const tricks = listTricks()
  const wrong: unknown[] = []
  const expectRefusal = async (trick: string, route: string, init: RequestInit) => {
    const { status, body } = await call(route, init)
    const isTaken = status === 409 && ['environ', 'socket', 'outside'].includes(trick)
    if ((status === 400 || isTaken) && !JSON.stringify(body).includes(CANARY)) return
    wrong.push({ trick, route, status, body })
  }
  for (const trick of tricks) {
    const path = `path=${encodeURIComponent(trick.toWellFormed())}`
    await expectRefusal(trick, `read?${path}`, { headers: OPERATOR })
    // Sent undecoded; the server decodes it once.
    await expectRefusal(trick, `read?path=${trick.replace(/[#&+]/g, '')}`, { headers: OPERATOR })
    if (isWritable(trick)) continue
    await expectRefusal(trick, 'write', json('POST', { path: trick, content: 'x' }, OPERATOR))
    await expectRefusal(trick, 'mkdir', json('POST', { path: trick }, OPERATOR))
    await expectRefusal(trick, 'rename', json('POST', { from: 'inside', to: trick }, OPERATOR))
    await expectRefusal(trick, `upload?${path}`, { method: 'POST', body: 'x', headers: OPERATOR })
  }
  expect(wrong).toEqual([])
  expect(fingerprint(parent, folders.root)).toBe(before)
  expect((await get('read?path=inside')).body).toMatchObject({ content: 'inside' })
  console.log(`traversal: ${tricks.length} paths, 0 escapes`)
  expect(tricks.length).toBeGreaterThanOrEqual(500)
}, 300_000)

/** Returns whether the path is a valid name inside of the workspace. */
function isWritable(trick: string): boolean {
  return /^(?:\uFF0E\uFF0E|\.\.;|--output=|x{4096})/.test(trick) || (/\u2215/.test(trick) && !/[%\0\\]/.test(trick))
}

/** Returns the names and contents of everything below `folder` except `inside`. */
function fingerprint(folder: string, inside: string): string {
  const hash = createHash('sha256')
  const look = (path: string): void => {
    for (const entry of readdirSync(path, { withFileTypes: true })) {
      const below = join(path, entry.name)
      if (below === inside || basename(below).startsWith('stead.db')) continue
      hash.update(below)
      if (entry.isDirectory()) look(below)
      else if (entry.isFile()) hash.update(readFileSync(below))
    }
  }
  look(folder)
  return hash.digest('hex')
}
