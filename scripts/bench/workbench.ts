import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Removes the leftovers of a case: */
export type Workbench = {
  /** The command line of Stead without arguments: the executable, or Bun and `src/main.ts`. */
  program: readonly [string, ...string[]]
  makeFolder(name: string): Promise<string>
  /** `undo` runs when the case is over, however it ends; the last one first. */
  onEnd(undo: () => Promise<void>): void
}

/** Runs `work` at a workbench of its own and clears it away afterwards. */
export async function atWorkbench<T>(
  program: Workbench['program'],
  work: (bench: Workbench) => Promise<T>,
): Promise<T> {
  const undos: (() => Promise<void>)[] = []
  const bench: Workbench = {
    program,
    async makeFolder(name) {
      const folder = await mkdtemp(join(tmpdir(), `stead-bench-${name}-`))
      undos.push(() => rm(folder, { recursive: true, force: true }))
      return folder
    },
    onEnd: (undo) => void undos.push(undo),
  }
  try {
    return await work(bench)
  } finally {
    for (const undo of undos.reverse()) await undo()
  }
}
