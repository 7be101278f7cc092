import { expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { tempFolder } from '../../tests/harness/temp-folder.ts'
import { until } from '../../tests/harness/until.ts'
import { runTests, type TestOptions } from '../run-tests.ts'
import { LONG_FILES } from './long-files.ts'

const LIMITS = { testMs: 60_000, fileMs: 120_000, allMs: 240_000 }
const PASSES = "import { expect, test } from 'bun:test'\ntest('adds', () => expect(1 + 1).toBe(2))\n"

/** Runs the tests of a checkout that has these files, by path. @returns whether all is well and what was printed. */
async function run(files: Readonly<Record<string, string>>, options: Partial<TestOptions> = {}) {
  using folder = tempFolder()
  for (const [path, text] of Object.entries(files)) await Bun.write(folder.file(path), text)
  const printed: string[] = []
  const print = (text: string) => void printed.push(...text.split('\n'))
  const isOk = await runTests({ root: folder.path, lanes: 2, limits: LIMITS, print, ...options })
  const lineOf = (path: string) => printed.find((line) => line.includes(path))?.replace(/ +[\d.]+ s {2}/, ' ') ?? ''
  return { isOk, printed, last: printed.at(-1), lineOf }
}

test('every test file of the four folders is run, each has a line, and the last line counts all tests', async () => {
  const { isOk, lineOf, last } = await run({
    'src/deep/in/it.test.ts': PASSES,
    'tests/some.test.ts': `${PASSES}test.skip('not now', () => {})\n`,
    'web/page.test.tsx': PASSES,
    'scripts/tool.test.ts': PASSES,
    'elsewhere/other.test.ts': "throw new Error('nobody runs this')",
  })
  expect(lineOf('src/deep/in/it.test.ts')).toBe('ok src/deep/in/it.test.ts  1 passed, 0 failed')
  expect(lineOf('tests/some.test.ts')).toBe('ok tests/some.test.ts  1 passed, 0 failed, 1 skipped')
  expect(lineOf('elsewhere')).toBe('')
  expect({ isOk, last }).toEqual({ isOk: true, last: '4 passed, 0 failed, 1 skipped' })
})

test('of a failed test the output is shown and its name once more at the end; what passed beside it is not', async () => {
  const fails = "test('subtracts', () => {\n  console.log('looking closer')\n  expect(1 - 1).toBe(1)\n})\n"
  const { isOk, printed, last, lineOf } = await run({ 'src/a.test.ts': PASSES + fails, 'src/b.test.ts': PASSES })
  expect(lineOf('src/a.test.ts')).toBe('FAIL src/a.test.ts  1 passed, 1 failed')
  expect(printed).toContain('    looking closer')
  expect(printed).toContainEqual(expect.stringContaining('Expected: 1'))
  expect(printed).not.toContainEqual(expect.stringContaining('(pass)'))
  const end = printed.slice(printed.indexOf('What failed:'))
  expect(end).toContainEqual(expect.stringMatching(/^ +\(fail\) subtracts/))
  expect({ isOk, last }).toEqual({ isOk: false, last: '2 passed, 1 failed' })
})

test('light files share a process, and each is told of by itself', async () => {
  const tells = "import { test } from 'bun:test'\ntest('tells', () => console.log('process', process.pid))\n"
  const fails = "import { expect, test } from 'bun:test'\ntest('fails', () => expect(1).toBe(2))\n"
  const { printed, last, lineOf } = await run({
    'src/a.test.ts': tells + fails.split('\n')[1],
    'src/b.test.ts': `${tells}test('falls', () => { throw new Error('fallen') })`,
    'src/c.test.ts': PASSES,
    'src/d.test.ts': "import './nowhere.ts'",
    'src/e.test.ts': "console.log('nothing to see')",
    'src/f.test.ts': PASSES,
    'src/g.test.ts': `// gate: alone\n${tells}test('falls', () => { throw new Error('fallen') })`,
  })
  const processes = printed.filter((line) => /^ +process \d+$/.test(line))
  expect(new Set(processes).size).toBe(2)
  expect(lineOf('src/b.test.ts')).toBe('FAIL src/b.test.ts  1 passed, 1 failed')
  expect(printed).toContain('    Before it in the same process: src/a.test.ts')
  expect(lineOf('src/d.test.ts')).toBe('FAIL src/d.test.ts  0 passed, 1 failed')
  expect(lineOf('src/f.test.ts')).toBe('ok src/f.test.ts  1 passed, 0 failed')
  expect(last).toBe('5 passed, 5 failed')
})

const DIES = "import { expect, test } from 'bun:test'\ntest('first', () => expect(1).toBe(1))\n"
test.each([
  [
    'is killed',
    `${DIES}test('dies', () => void process['kill'](process.pid, 'SIGKILL'))`,
    '1 passed, 1 failed',
    /before its tests did/,
  ],
  [
    'ends itself as if all were well',
    `${DIES}test('leaves', () => process['exit'](0))`,
    '1 passed, 1 failed',
    /exit code 0 before/,
  ],
  ['has no tests', "console.log('nothing to see')", '0 passed, 1 failed', /^ +The file has no tests\.$/],
  ['cannot be loaded', "import './nowhere.ts'", '0 passed, 1 failed', /Cannot find module/],
])('a file that %s is a failure, and says so', async (_what, text, counts, reason) => {
  const { isOk, lineOf, printed } = await run({ 'src/odd.test.ts': text, 'src/sound.test.ts': PASSES })
  expect(lineOf('src/odd.test.ts')).toBe(`FAIL src/odd.test.ts  ${counts}`)
  expect(lineOf('src/sound.test.ts')).toBe('ok src/sound.test.ts  1 passed, 0 failed')
  expect(printed).toContainEqual(expect.stringMatching(reason))
  expect(isOk).toBe(false)
})

test('a file that hangs is ended at its limit with all that it started; the others are run', async () => {
  using folder = tempFolder()
  const started = folder.file('started')
  const hangs = `
    import { test } from 'bun:test'
    test('hangs', () => {
      const child = Bun.spawn(['sleep', '1000'])
      require('node:fs').writeFileSync(${JSON.stringify(started)}, String(child.pid))
      for (;;) {}
    })`
  const { lineOf, printed, last } = await run(
    { 'src/hangs.test.ts': hangs, 'src/sound.test.ts': PASSES },
    { lanes: 1, limits: { ...LIMITS, fileMs: 3000 } },
  )
  expect(lineOf('src/hangs.test.ts')).toBe('FAIL src/hangs.test.ts  0 passed, 1 failed')
  expect(printed).toContainEqual(expect.stringContaining('The file did not end within 3 s.'))
  const pid = await Bun.file(started).text()
  await until('the end of what it started', () => !existsSync(`/proc/${pid}`))
  expect(last).toBe('1 passed, 1 failed')
})

const RUNNER = `
  import { endCommandsWithProgram } from './command.ts'
  import { runTests } from '../run-tests.ts'
  endCommandsWithProgram()
  await runTests({ root: process.argv[1], lanes: 1 })`

test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
  'whoever ends it by %s, twice even, ends what the tests started, which may clean up; no other file starts',
  async (signal) => {
    using folder = tempFolder()
    const [started, cleaned, other] = ['started', 'cleaned', 'other'].map(folder.file)
    const child = `trap "sleep 0.3; touch ${cleaned}; exit" TERM; touch ${started}; while :; do sleep 0.05; done`
    const stays = `
      import { test } from 'bun:test'
      test('stays', async () => {
        Bun.spawn(['sh', '-c', ${JSON.stringify(child)}])
        await Bun.sleep(600_000)
      })`
    await Bun.write(folder.file('src/a.test.ts'), `// gate: alone\n${stays}`)
    await Bun.write(
      folder.file('src/b.test.ts'),
      `// gate: alone\nawait Bun.write(${JSON.stringify(other)}, '')\n${PASSES}`,
    )
    const runner = Bun.spawn([process.execPath, '-e', RUNNER, folder.path], { cwd: import.meta.dir, stdout: 'pipe' })
    await until('the start of what the test starts', () => existsSync(started ?? ''))
    runner.kill(signal)
    runner.kill(signal)
    const exitCode = await runner.exited
    expect({ exitCode: exitCode, isCleaned: existsSync(cleaned ?? ''), isOtherRun: existsSync(other ?? '') }).toEqual({
      exitCode: { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 }[signal],
      isCleaned: true,
      isOtherRun: false,
    })
    expect(await runner.stdout.text()).toBe('')
  },
)

