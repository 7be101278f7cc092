import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { tempFolder } from '../../tests/harness/temp-folder.ts'
import { SLOW_FILES } from './slow-files.ts'
import { findTestFiles, type Kind, type TestFile } from './test-files.ts'
import { runQueue } from './test-queue.ts'

const file = (path: string, seconds: number, kind: Kind = 'light'): TestFile => ({
  path,
  seconds,
  kind,
  mayShare: false,
  isLong: false,
})

/** Runs the files; each ends when it is told to by its path. */
function startQueue(files: TestFile[], lanes: number) {
  const running = new Map<string, () => void>()
  const order: string[] = []
  const over = runQueue(files, lanes, ({ path }) => {
    order.push(path)
    return new Promise((resolve) => running.set(path, resolve))
  })
  return {
    order,
    over,
    running: () => [...running.keys()].sort(),
    async end(path: string) {
      running.get(path)?.()
      running.delete(path)
      await Bun.sleep(0)
    },
  }
}

test('the longest come first, as many at once as there are lanes', async () => {
  const queue = startQueue([file('short', 1), file('long', 9), file('middle', 5), file('tiny', 0)], 2)
  expect(queue.running()).toEqual(['long', 'middle'])
  await queue.end('middle')
  expect(queue.running()).toEqual(['long', 'short'])
  await queue.end('long')
  await queue.end('short')
  await queue.end('tiny')
  await queue.over
  expect(queue.order).toEqual(['long', 'middle', 'short', 'tiny'])
})

test('measurements have no second of their kind beside them, browsers no third; light files pass by', async () => {
  const most: [Kind, number][] = [
    ['browser', 2],
    ['measuring', 1],
  ]
  for (const [kind, count] of most) {
    const names = ['one', 'two', 'three']
    const queue = startQueue([...names.map((name, index) => file(name, 9 - index, kind)), file('light', 1)], 4)
    const first = names.slice(0, count)
    expect(queue.running().toSorted()).toEqual(['light', ...first].toSorted())
    await queue.end('light')
    expect(queue.running().toSorted()).toEqual(first.toSorted())
    for (const name of names) await queue.end(name)
    await queue.over
  }
})

test('no file is no work', async () => {
  await runQueue([], 4, () => Promise.reject(new Error('there is nothing to run')))
})

test('a file is of the kind that it declares, or that its imports and calls tell', async () => {
  using folder = tempFolder()
  const files = {
    'tests/declared.test.ts': '/** Long words. */\n// gate: measuring\n',
    'src/adapters/runtimes/docker/docker.test.ts':
      "import { findEngine } from '../../tests/harness/engines/engine.ts'\n",
    'tests/e2e/page.test.ts': "import { openBrowser } from '../harness/browser.ts'\n",
    'tests/program.test.ts': "test('starts', () => Bun.spawn(['true']))\n",
    'src/plain.test.ts': "import { expect } from 'bun:test'\n",
  }
  for (const [path, text] of Object.entries(files)) await Bun.write(folder.file(path), text)
  const found = await findTestFiles(folder.path)
  expect(Object.fromEntries(found.map(({ path, kind }) => [path, kind]))).toEqual({
    'tests/declared.test.ts': 'measuring',
    'src/adapters/runtimes/docker/docker.test.ts': 'engine',
    'tests/e2e/page.test.ts': 'browser',
    'tests/program.test.ts': 'program',
    'src/plain.test.ts': 'light',
  })
  await Bun.write(folder.file('src/wrong.test.ts'), '// gate: quick\n')
  await expect(findTestFiles(folder.path)).rejects.toThrow('src/wrong.test.ts declares the kind quick')
})

test('in a fresh checkout the slow files are known as such; what was seen here counts more', async () => {
  const root = join(import.meta.dir, '..', '..')
  const slow = (await findTestFiles(root)).filter(({ path }) => path in SLOW_FILES)
  expect(slow.length).toBeGreaterThan(0)
  for (const { path, seconds } of slow) expect(seconds).toBe(SLOW_FILES[path] ?? Number.NaN)
  const remembered = Object.fromEntries(slow.map(({ path }) => [path, 1]))
  const seen = (await findTestFiles(root, { remembered })).filter(({ path }) => path in SLOW_FILES)
  expect(new Set(seen.map(({ seconds }) => seconds))).toEqual(new Set([1]))
})
