import { expect, test } from 'bun:test'
import { findWorkspace, MAX_FILES, takeWithinLimits, toImport } from './workspace-files.ts'

const file = (path: string, size = 10) => ({ path, size, text: async () => `text of ${path}` })
const pathsOf = (paths: readonly string[]) => findWorkspace(paths.map((path) => file(path))).map(({ path }) => path)

test('findWorkspace finds a workspace at the root, in a subfolder and in loose files', () => {
  const wanted = ['USER.md', 'SOUL.md', 'MEMORY.md', 'memory/2026-11-02.md', 'memory/2026-11-01.md']
  const others = ['README.md', 'notes/MEMORY.txt', 'agents/a.json']
  expect(pathsOf([...others, ...wanted])).toEqual(wanted)
  expect(pathsOf([...others, ...wanted].map((path) => `.openclaw/workspace/${path}`))).toEqual(wanted)
  expect(pathsOf(['2026-11-01.md', 'MEMORY.md'])).toEqual(['MEMORY.md', 'memory/2026-11-01.md'])
  expect(pathsOf(others)).toEqual([])
})

test('findWorkspace picks the nearest of several workspaces', () => {
  expect(pathsOf(['workspace/MEMORY.md', 'old/backup/MEMORY.md', 'old/backup/USER.md'])).toEqual(['MEMORY.md'])
})

test('toImport turns SOUL.md into instructions and the other files into facts', async () => {
  const found = findWorkspace([file('w/SOUL.md'), file('w/USER.md')])
  expect(found.map(({ path, into }) => [path, into])).toEqual([
    ['USER.md', 'facts'],
    ['SOUL.md', 'instructions'],
  ])
  expect(await toImport('ada', found)).toEqual({
    agentId: 'ada',
    files: [
      { path: 'USER.md', text: 'text of w/USER.md' },
      { path: 'SOUL.md', text: 'text of w/SOUL.md' },
    ],
  })
})

test('takeWithinLimits stops at the limits of one request', () => {
  const days = Array.from({ length: 250 }, (_, index) => file(`memory/day-${index}.md`))
  expect(takeWithinLimits(findWorkspace(days))).toHaveLength(MAX_FILES)
  const large = [file('MEMORY.md', 6_000_000), file('memory/a.md', 2_000_000), file('memory/b.md', 5)]
  expect(takeWithinLimits(findWorkspace(large)).map(({ path }) => path)).toEqual(['MEMORY.md', 'memory/b.md'])
})
