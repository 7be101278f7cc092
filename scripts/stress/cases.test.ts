import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { CASES } from './cases.ts'

const paths = [...new Bun.Glob('{src,tests}/**/*.test.ts').scanSync(join(import.meta.dir, '../..'))]

test.each(Object.entries(CASES))(
  'stress case %s names only file patterns that match a test file',
  (_name, { files }) => {
    expect(files.filter((pattern) => !paths.some((path) => path.includes(pattern)))).toEqual([])
  },
)
