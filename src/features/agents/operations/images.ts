import type { Runtime } from '../../../adapters/runtimes/contract/runtime.ts'
import { AppError } from '../../../core/errors.ts'
import { toRepository } from '../../../core/text/image-reference.ts'
import type { Principal, SignedInUser } from '../../../http/env.ts'
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
