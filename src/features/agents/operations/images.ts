import type { Runtime } from '../../../adapters/runtimes/contract/runtime.ts'
import type { Runtimes } from '../../../adapters/runtimes/contract/runtimes.ts'
import { AppError } from '../../../core/errors.ts'
import { toRepository } from '../../../core/text/names.ts'
import { VERSION } from '../../../core/version.ts'
import type { Principal, SignedInUser } from '../../../http/env.ts'
import type { AgentRow } from '../registry/tables.ts'
import { OPERATOR } from './operations.ts'

/**
 * `image` is the default of new agents. Owners may choose any version of `repositories`, and with `takesLabelled` any
 * image that the engine has and that is labelled as an agent.
 */
export type ImageRules = { image: string; repositories: ReadonlySet<string>; takesLabelled: boolean }

export type ImageDeps = {
  imageRules: ImageRules
  runtime: Pick<Runtime, 'findImage'>
  findUser: (id: string) => SignedInUser | null
}

const BUILT_IN = ['stead-agent', 'openclaw-agent']

/** Builds the rules; `images` is null unless the operator configured a list. */
export function createImageRules({ image, images }: { image: string; images: readonly string[] | null }): ImageRules {
  const allowed = [image, ...(images ?? BUILT_IN)]
  return { image, repositories: new Set(allowed.map(toRepository)), takesLabelled: images === null }
}

/**
 * Checks that `principal` may choose an image, before the agent changes and without contacting a registry.
 * @throws AppError `invalid` for an image that is not allowed, not found or no agent.
 */
export async function requireImage(
  deps: Pick<ImageDeps, 'imageRules' | 'runtime'>,
  principal: Principal,
  image: string,
): Promise<void> {
  const mayFetch = isTrusted(principal) || isAllowedImage(deps.imageRules, image)
  if (!mayFetch && !deps.imageRules.takesLabelled) throw notAllowed(image)
  const found = await deps.runtime.findImage(image)
  if (!mayFetch && !found) throw notAllowed(image)
}

/**
 * Returns whether the engine may pull `image`. A name is a network address, so users may only pull versions of allowed
 * repositories; administrators and the operator may pull anything.
 */
export function mayFetch({ imageRules, findUser }: Omit<ImageDeps, 'runtime'>, requestedBy: string, image: string) {
  return isAllowedImage(imageRules, image) || requestedBy === OPERATOR || findUser(requestedBy)?.isAdmin === true
}

/** Creates the error for an image that is missing and must not be pulled. */
export function notAllowed(image: string): AppError {
  const text = `Image ${image} is not among those that can be chosen here. An administrator may name others.`
  return new AppError('invalid', text, { code: 'IMAGE_NOT_ALLOWED' })
}

function isTrusted(principal: Principal): boolean {
  return principal.kind === 'operator' || principal.user.isAdmin
}

/** Returns whether every owner may choose an image. */
export function isAllowedImage({ repositories }: ImageRules, image: string): boolean {
  return repositories.has(toRepository(image))
}

/** Returns the version of an agent, or the one it would be deployed with; null when unknown. */
export async function findAgentVersion(
  { runtimes, imageRules }: { runtimes: Pick<Runtimes, 'choose' | 'runtimeOf'>; imageRules: Pick<ImageRules, 'image'> },
  agent: AgentRow,
): Promise<string | null> {
  if (agent.runtimeVersion !== null || agent.startedAt !== null) return agent.runtimeVersion
  const runtime = agent.runtime ?? (await runtimes.choose())
  if (runtime === 'process') return VERSION
  const image = agent.image ?? imageRules.image
  // The image of this version may not have been built yet.
  return (await findImageVersion(runtimes, runtime, image)) ?? (image === `stead-agent:${VERSION}` ? VERSION : null)
}

async function findImageVersion(
  runtimes: Pick<Runtimes, 'choose' | 'runtimeOf'>,
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
