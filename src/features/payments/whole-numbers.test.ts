import { expect, test } from 'bun:test'
import { join } from 'node:path'

/** Code that produces a fraction of an amount, or parses one as a fraction. */
const FRACTIONS = [
  /\bparseFloat\b/,
  /\.toFixed\(/,
  /\breal\(/,
  /(?<![\w.'"`$])\d+\.\d+(?![\w.'"`])/,
  /\/ ?1_000_000\b/,
  /\bMath\.(?:round|ceil)\(/,
]

/** Files whose fractions are not amounts of money. */
const EXCUSED: Readonly<Record<string, string>> = {
  'x402/rating.ts': 'scores between 0 and 100',
  'x402/gateway.ts': 'rates as they are shown in answers',
}

test('amounts of money are integers in all tables', async () => {
  const found: string[] = []
  const paths = [...new Bun.Glob('**/*.ts').scanSync(import.meta.dir)].filter(
    (path) => !path.endsWith('.test.ts') && !(path in EXCUSED),
  )
  expect(paths.length).toBeGreaterThan(20)
  for (const path of paths) {
    const lines = (await Bun.file(join(import.meta.dir, path)).text()).split('\n')
    for (const [index, line] of lines.entries()) {
      const code = line.replace(/(['"`]).*?\1|\/\/.*|^\s*\*.*|\/\*.*/g, '')
      if (FRACTIONS.some((fraction) => fraction.test(code))) found.push(`${path}:${index + 1} ${line.trim()}`)
    }
  }
  expect(found).toEqual([])
})
