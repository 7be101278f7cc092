import { mkdirSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Swaps a folder and a file for links to `outside` and back, until it is killed. */
const [workspace = '', outside = ''] = process.argv.slice(2)
const at = (name: string) => join(workspace, name)

/** Replaces the entry `name` with a link, and restores it. */
function swap(name: string, target: string): void {
  try {
    renameSync(at(name), at(`${name}-aside`))
    symlinkSync(target, at(name))
    unlinkSync(at(name))
    renameSync(at(`${name}-aside`), at(name))
  } catch {
    // The file explorer created an entry in between; delete it before the next round.
    rmSync(at(name), { recursive: true, force: true })
    try {
      renameSync(at(`${name}-aside`), at(name))
    } catch {
      if (name === 'file') writeFileSync(at(name), 'inside')
      else mkdirSync(at(name), { recursive: true })
    }
  }
}

console.log('ready')
for (let round = 0; ; round++) {
  swap('folder', outside)
  swap('file', join(outside, 'canary'))
  swap('folder/inner', outside)
  if (round % 64 === 0) await Bun.sleep(0)
}
