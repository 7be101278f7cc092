/** `json` holds any type without a dedicated field. */
export type ToolArgument = {
  name: string
  kind: 'text' | 'number' | 'boolean' | 'choice' | 'json'
  isRequired: boolean
  description: string
  choices: readonly string[]
}

/** Reads the parameters from the tool's JSON schema. */
export function listArguments(schema: Record<string, unknown>): ToolArgument[] {
  const required = Array.isArray(schema.required) ? schema.required : []
  return Object.entries(toRecord(schema.properties)).map(([name, property]) => {
    const { type, description, enum: values } = toRecord(property)
    const choices = Array.isArray(values) ? values.filter((value) => typeof value === 'string') : []
    return {
      name,
      kind: choices.length > 0 ? 'choice' : kindOf(type),
      isRequired: required.includes(name),
      description: typeof description === 'string' ? description : '',
      choices,
    }
  })
}

/** Returns the arguments as the tool expects them, or the problem of each field. Empty fields are omitted. */
export function readArguments(
  wanted: readonly ToolArgument[],
  values: Readonly<Record<string, string>>,
): { input: Record<string, unknown>; problems: Record<string, string> } {
  const input: Record<string, unknown> = {}
  const problems: Record<string, string> = {}
  for (const argument of wanted) {
    const text = values[argument.name] ?? ''
    if (text.trim() === '') {
      if (argument.isRequired) problems[argument.name] = 'This field is required.'
      continue
    }
    try {
      input[argument.name] = readValue(argument, text)
    } catch (error) {
      problems[argument.name] = error instanceof RangeError ? error.message : 'Invalid JSON.'
    }
  }
  return { input, problems }
}

function readValue({ kind }: ToolArgument, text: string): unknown {
  if (kind === 'boolean') return text === 'true'
  if (kind === 'json') return JSON.parse(text)
  if (kind !== 'number') return text
  const number = Number(text)
  if (!Number.isFinite(number)) throw new RangeError('Enter a number.')
  return number
}

function kindOf(type: unknown): ToolArgument['kind'] {
  if (type === 'string') return 'text'
  if (type === 'number' || type === 'integer') return 'number'
  return type === 'boolean' ? 'boolean' : 'json'
}

function toRecord(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {}
}
