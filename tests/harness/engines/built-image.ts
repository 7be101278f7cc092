import { join } from 'node:path'

const BUILD_MS = 300_000

/**
 * Builds the image of the built-in agent as `bun run agent:image` does, with the executable under test if there is one,
 * and `flags`.
 * @returns its name.
 */
export async function buildAgentImage(dockerHost: string, ...flags: ('--shell' | '--python')[]): Promise<string> {
  const reference = `stead-agent:under-test${flags.join('')}`
  const root = join(import.meta.dir, '..', '..', '..')
  const built = process.env.STEAD_UNDER_TEST
  const args = ['--tag', reference, ...flags, ...(built ? ['--executable', built] : [])]
  const child = Bun.spawn([process.execPath, join(root, 'scripts/agent-image.ts'), ...args], {
    cwd: root,
    env: { ...process.env, DOCKER_HOST: dockerHost },
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: BUILD_MS,
  })
  const errors = await new Response(child.stderr).text()
  if ((await child.exited) !== 0) throw new Error(`The image cannot be built: ${errors}`)
  return reference
}
