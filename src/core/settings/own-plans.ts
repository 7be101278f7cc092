import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { errorMessage, StartupError } from '../errors.ts'
import { PlanDefinition } from './plan-definition.ts'

const PlanList = z
  .array(PlanDefinition.strict(), 'must be a JSON list of plans')
  .max(100, 'must have at most 100 plans')

/**
 * Reads the operator's plans from a JSON file.
 * @throws StartupError that names the first invalid field, such as `PLANS_FILE: plans.json: [0].agents must be …`.
 */
export function readPlansFile(file: string): PlanDefinition[] {
  const parsed = PlanList.safeParse(readJson(file))
  if (!parsed.success) throw new StartupError(`PLANS_FILE: ${file}: ${describeIssue(parsed.error.issues[0])}`)
  const names = parsed.data.map(({ name }) => name)
  const repeated = names.find((name, index) => names.indexOf(name) !== index)
  if (repeated !== undefined) throw new StartupError(`PLANS_FILE: ${file}: the plan "${repeated}" is defined twice`)
  return parsed.data
}

function readJson(file: string): unknown {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw new StartupError(`PLANS_FILE: cannot be read (${errorMessage(error)})`)
  }
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new StartupError(`PLANS_FILE: ${file} is not valid JSON (${errorMessage(error)})`)
  }
}

/** Puts the index of the plan before the field's message. */
function describeIssue(issue: z.core.$ZodIssue | undefined): string {
  const [index] = issue?.path ?? []
  const message =
    issue?.code === 'unrecognized_keys' ? `${issue.keys.join(', ')} is not a field of a plan` : issue?.message
  return index === undefined ? (message ?? 'is not valid') : `[${String(index)}].${message}`
}
