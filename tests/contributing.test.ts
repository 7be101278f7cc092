import { afterAll, beforeAll, expect, test } from 'bun:test'
import { cpSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { tempFolder } from './harness/temp-folder.ts'

const ROOT = join(import.meta.dir, '..')
const PAGE = join(ROOT, 'web/docs/contributing.md')
/** Top-level entries of a checkout that are built or installed. */
const NOT_COPIED = new Set(['.git', '.bun', 'node_modules', 'dist', 'data'])

/** A code block of the page; `path` is the file named in the line before it. */
type Block = { path: string; language: string; code: string }

const checkout = tempFolder()

beforeAll(() => {
  for (const name of readdirSync(ROOT)) {
    if (NOT_COPIED.has(name)) continue
    const filter = (path: string) => !/\/(?:node_modules|web\/dist)$/.test(path)
    cpSync(join(ROOT, name), checkout.file(name), { recursive: true, filter })
  }
  symlinkSync(join(ROOT, 'node_modules'), checkout.file('node_modules'))
})

afterAll(() => checkout[Symbol.dispose]())

async function readBlocks(): Promise<Block[]> {
  const page = await Bun.file(PAGE).text()
  const section = page.slice(page.indexOf('## Add a feature'), page.indexOf('A page of the dashboard'))
  const blocks = section.matchAll(/(?:^`([^`\n]+)`:\n\n)?^```(\w+)\n([\s\S]*?)^```$/gm)
  return [...blocks].map(([, path = '', language = '', code = '']) => ({ path, language, code }))
}

/** Inserts each run of `+` lines after the context line that precedes it. @throws Error when the line is missing. */
function insertLines(text: string, diff: string): string {
  const lines = text.split('\n')
  let at = -1
  for (const line of diff.split('\n').filter(Boolean)) {
    const content = line.slice(1)
    if (line.startsWith('+')) {
      at++
      lines.splice(at, 0, content)
    } else {
      at = lines.indexOf(content)
      if (at < 0) throw new Error(`contributing.md: no line ${JSON.stringify(content)}`)
    }
  }
  return lines.join('\n')
}

async function runLine(line: string): Promise<void> {
  // The Bun that runs this test is the `bun` of the page.
  const words = line.split(' ').map((word, index) => (index === 0 && word === 'bun' ? process.execPath : word))
  const child = Bun.spawn(words, { cwd: checkout.path, stdout: 'pipe', stderr: 'pipe' })
  const [exitCode, output, errors] = await Promise.all([child.exited, child.stdout.text(), child.stderr.text()])
  expect({ line, exitCode, output: exitCode === 0 ? '' : output + errors }).toEqual({ line, exitCode: 0, output: '' })
}

test('insertLines inserts lines after their context and rejects an unknown context', () => {
  expect(insertLines('a\nb\nc\n', ' a\n+x\n+y\n c\n+z\n')).toBe('a\nx\ny\nb\nc\nz\n')
  expect(() => insertLines('a\n', ' b\n+x\n')).toThrow('no line "b"')
})

test('the example of web/docs/contributing.md works as written', async () => {
  const blocks = await readBlocks()
  expect(blocks.map(({ language }) => language).sort()).toEqual([
    ...['diff', 'diff', 'diff', 'diff', 'sh', 'sh', 'ts', 'ts', 'ts', 'ts', 'ts'],
  ])
  for (const { path, language, code } of blocks) {
    const file = Bun.file(checkout.file(path))
    if (language === 'ts') await file.write(code)
    else if (language === 'diff') await file.write(insertLines(await file.text(), code))
    else for (const line of code.trim().split('\n')) await runLine(line)
  }
}, 600_000)
