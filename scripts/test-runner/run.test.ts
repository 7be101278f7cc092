import { expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { tempFolder } from '../../tests/harness/temp-folder.ts'
import { until } from '../../tests/harness/until.ts'

const PASSES = "import { expect, test } from 'bun:test'\ntest('adds', () => expect(1 + 1).toBe(2))\n"
const FAILS = "import { expect, test } from 'bun:test'\ntest('subtracts', () => expect(1 - 1).toBe(1))\n"
const LIMITS = { testMs: 60_000, fileMs: 120_000, runMs: 120_000 }
const LIMIT_MS = 120_000

/** In a process of its own, so that deliberate failures stay out of the output of these tests. */
function startRunner(root: string, options: object = {}) {
  const program = `
    import { runTests } from ${JSON.stringify(join(import.meta.dir, 'run.ts'))}
    process.exit((await runTests(${JSON.stringify({ root, parallel: 2, limits: LIMITS, ...options })})) ? 0 : 1)`
  return Bun.spawn([process.execPath, '-e', program], { stdout: 'pipe', stderr: 'ignore' })
}

/** Runs the tests of a checkout with these files. */
async function run(files: Readonly<Record<string, string>>, options: object = {}) {
  using folder = tempFolder()
  for (const [path, text] of Object.entries(files)) await Bun.write(folder.file(path), text)
  const runner = startRunner(folder.path, options)
  const output = await runner.stdout.text()
  return { exitCode: await runner.exited, output, counts: output.trimEnd().split('\n').at(-1) }
}

test(
  'runTests runs the test files of the four folders and counts their tests',
  async () => {
    const { exitCode, counts, output } = await run({
      'src/deep/in/it.test.ts': PASSES,
      'tests/some.test.ts': `${PASSES}test.skip('later', () => {})\n`,
      'web/page.test.tsx': PASSES,
      'scripts/tool.test.ts': PASSES,
      'elsewhere/other.test.ts': FAILS,
    })
    expect({ exitCode, counts }).toEqual({ exitCode: 0, counts: '4 passed, 0 failed, 0 flaky files, 1 skipped' })
    expect(output).toMatch(/Slowest files:\n( +[\d.]+ s {2}\S+\n){4}/)
  },
  LIMIT_MS,
)

test(
  'runTests fails and names the test when a file fails twice',
  async () => {
    const { exitCode, output, counts } = await run({ 'src/a.test.ts': FAILS, 'src/b.test.ts': PASSES })
    expect({ exitCode, counts }).toEqual({ exitCode: 1, counts: '1 passed, 1 failed, 0 flaky files, 0 skipped' })
    expect(output).toMatch(/Failed:\nsrc\/a\.test\.ts\n {2}subtracts\n[\s\S]*Expected: 1/)
  },
  LIMIT_MS,
)

test(
  'runTests passes and lists the first failure as flaky when a file passes alone',
  async () => {
    using folder = tempFolder()
    const mark = JSON.stringify(folder.file('mark'))
    const flaky = `import { expect, test } from 'bun:test'
      import { existsSync, writeFileSync } from 'node:fs'
      test('passes the second time', () => {
        const isSecond = existsSync(${mark})
        writeFileSync(${mark}, '')
        expect(isSecond).toBe(true)
      })`
    const { exitCode, output, counts } = await run({ 'src/a.test.ts': flaky, 'src/b.test.ts': PASSES })
    expect({ exitCode, counts }).toEqual({ exitCode: 0, counts: '1 passed, 0 failed, 1 flaky files, 0 skipped' })
    expect(output).toMatch(/Flaky[^\n]*\nsrc\/a\.test\.ts\n {2}passes the second time\n/)
    expect(output).not.toContain('Failed:')
  },
  LIMIT_MS,
)

test.each([
  [
    'kills its process',
    "import { test } from 'bun:test'\ntest('dies', () => void process.kill(process.pid, 'SIGKILL'))",
  ],
  ['exits with 0', "import { test } from 'bun:test'\ntest('leaves', () => process.exit(0))"],
  ['has no tests', 'export {}'],
  ['cannot be loaded', "import './missing.ts'"],
  [
    'throws after its tests',
    `${PASSES}import { afterAll } from 'bun:test'\nafterAll(() => { throw new Error('late') })`,
  ],
  [
    'throws between its tests',
    `${PASSES}import { afterAll } from 'bun:test'\nsetTimeout(() => { throw new Error('late') })\nafterAll(() => Bun.sleep(50))`,
  ],
])(
  'runTests fails when a file %s',
  async (_what, text) => {
    const { exitCode, counts } = await run({ 'src/odd.test.ts': text, 'src/sound.test.ts': PASSES })
    expect({ exitCode, counts }).toEqual({ exitCode: 1, counts: expect.stringContaining('passed') })
  },
  LIMIT_MS,
)

test(
  'runTests fails and names the file when one hangs beyond the limit of the run',
  async () => {
    const hangs = "import { test } from 'bun:test'\ntest('hangs', () => { for (;;) {} })"
    const limits = { testMs: 60_000, fileMs: 2000, runMs: 4000 }
    const { exitCode, output, counts } = await run(
      { 'src/hangs.test.ts': hangs, 'src/sound.test.ts': PASSES },
      { limits },
    )
    expect({ exitCode, counts }).toEqual({ exitCode: 1, counts: '1 passed, 1 failed, 0 flaky files, 0 skipped' })
    expect(output).toMatch(/did not end within [\s\S]*Failed:\nsrc\/hangs\.test\.ts\n/)
  },
  LIMIT_MS,
)

test.each(['SIGINT', 'SIGTERM', 'SIGKILL'] as const)(
  'runTests ends the programs of its tests when it gets %s',
  async (signal) => {
    using folder = tempFolder()
    const started = folder.file('started')
    await Bun.write(
      folder.file('src/a.test.ts'),
      `import { test } from 'bun:test'
      test('waits', async () => {
        const child = Bun.spawn(['sleep', '600'])
        await Bun.write(${JSON.stringify(started)}, String(child.pid))
        await child.exited
      })`,
    )
    const runner = startRunner(folder.path)
    const pid = await until(
      'the program of the test',
      async () => existsSync(started) && (await Bun.file(started).text()),
    )
    runner.kill(signal)
    await until('the end of the program of the test', () => !existsSync(`/proc/${pid}`))
  },
  LIMIT_MS,
)

test(
  'runTests runs the files whose path contains a pattern, and fails when there is none',
  async () => {
    const files = { 'src/keys/a.test.ts': PASSES, 'src/plans/b.test.ts': FAILS }
    expect((await run(files, { patterns: ['keys/'] })).counts).toBe('1 passed, 0 failed, 0 flaky files, 0 skipped')
    expect((await run(files, { patterns: ['missing'] })).exitCode).toBe(1)
  },
  LIMIT_MS,
)
