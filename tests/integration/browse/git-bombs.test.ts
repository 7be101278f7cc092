import { expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { deflateSync } from 'node:zlib'
import { createGitRunner } from '../../../src/adapters/git/runner.ts'
import { atMostMs } from '../../harness/speed/promised-times.ts'
import { tempFolder } from '../../harness/temp-folder.ts'
import { fill, openFiles } from './installation.ts'
import { git, HAS_GIT, initRepository } from './repository.ts'

const withGit = HAS_GIT ? test : test.skip
const MEGABYTE = 1024 * 1024

/** Adds a loose object that inflates to `bytes`; its id is not its hash. */
function addBomb(folder: string, bytes: number): string {
  const oid = createHash('sha1').update(`bomb ${bytes}`).digest('hex')
  const chunk = Buffer.alloc(bytes)
  chunk.write(`blob ${bytes - 20}\0`)
  mkdirSync(join(folder, '.git/objects', oid.slice(0, 2)), { recursive: true })
  writeFileSync(join(folder, '.git/objects', oid.slice(0, 2), oid.slice(2)), deflateSync(chunk, { level: 9 }))
  return oid
}

withGit('an object that unpacks to 300 MB is refused before it is unpacked', async () => {
  const { get, folders } = await openFiles()
  initRepository(folders.root)
  fill(folders.root, { a: 'x' })
  git(folders.root, ['add', '-A'])
  git(folders.root, ['commit', '-q', '-m', 'start'])
  const oid = addBomb(folders.root, 300 * MEGABYTE)
  git(folders.root, ['update-index', '--add', '--cacheinfo', `100644,${oid},bomb`])
  const before = process.memoryUsage.rss()
  const { status, body } = await get('git-diff')
  expect({ status, body }).toEqual({ status: 500, body: { ok: false, error: 'An object of Git is too large' } })
  expect(process.memoryUsage.rss() - before).toBeLessThan(250 * MEGABYTE)
  // The status does not read the object.
  expect((await get('git-status')).status).toBe(200)
})

withGit(
  'GitRunner.diff ends its process and nothing else when a pack unpacks to 256 MB',
  async () => {
    using folder = tempFolder()
    const root = folder.file('work')
    initRepository(root)
    git(root, ['config', 'core.bigFileThreshold', '4g'])
    git(root, ['config', 'core.compression', '1'])
    writeFileSync(join(root, 'bomb'), Buffer.alloc(256 * MEGABYTE))
    git(root, ['add', '-A'])
    git(root, ['commit', '-q', '-m', 'bomb'])
    git(root, ['gc', '-q', '--prune=now'])
    writeFileSync(join(root, 'bomb'), 'small')
    const before = process.memoryUsage.rss()
    const runner = createGitRunner({ maxMemoryBytes: 250 * MEGABYTE })
    const here = { base: root, below: [] }
    let beats = 0
    const heart = setInterval(() => beats++, 10)
    const start = performance.now()
    try {
      await expect(runner.diff(here, null)).rejects.toThrow('The repository takes too much to read')
      const took = performance.now() - start
      console.log(`git bomb: ended after ${Math.round(took)} ms, ${beats} beats of 10 ms meanwhile`)
      expect(took).toBeLessThan(atMostMs(15_000))
      expect(beats).toBeGreaterThan(5)
      expect(process.memoryUsage.rss() - before).toBeLessThan(100 * MEGABYTE)
      expect(await runner.log(here, 20)).toHaveLength(1)
    } finally {
      clearInterval(heart)
      runner.close()
    }
  },
  300_000,
)

withGit(
  'a repository of 4,000 files that are not ignored is told within bounds, and others are answered meanwhile',
  async () => {
    const { get, backend, folders } = await openFiles()
    initRepository(folders.root)
    for (let index = 0; index < 40; index++) {
      const below = Object.fromEntries(Array.from({ length: 100 }, (_, file) => [`d${index}/f${file}`, 'x']))
      fill(folders.root, below)
    }
    const times: number[] = []
    const asked = get('git-status')
    let isDone = false
    void asked.finally(() => {
      isDone = true
    })
    while (!isDone) {
      const start = performance.now()
      expect((await backend.request('/health')).status).toBeLessThan(600)
      times.push(performance.now() - start)
      await Bun.sleep(20)
    }
    const { status, body } = await asked
    const worst = Math.max(...times)
    console.log(
      `git status of 4,000 files: ${status}, worst /health meanwhile ${worst.toFixed(0)} ms of ${times.length}`,
    )
    expect(status).toBe(200)
    expect(body.changes).toHaveLength(4000)
    expect(worst).toBeLessThan(atMostMs(500))
  },
  300_000,
)
