import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'

/** How a step of the gate ended; `output` is read when it failed. */
export type Outcome = { isOk: boolean; output: string }

/** Generating again must change nothing; whatever `generate` did write is taken back. */
export async function checkMigrations(root: string, generate: () => Promise<Outcome>): Promise<Outcome> {
  const folder = join(root, 'migrations')
  const before = await readFolder(folder)
  const generated = await generate()
  const after = await readFolder(folder)
  const changed = [...new Set([...before.keys(), ...after.keys()])].filter(
    (path) => before.get(path) !== after.get(path),
  )
  for (const path of changed) {
    const text = before.get(path)
    await (text === undefined ? rm(path) : Bun.write(path, text))
  }
  if (!generated.isOk || changed.length === 0) return generated
  return { isOk: false, output: `Run \`bun run migrations\`: it changes ${changed.sort().join(', ')}\n` }
}

/** Every file below `folder`, its text by its path. */
async function readFolder(folder: string): Promise<Map<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  return new Map(await Promise.all(paths.map(async (path) => [path, await Bun.file(path).text()] as const)))
}
