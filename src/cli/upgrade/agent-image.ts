import type { Config } from '../../core/config.ts'
import { VERSION } from '../../core/version.ts'

const LIMIT_MS = 300_000
const REMEDY = 'New agents cannot be created until `stead agent-image` has made it.'

/**
 * Builds the agent image for the version of `executable` with the packs of the present image, unless agents run as
 * processes or `AGENT_IMAGE` names a custom image.
 * @returns a line with the outcome; null when there was nothing to do.
 */
export async function makeNextImage(
  { agents, databaseFile, dataDir }: Config,
  { executable, version }: { executable: string; version: string },
): Promise<string | null> {
  if (agents.runtime === 'process' || agents.image !== `stead-agent:${VERSION}`) return null
  const { ranContainers } = await import('../checks.ts')
  const { createEngine } = await import('../../adapters/runtimes/engine/engine.ts')
  const { findPacks, listPacks } = await import('../../adapters/runtimes/engine/build-image.ts')
  const engine = createEngine(agents.dockerHost)
  const isUsed = agents.runtime !== 'auto' || ranContainers(databaseFile)
  const image = `stead-agent:${version}`
  if (!(await engine.isAnswering()))
    return isUsed ? `The agent image ${image} is not made: no container engine answers. ${REMEDY}` : null
  const packs = await findPacks(engine, agents.image)
  if (packs === null && !isUsed) return null
  const flags = packs === null ? [] : listPacks(packs).map((name) => `--${name}`)
  const problem = await run([executable, 'agent-image', '--tag', image, ...flags], dataDir)
  if (problem !== null) return `The agent image ${image} is not made: ${problem}. ${REMEDY}`
  return `Agent image ${image}. Agents in containers keep theirs until \`stead agents update --all\`.`
}

/** Runs a command. @returns its last error line when it fails, otherwise null. */
async function run(command: string[], dataDir: string): Promise<string | null> {
  const child = Bun.spawn(command, {
    env: { ...process.env, DATA_DIR: dataDir },
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: LIMIT_MS,
    killSignal: 'SIGKILL',
  })
  const errors = (await new Response(child.stderr).text()).trim()
  if ((await child.exited) === 0) return null
  return errors.split('\n').at(-1) || `it ended with ${child.exitCode ?? child.signalCode}`
}
