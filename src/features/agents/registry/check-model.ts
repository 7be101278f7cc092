/** For whom a model is chosen: `ownerId` is null for an agent of the operator; `hasOwnKey`: the agent asks a provider with a key of its own. */
export type ModelOwner = { ownerId: string | null; hasOwnKey: boolean }

/**
 * Rejects a model that nobody offers to the owner. A model that only a provider without a list could offer passes.
 * @throws AppError `invalid` UNKNOWN_MODEL naming near matches.
 */
export type CheckModel = (model: string | undefined, owner: ModelOwner) => void
