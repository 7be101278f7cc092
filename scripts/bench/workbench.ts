import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Steps that clean up after a case: */
export type Workbench = {
  /** The command line of Stead without arguments: the executable, or Bun and `src/main.ts`. */
  program: readonly [string, ...string[]]
  makeFolder(name: string): Promise<string>
  /** `undo` runs when the case ends, also after an error; the last one runs first. */
  onEnd(undo: () => Promise<void>): void
}

/** Runs `work` with a new workbench and cleans up afterwards. */
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