test('when the time for everything is over, what has not ended is a failure by name', async () => {
  const sleeps = "import { test } from 'bun:test'\ntest('sleeps', () => Bun.sleep(600_000))\n"
  const { lineOf, printed, last } = await run(
    { 'src/long-sleeps.test.ts': `${sleeps}${'// long\n'.repeat(9000)}`, 'src/sound.test.ts': PASSES },
    { lanes: 1, limits: { ...LIMITS, allMs: 1500 } },
  )
  expect(lineOf('src/long-sleeps.test.ts')).toBe('FAIL src/long-sleeps.test.ts  0 passed, 1 failed')
  expect(lineOf('src/sound.test.ts')).toBe('FAIL src/sound.test.ts  0 passed, 1 failed')
  expect(printed).toContainEqual(expect.stringContaining('The file was not run'))
  expect(last).toBe('0 passed, 2 failed')
})

test('the longest file of the last run is the first of the next', async () => {
  using folder = tempFolder()
  const waits = (ms: number) =>
    `// gate: alone\nimport { test } from 'bun:test'\ntest('waits', () => Bun.sleep(${ms}))\n`
  await Bun.write(folder.file('src/a.test.ts'), waits(10))
  await Bun.write(folder.file('src/b.test.ts'), waits(1500))
  const runAgain = async () => {
    const printed: string[] = []
    await runTests({ root: folder.path, lanes: 1, limits: LIMITS, print: (text) => void printed.push(text) })
    return printed.slice(0, 2).map((line) => /src\S+/.exec(line)?.[0])
  }
  await runAgain()
  expect(await runAgain()).toEqual(['src/b.test.ts', 'src/a.test.ts'])
})

test('long files are left to `bun run check --all`, and a line says how many; whoever names one runs it', async () => {
  const [long = ''] = Object.keys(LONG_FILES)
  const files = { 'src/a.test.ts': PASSES, [long]: PASSES }
  const { printed, last } = await run(files)
  expect({ first: printed[0], last }).toEqual({
    first: 'Long files, left to `bun run check --all`: 1',
    last: '1 passed, 0 failed',
  })
  expect((await run(files, { words: [long] })).last).toBe('1 passed, 0 failed')
  expect((await run(files, { isWhole: true })).last).toBe('2 passed, 0 failed')
})

test('words choose files by their paths; words that choose none are a failure', async () => {
  const files = { 'src/keys/a.test.ts': PASSES, 'src/plans/b.test.ts': PASSES }
  expect((await run(files, { words: ['keys/'] })).last).toBe('1 passed, 0 failed')
  const none = await run(files, { words: ['nowhere'] })
  expect([none.isOk, none.last]).toEqual([false, '0 passed, 1 failed'])
})
