import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Runtime } from '../adapters/runtimes/contract/runtime.ts'

/** Where the states of agents in containers wait, each in `<agent>.tar.gz`, that a restored backup has brought. */
export function toRestoredStates(dataDir: string): string {
  return join(dataDir, 'restored-states')
}

/**
 * A runtime that gives an agent the state that waits for it when it is deployed next, in the place of all that it has
 * stored. A crash in between leaves the state waiting; the agent works with it alone once it has gone.
 */
export function bringRestoredStates(runtime: Runtime, folder: string): Runtime {
  const toFile = (id: string) => join(folder, `${id}.tar.gz`)
  return {
    ...runtime,
    async deploy(spec) {
      const file = toFile(spec.id)
      if (existsSync(file)) {
        // An engine that does not know the agent makes its container first.
        if (!(await runtime.inspect(spec.id))) await runtime.deploy(spec)
        await runtime.stop(spec.id)
        await runtime.restore(spec.id, file)
        await rm(file, { force: true })
      }
      await runtime.deploy(spec)
    },
    async remove(id) {
      await runtime.remove(id)
      await rm(toFile(id), { force: true })
    },
  }
}
