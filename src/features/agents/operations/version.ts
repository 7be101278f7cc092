import type { Runtimes } from '../../../adapters/runtimes/contract/runtimes.ts'
import { AppError } from '../../../core/errors.ts'
import { VERSION } from '../../../core/version.ts'
import type { AgentRow } from '../registry/tables.ts'
import type { ImageRules } from './images.ts'

export type VersionDeps = { runtimes: Pick<Runtimes, 'choose' | 'runtimeOf'>; imageRules: Pick<ImageRules, 'image'> }

/** Returns the version of an agent, or the one it would be deployed with when it never was; null when nothing says which. */
export async function findAgentVersion({ runtimes, imageRules }: VersionDeps, agent: AgentRow): Promise<string | null> {
  if (agent.runtimeVersion !== null || agent.startedAt !== null) return agent.runtimeVersion
  const runtime = agent.runtime ?? (await runtimes.choose())
  if (runtime === 'process') return VERSION
  const image = agent.image ?? imageRules.image
  // The image of our own version may have to be made yet.
  return (await findImageVersion(runtimes, runtime, image)) ?? (image === `stead-agent:${VERSION}` ? VERSION : null)
}

async function findImageVersion(
  runtimes: VersionDeps['runtimes'],
  runtime: NonNullable<AgentRow['runtime']>,
  image: string,
): Promise<string | null> {
  try {
    return (await runtimes.runtimeOf({ runtime }).findImage(image))?.version ?? null
  } catch (error) {
    if (error instanceof AppError) return null
    throw error
  }
}
