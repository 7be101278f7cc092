import { expect, test } from 'bun:test'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  deleteEntry,
  downloadFile,
  makeFolder,
  readTextFile,
  renameEntry,
  writeFile,
} from '../../../src/adapters/files/files.ts'
import { listTree } from '../../../src/adapters/files/list.ts'
import { AppError } from '../../../src/core/errors.ts'
import { roundsOf } from '../../harness/rounds.ts'
import { tempFolder } from '../../harness/temp-folder.ts'
import { readLines } from '../../harness/wires/lines.ts'

const OPERATIONS = roundsOf('SWAPS', 10_000)
const PARALLEL = 16
const CANARY = 'canary-outside-the-workspace'

test(`${OPERATIONS} operations read and change nothing outside while a process swaps folders and files for links`, async () => {
  using folder = tempFolder()
  const [workspace, outside] = [folder.file('workspace'), folder.file('outside')]
  for (const path of [join(workspace, 'folder/inner'), join(outside, 'inner')]) mkdirSync(path, { recursive: true })
  for (const name of ['canary', 'x', 'inner/x']) writeFileSync(join(outside, name), CANARY)
  for (const name of ['file', 'folder/x', 'folder/inner/x']) writeFileSync(join(workspace, name), 'inside')
  const before = snapshot(outside)

  const root = { base: workspace, below: [] }
  const bytes = Buffer.from('inside')
  const read = (path: string) => readTextFile(root, path).then(({ content }) => content)
  const work: ((index: number) => Promise<unknown>)[] = [
    () => read('folder/x'),
    () => read('file'),
    () => read('folder/inner/x'),
    () => read('folder/canary'),
    () => downloadFile(root, 'folder/x').then(({ body }) => new Response(body).text()),
    () => listTree(root, 4).then((tree) => (JSON.stringify(tree).includes('canary') ? CANARY : '')),
    () => makeFolder(root, 'folder/inner/made'),
    () => deleteEntry(root, 'folder/inner/made'),
    (index) => renameEntry(root, 'folder/x', `folder/inner/x${index % 7}`),
    (index) => renameEntry(root, `folder/inner/x${index % 7}`, 'folder/x'),
    () => deleteEntry(root, 'folder/inner/x'),
    // Few writes, because syncing them to disk takes most of the time.
    (index) => (index % 50 === 0 ? writeFile(root, 'folder/x', bytes) : read('folder/x')),
    (index) => (index % 50 === 0 ? writeFile(root, 'folder/inner/x', bytes) : read('folder/inner/x')),
  ]

  const outcomes = { done: 0, refused: 0, leaked: 0, failed: new Set<string>() }
  await using swapper = startSwapper(workspace, outside)
  expect((await readLines(swapper.process.stdout).next()).value).toBe('ready')
  let started = 0
  const loop = async () => {
    while (started < OPERATIONS) {
      const index = started++
      try {
        const result = await work[index % work.length]?.(index)
        if (typeof result === 'string' && result.includes('canary')) outcomes.leaked++
        outcomes.done++
      } catch (error) {
        if (error instanceof AppError) outcomes.refused++
        else outcomes.failed.add(String(error))
      }
    }
  }
  await Promise.all(Array.from({ length: PARALLEL }, loop))
  console.log(`swapper: ${JSON.stringify({ started, ...outcomes, failed: [...outcomes.failed] })}`)
  expect(swapper.process.exitCode).toBeNull()
  expect(outcomes.leaked).toBe(0)
  expect([...outcomes.failed]).toEqual([])
  expect(snapshot(outside)).toBe(before)
  // Both outcomes must occur; otherwise nothing raced.
  expect(Math.min(outcomes.done, outcomes.refused)).toBeGreaterThan(started / 100)
}, 300_000)

function startSwapper(workspace: string, outside: string) {
  const script = Bun.fileURLToPath(import.meta.resolve('./swapper.ts'))
  const process_ = Bun.spawn([process.execPath, script, workspace, outside], { stdout: 'pipe', stderr: 'inherit' })
  return {
    process: process_,
    [Symbol.asyncDispose]: async () => {
      process_.kill('SIGKILL')
      await process_.exited
    },
  }
}

/** Returns the names and contents of all files. */
function snapshot(folder: string): string {
  const names = readdirSync(folder, { recursive: true, withFileTypes: true })
  return names
    .map((entry) => {
      const path = join(entry.parentPath, entry.name)
      return entry.isFile() ? `${path}=${readFileSync(path, 'utf8')}` : path
    })
    .sort()
    .join('\n')
}
