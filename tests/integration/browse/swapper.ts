import { mkdirSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Until it is killed: puts links to `outside` in place of a folder and of a file, and takes them away again. */
const [workspace = '', outside = ''] = process.argv.slice(2)
const at = (name: string) => join(workspace, name)

/** Swaps what lies at `name` for a link, and back. */
function swap(name: string, target: string): void {
  try {
    renameSync(at(name), at(`${name}-aside`))
    symlinkSync(target, at(name))
    unlinkSync(at(name))
    renameSync(at(`${name}-aside`), at(name))
  } catch {
    // The explorer was faster: what it made there goes, and the next round begins anew.
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
