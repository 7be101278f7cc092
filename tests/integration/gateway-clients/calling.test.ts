import { describe, expect, test } from 'bun:test'
import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { findCodingAgents, openTestHome, type TestHome } from '../../harness/coding-agents/installed.ts'
import { TASK_CONTENT, TASK_FILE, writeFileTask } from '../../harness/coding-agents/tasks.ts'
import { openGateway, VENDORS } from './installation.ts'

const ROOT = join(import.meta.dir, '..', '..', '..')
const PAGE = await Bun.file(join(ROOT, 'web/docs/calling.md')).text()

/** Returns the runnable code blocks of a section; blocks in `sh` are illustrations. */
function readExamples(section: string): { language: string; code: string }[] {
  const text = PAGE.split(/^## /m).find((part) => part.startsWith(`${section}\n`)) ?? ''
  const blocks = [...text.matchAll(/^```(bash|ts|toml)\n([\s\S]*?)^```$/gm)]
  return blocks.map(([, language = '', code = '']) => ({ language, code }))
}

/** Runs the examples of a section, changing only the address. @returns their output. */
async function runExamples(
  testHome: TestHome,
  section: string,
  gateway: { backend: string; key: string },
  adapt = (code: string) => code,
): Promise<string> {
  const examples = readExamples(section)
  if (examples.length === 0) throw new Error(`The page has no examples in ${section}`)
  let printed = ''
  for (const { language, code } of examples) {
    const adapted = adapt(code).replaceAll('http://localhost:3001', gateway.backend)
    if (language === 'toml') {
      mkdirSync(join(testHome.home, '.codex'))
      // CI containers may lack the user namespaces that the sandbox of Codex needs.
      const open = adapted.replace('"workspace-write"', '"danger-full-access"')
      await Bun.write(join(testHome.home, '.codex', 'config.toml'), open)
      continue
    }
    const file = join(testHome.home, `example.${language}`)
    await Bun.write(file, adapted)
    const command =
      language === 'bash' ? (['bash', '-euo', 'pipefail', file] as const) : ([process.execPath, file] as const)
    const { exitCode, output } = await testHome.run(command, { STEAD_KEY: gateway.key })
    expect({ section, output, exitCode }).toEqual({ section, output, exitCode: 0 })
    printed += output
  }
  return printed
}

function installSdks({ home }: TestHome): void {
  mkdirSync(join(home, 'node_modules', '@anthropic-ai'), { recursive: true })
  for (const name of ['openai', '@anthropic-ai/sdk'])
    symlinkSync(join(ROOT, 'node_modules', name), join(home, 'node_modules', name))
}

describe.each(VENDORS)('web/docs/calling.md with %s', (_name, dialects) => {
  const isNative = dialects.length > 1

  test('the curl examples succeed in each dialect, with the headers that the page lists', async () => {
    await using gateway = await openGateway(dialects)
    using testHome = openTestHome()
    const output = await runExamples(testHome, 'curl', gateway)
    expect(output.split('Hello.')).toHaveLength(4)
    const listed = [...PAGE.matchAll(/^\| `(x-[\w-]+)`/gm)].map(([, name]) => name)
    const sent = listed.filter((name) => output.includes(`${name}: `))
    expect(sent).toEqual(listed.filter((name) => name !== 'x-stead-dropped'))
    expect(gateway.vendor.refused).toEqual([])
    expect(await gateway.recorded(3)).toHaveLength(3)
  }, 300_000)

  test.each(['OpenAI SDKs', 'Anthropic SDKs'])(
    'the example of %s prints the answer',
    async (section) => {
      await using gateway = await openGateway(dialects)
      using testHome = openTestHome()
      installSdks(testHome)
      expect(await runExamples(testHome, section, gateway)).toContain('Hello.')
      expect(gateway.vendor.refused).toEqual([])
    },
    300_000,
  )

  // `scripts/test-peers` installs both programs if the npm registry is available.
  test.skipIf(!findCodingAgents()).each([
    { section: 'Claude Code', native: 'messages' },
    { section: 'Codex', native: 'responses' },
  ])(
    '$section completes a task with its tool for writing files',
    async ({ section, native }) => {
      await using gateway = await openGateway(dialects)
      using testHome = openTestHome()
      const { vendor } = gateway
      vendor.answerWith(writeFileTask(testHome.project, { thinking: 'The file is missing.' }))
      const output = await runExamples(testHome, section, gateway)
      expect(vendor.refused).toEqual([])
      expect(output).toContain('The file is written.')
      expect(await Bun.file(join(testHome.project, TASK_FILE)).text()).toBe(TASK_CONTENT)
      expect(vendor.calls.map(({ dialect }) => dialect)).toEqual(Array(2).fill(isNative ? native : 'chat'))
      const calls = await gateway.recorded(2)
      expect(calls.map(({ succeeded, inputTokens, outputTokens }) => [succeeded, inputTokens, outputTokens])).toEqual(
        Array(2).fill([true, 1000, 500]),
      )
    },
    300_000,
  )

  // `scripts/test-peers` installs Codex if the npm registry is available.
  test.skipIf(!findCodingAgents())(
    'Codex completes the task with its default model, whose tools differ',
    async () => {
      await using gateway = await openGateway(dialects)
      using testHome = openTestHome()
      const { vendor } = gateway
      vendor.answerWith(writeFileTask(testHome.project, { thinking: 'The file is missing.' }))
      const withoutModel = (code: string) => code.replace(/^model = .*\n/m, '')
      const output = await runExamples(testHome, 'Codex', gateway, withoutModel)
      expect(vendor.refused).toEqual([])
      expect(output).toContain('The file is written.')
      expect(await Bun.file(join(testHome.project, TASK_FILE)).text()).toBe(TASK_CONTENT)
      expect(vendor.calls.map(({ dialect }) => dialect)).toEqual(Array(2).fill(isNative ? 'responses' : 'chat'))
    },
    300_000,
  )
})
