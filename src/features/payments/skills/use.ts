import { z } from 'zod'
import { getOffered } from './marketplace.ts'
import { askModel, parseCall, type RunnerDeps, type SkillCall } from './runners/calls.ts'
import { hasActions, runActions } from './runners/runners.ts'
import { BUILT_IN } from './skill-text.ts'

const Input = z.object({
  input: z
    .string('input is required')
    .trim()
    .min(1, 'input is required')
    .max(50_000, 'input must be at most 50000 characters'),
})

/**
 * Runs a skill: its action, or a model with its instructions and the call's `input`.
 * @throws AppError `not_found` for an unknown skill, `invalid` for an unknown action, and as the action and `askModel`.
 */
export async function callSkill(deps: RunnerDeps, name: string, call: SkillCall): Promise<object> {
  if (BUILT_IN.has(name) && hasActions(name)) return runActions(deps, name, call)
  const { text } = getOffered(deps.db, call.user.id, name)
  const { input } = parseCall(Input, call.body)
  const question = { instructions: text.instructions, input, skill: name }
  const { model, content } = await askModel(deps, call.user, question, call.signal)
  return { success: true, skill: name, model, output: content }
}
