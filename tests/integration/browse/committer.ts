import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gitCommit } from '../../../src/adapters/git/git.ts'

/** Changes files of a repository and commits them until it is killed. */
const [folder = ''] = process.argv.slice(2)
const root = { base: folder, below: [] }

for (let round = 0; ; round++) {
  for (let file = 0; file < 4; file++) writeFileSync(join(folder, `f${file}`), `${process.pid} ${round} ${file}\n`)
  const author = { name: 'Ada', email: 'ada@example.com', timeSeconds: 1_800_000_000 + round }
  await gitCommit(root, `round ${round}`, author)
  console.log('committed')
}
