import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { CreatedKey } from '../src/features/accounts/keys/schemas.ts'
import { PASSWORD, signUp } from './harness/client.ts'
import { startProvider } from './harness/doubles/provider.ts'
import { openInstallation } from './harness/server.ts'
import { tempFolder } from './harness/temp-folder.ts'

const CHAPTER = join(import.meta.dir, '..', 'web', 'docs', 'models.md')
/** Languages of the examples that run, with their programs; blocks in `sh` and `json` are illustrations. */
const PROGRAMS: Readonly<Record<string, readonly [string, ...string[]]>> = {
  bash: ['bash', '-euo', 'pipefail'],
  ts: [process.execPath],
  python: ['python3'],
}

/** Returns the examples of the page in their order. */
async function readExamples(): Promise<{ language: string; code: string }[]> {
  const text = await Bun.file(CHAPTER).text()
  const blocks = [...text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)]
  return blocks
    .map(([, language = '', code = '']) => ({ language, code }))
    .filter(({ language }) => language in PROGRAMS)
}

/** Installs the typed client as `bun add ./dist/client` does: the package and its dependency. */
async function installClient(folder: string): Promise<void> {
  const root = join(CHAPTER, '..', '..', '..')
  const { exitCode, stderr } = Bun.spawnSync([
    process.execPath,
    join(root, 'scripts/client/main.ts'),
    join(folder, 'client'),
  ])
  expect([exitCode, stderr.toString()]).toEqual([0, ''])
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(join(folder, 'client'), join(folder, 'node_modules/stead'))
  for (const name of ['openapi-fetch', 'openapi-typescript-helpers', 'bun-types']) {
    symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name))
  }
}

const folder = tempFolder()
beforeAll(() => installClient(folder.path), 300_000)
afterAll(() => folder[Symbol.dispose]())

test('the typed client compiles its example and rejects unknown paths, fields and types', async () => {
  const root = join(CHAPTER, '..', '..', '..')
  const example = (await readExamples()).find(({ code }) => code.includes('stead/client'))
  const program = (line: string) =>
    `import { createSteadClient } from 'stead/client'\nconst { web } = createSteadClient({ web: '' })\n${line}\nexport {}\n`
  const right = [
    example?.code ?? '',
    program("const { data } = await web.GET('/api/keys')\nconst name: string = data!.keys[0]!.name"),
  ]
  const wrong = [
    program("await web.GET('/api/nothing')"),
    program("await web.POST('/api/keys', { body: { nome: 'a' } })"),
    program("const { data } = await web.GET('/api/keys')\nconst name: number = data!.keys[0]!.name"),
  ]
  // One compiler run for all files: loading the types takes most of the time.
  const files = [...right, ...wrong].map((_, index) => `checked-${index}.ts`)
  await Promise.all([...right, ...wrong].map((code, index) => Bun.write(folder.file(`checked-${index}.ts`), code)))
  const options = ['--noEmit', '--strict', '--skipLibCheck', '--target', 'esnext', '--module', 'preserve']
  const { stdout } = Bun.spawnSync(
    [process.execPath, join(root, 'node_modules/typescript/bin/tsc'), ...options, '--types', 'bun-types', ...files],
    { cwd: folder.path },
  )
  const errors = stdout
    .toString()
    .split('\n')
    .filter((line) => line.includes('error'))
  const errorsOf = (file: string) => errors.filter((line) => line.includes(`${file}(`))
  expect(files.slice(0, right.length).flatMap(errorsOf)).toEqual([])
  for (const file of files.slice(right.length)) expect([file, errorsOf(file)]).toEqual([file, [expect.any(String)]])
  expect(errors).toHaveLength(wrong.length)
}, 300_000)

test('the examples of web/docs/models.md run in each language', async () => {
  const provider = await startProvider()
  const pages = Bun.serve({
    port: 0,
    fetch: () =>
      new Response('<title>Tea</title><h1>Tea</h1><p>Green tea.</p>', { headers: { 'content-type': 'text/html' } }),
  })
  const models = { OPENROUTER_API_KEY: 'sk-or-test', OPENROUTER_BASE_URL: provider.baseUrl }
  await using installation = await openInstallation({ environment: { ...models, SUMMARIZER_ALLOW_PRIVATE: 'true' } })
  const server = await installation.start()
  const person = await signUp(server.urls.web)
  const environment: Record<string, string> = {
    PATH: process.env.PATH ?? '',
    STEAD_WEB: server.urls.web,
    STEAD_BACKEND: server.urls.backend,
    STEAD_SUMMARIZER: server.urls.summarizer,
    STEAD_EMAIL: person.email,
    STEAD_PASSWORD: PASSWORD,
    PAGE_URL: `http://127.0.0.1:${pages.port}/`,
  }
  const run = async (language: string, code: string): Promise<string> => {
    const file = folder.file(`example.${language}`)
    await Bun.write(file, code)
    const child = Bun.spawn([...(PROGRAMS[language] ?? ['false']), file], {
      cwd: join(file, '..'),
      env: environment,
      stdout: 'pipe',
      stderr: 'pipe',
    })
    const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()])
    expect({ language, exitCode: await child.exited, stderr }).toEqual({ language, exitCode: 0, stderr: '' })
    return stdout
  }

  try {
    const [first, ...others] = await readExamples()
    expect(others.map(({ language }) => language)).toEqual(['bash', 'ts', 'ts', 'python'])
    const made = await run('bash', first?.code ?? '')
    environment.STEAD_KEY = CreatedKey.parse(JSON.parse(made.slice(made.lastIndexOf('{"id"')))).key
    for (const { language, code } of others) {
      const output = await run(language, code)
      expect(output).toContain('Hello.')
      expect(output).toContain('Tea')
      expect(output).toMatch(/0 agents|"agents":\[\]/)
    }
  } finally {
    pages.stop(true)
    await provider.stop()
  }
}, 300_000)
