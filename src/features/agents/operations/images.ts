import type { Runtime } from '../../../adapters/runtimes/contract/runtime.ts'
import type { Runtimes } from '../../../adapters/runtimes/contract/runtimes.ts'
import { AppError } from '../../../core/errors.ts'
import { toRepository } from '../../../core/text/image-reference.ts'
import { VERSION } from '../../../core/version.ts'
import type { Principal, SignedInUser } from '../../../http/env.ts'
import type { AgentRow } from '../registry/tables.ts'
import { OPERATOR } from './operations.ts'

/**
 * What agents are made from: `image` unless something else is said, and what owners may choose (decisions, 48): the newest and every other version of `repositories`, and with
 * `takesLabelled` also whatever the engine has already and says by its label that it is an agent.
 */
export type ImageRules = { image: string; repositories: ReadonlySet<string>; takesLabelled: boolean }

export type ImageDeps = {
  imageRules: ImageRules
  runtime: Pick<Runtime, 'findImage'>
  findUser: (id: string) => SignedInUser | null
}

const BUILT_IN = ['stead-agent', 'openclaw-agent']

/** `images` is null while the operator has not said anything: then it is what this program makes, and `image` of the platform. */
export function createImageRules({ image, images }: { image: string; images: readonly string[] | null }): ImageRules {
  const allowed = [image, ...(images ?? BUILT_IN)]
  return { image, repositories: new Set(allowed.map(toRepository)), takesLabelled: images === null }
}

/**
 * Says no before anything is asked of the agent, and without a word to any registry.
 * @throws AppError `invalid` for an image that `principal` may not choose, that nobody has or that is no agent.
 */
export async function requireImage(
  deps: Pick<ImageDeps, 'imageRules' | 'runtime'>,
  principal: Principal,
  image: string,
): Promise<void> {
  const mayFetch = isTrusted(principal) || isAllowed(deps.imageRules, image)
  if (!mayFetch && !deps.imageRules.takesLabelled) throw notAllowed(image)
  const found = await deps.runtime.findImage(image)
  if (!mayFetch && !found) throw notAllowed(image)
}

/**
 * May the engine be sent for `image`? Whoever asks for a version of what the operator allows may have it fetched, and an
 * admin anything: a name is an address, and its owner would choose whom the engine calls.
 */
export function mayFetch({ imageRules, findUser }: Omit<ImageDeps, 'runtime'>, requestedBy: string, image: string) {
  return isAllowed(imageRules, image) || requestedBy === OPERATOR || findUser(requestedBy)?.isAdmin === true
}

/** The error of an image that is not here and must not be fetched for who wants it. */
export function notAllowed(image: string): AppError {
  const text = `Image ${image} is not among those that can be chosen here. An administrator may name others.`
  return new AppError('invalid', text, { code: 'IMAGE_NOT_ALLOWED' })
}

function isTrusted(principal: Principal): boolean {
  return principal.kind === 'operator' || principal.user.isAdmin
}

function isAllowed({ repositories }: ImageRules, image: string): boolean {
  return repositories.has(toRepository(image))
}

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
