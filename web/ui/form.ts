import { type SyntheticEvent, useEffect, useRef, useState } from 'react'
import type { ZodError, ZodType } from 'zod'
import { messageFor } from '../api/request.ts'

/** `fields` has a message per field, `form` one for the whole form; `cause` is the thrown error. */
export type FormProblem = { fields: Record<string, string>; form: string | null; cause: unknown }

/** Event dispatched when a form is rejected. */
export const FORM_REFUSED = 'form-refused'

/**
 * Validates a form with `schema` and sends it. `fieldOf` names the field that a server error is about, or null for
 * the whole form. `isDone` holds from a success until the next attempt.
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
    // Focusing scrolls to the field only, so its message could stay below the viewport.
    const reasonId = field.getAttribute('aria-describedby')?.split(' ')[0]
    if (reasonId) document.getElementById(reasonId)?.scrollIntoView({ block: 'nearest' })
  }, [problem])

  const submit = async (form: HTMLFormElement) => {
    if (isPending) return
    setDone(false)
    const values = Object.fromEntries(new FormData(form))
    const parsed = schema.safeParse(values)
    if (!parsed.success) {
      announceRejection(form)
      return setProblem({ fields: firstIssues(parsed.error, values), form: null, cause: parsed.error })
    }
    setPending(true)
    setProblem(null)
    try {
      await send(parsed.data)
      setDone(true)
    } catch (cause) {
      announceRejection(form)
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

function announceRejection(form: HTMLFormElement): void {
  form.dispatchEvent(new Event(FORM_REFUSED, { bubbles: true }))
}

/** Returns the first problem of each field. */
function firstIssues(error: ZodError, values: Record<string, unknown>): Record<string, string> {
  const issues: Record<string, string> = {}
  for (const { path, message } of error.issues) {
    const field = String(path[0])
    issues[field] ??= values[field] === '' ? 'This field is required.' : message
  }
  return issues
}
