import { expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import manifest from '../package.json' with { type: 'json' }
import { findMissingPaths } from '../scripts/documents/readme-paths.ts'
import { createProgram } from '../src/cli/program.ts'
import { Environment } from '../src/core/settings/environment.ts'

const ROOT = join(import.meta.dir, '..')
const README = readFileSync(join(ROOT, 'README.md'), 'utf8')
/** Pages whose commands must exist: the README and the CLI page. */
const CLI = readFileSync(join(ROOT, 'web/docs/cli.md'), 'utf8')
/** Returns the lines of code blocks without comments, and code spans. */
const readCode = (page: string) =>
  [
    ...[...page.matchAll(/^( *)```sh\n([\s\S]*?)^\1```$/gm)].flatMap(([, , block = '']) => block.split('\n')),
    ...[...page.matchAll(/`([^`\n]+)`/g)].map(([, word = '']) => word),
  ].map((text) => text.replace(/\s+#.*$/, '').trim())
const CODE = readCode(README)

/** Arguments of every `stead …`, without preceding words such as `sudo` and `NAME=value`. */
const COMMANDS = [
  ...new Set(
    [...CODE, ...readCode(CLI.replaceAll('\\|', '|'))].flatMap((text) =>
      [...text.matchAll(/(?:^|\s)stead(?=\s|$)([\w\s./<>=|[\]-]*)/g)].map(([, rest = '']) => rest.trim()),
    ),
  ),
].filter((words) => !/^\S*[./:]\S*$/.test(words))

/** Returns the command that the first words name, and the remaining words. */
function findCommand(program: Command, words: readonly string[]): { command: Command; rest: readonly string[] } {
  const [first = '', ...others] = words
  const below = program.commands.find((one) => one.name() === first)
  return below ? findCommand(below, others) : { command: program, rest: words }
}

test('README.md and web/docs/cli.md name commands', () => {
  expect(COMMANDS.length).toBeGreaterThan(15)
})

test.each(COMMANDS)('the documented `stead %s` is a command with these options', (text) => {
  const { command, rest } = findCommand(createProgram(), text.split(/\s+/).filter(Boolean))
  const options = [...command.options, ...(command.parent?.options ?? [])].flatMap(({ long }) => long ?? [])
  const takes = command.registeredArguments.length + options.length
  for (const word of rest) {
    if (word.startsWith('--')) expect(options).toContain(word)
  }
  // Remaining words must be values of arguments or options.
  if (rest.some((word) => !word.startsWith('--')))
    expect([text, takes > 0 && command.parent !== null]).toEqual([text, true])
})

test('README.md: each `bun run` is a script, and `scripts/…` can be run', () => {
  const scripts: Record<string, string> = manifest.scripts
  const named = CODE.flatMap((text) => [...text.matchAll(/^bun run ([\w:]+)/g)].map(([, name = '']) => name))
  const beside = [...README.matchAll(/`bun run endpoints`, `(\w+)`, `(\w+)`/g)].flatMap(([, ...names]) => names)
  expect(named.length).toBeGreaterThan(5)
  expect([...named, ...beside].filter((name) => scripts[name] === undefined)).toEqual([])
  const run = CODE.flatMap((text) => [...text.matchAll(/^(scripts\/\w+)(?:\s|$)/g)].map(([, path = '']) => path))
  expect(run.filter((path) => !existsSync(join(ROOT, path)))).toEqual([])
})

test('README.md names existing settings', () => {
  const settings = Environment.keyof().options as readonly string[]
  const given = CODE.flatMap((text) =>
    [...text.matchAll(/\b([A-Z][A-Z0-9]+_[A-Z0-9_]+)=?/g)].map(([, name = '']) => name),
  )
  expect([...new Set(given)].filter((name) => !settings.includes(name))).toEqual([
    'STEAD_DOWNLOAD_URL',
    'TEST_PARALLEL',
  ])
})

test('README.md links to existing files', () => {
  const links = [...README.matchAll(/\]\((?!https?:)([^)#]+)(?:#([^)]+))?\)/g)]
  expect(links.length).toBeGreaterThan(8)
  expect(links.flatMap(([, path = '']) => (existsSync(join(ROOT, path)) ? [] : [path]))).toEqual([])
})

test('README.md: each path in backticks exists', () => {
  expect(findMissingPaths(README, ROOT)).toEqual([])
})

test('web/docs/cli.md lists every command', () => {
  const listCommands = (command: Command, path: string): string[] =>
    command.commands.flatMap((one) => {
      const name = `${path} ${one.name()}`
      return one.commands.length > 0 && one.registeredArguments.length === 0 ? listCommands(one, name) : [name]
    })
  const names = listCommands(createProgram(), 'stead').map((name) =>
    name.replace(/ status$/, (end) => (name === 'stead migrate status' ? '' : end)),
  )
  expect(names.length).toBeGreaterThan(40)
  expect(names.filter((name) => !CLI.includes(`| \`${name}`))).toEqual([])
})
