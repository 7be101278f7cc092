import { type SyntheticEvent, useEffect, useRef, useState } from 'react'
import type { ZodError, ZodType } from 'zod'
import { messageFor } from '../api/request.ts'

/** What is wrong with a form: sentences by field, or one about the whole; `cause` is what was thrown. */
export type FormProblem = { fields: Record<string, string>; form: string | null; cause: unknown }

/** What a form tells those around it when what was typed was not taken. */
export const FORM_REFUSED = 'form-refused'

/**
 * Checks a form with `schema`, sends it, and says where each problem belongs.
 * `fieldOf` names the field a refusal by the server is about, or null for the whole form. `isDone` holds from a success
 * to the next try.
 */
export function useForm<T>(
  schema: ZodType<T>,
  send: (value: T) => Promise<void>,
  fieldOf: (error: unknown) => string | null,
) {
  const formRef = useRef<HTMLFormElement>(null)
  const [problem, setProblem] = useState<FormProblem | null>(null)
  const [isPending, setPending] = useState(false)
  const [isDone, setDone] = useState(false)

  useEffect(() => {
    const field = problem && formRef.current?.querySelector<HTMLElement>('[aria-invalid="true"]')
    if (!field) return
    field.focus()
    // The focus brings the field alone into view; at the lower edge its reason would stay below it.
    const reasonId = field.getAttribute('aria-describedby')?.split(' ')[0]
    if (reasonId) document.getElementById(reasonId)?.scrollIntoView({ block: 'nearest' })
  }, [problem])

  const submit = async (form: HTMLFormElement) => {
    if (isPending) return
    setDone(false)
    const values = Object.fromEntries(new FormData(form))
    const parsed = schema.safeParse(values)
    if (!parsed.success) {
      tellRefusal(form)
      return setProblem({ fields: firstIssues(parsed.error, values), form: null, cause: parsed.error })
    }
    setPending(true)
    setProblem(null)
    try {
      await send(parsed.data)
      setDone(true)
    } catch (cause) {
      tellRefusal(form)
      const field = fieldOf(cause)
      const message = messageFor(cause)
      setProblem({ fields: field ? { [field]: message } : {}, form: field ? null : message, cause })
    } finally {
      setPending(false)
    }
  }

  const onSubmit = (event: SyntheticEvent<HTMLFormElement>) => {
    event.preventDefault()
    void submit(event.currentTarget)
  }
  return { formRef, problem, isPending, isDone, onSubmit }
}

function tellRefusal(form: HTMLFormElement): void {
  form.dispatchEvent(new Event(FORM_REFUSED, { bubbles: true }))
}

/** The first complaint about each field; about an empty one, all that needs saying is that it is empty. */
function firstIssues(error: ZodError, values: Record<string, unknown>): Record<string, string> {
  const issues: Record<string, string> = {}
  for (const { path, message } of error.issues) {
    const field = String(path[0])
    issues[field] ??= values[field] === '' ? 'This field is required.' : message
  }
  return issues
}
