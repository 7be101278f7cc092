import { useMutation } from '@tanstack/react-query'
import { useRouter } from '@tanstack/react-router'
import { type ReactNode, type SyntheticEvent, useEffect, useRef, useState } from 'react'
import type { ZodError, ZodType } from 'zod'
import { signOut } from '../account/session.ts'
import { ApiError, hasCode, messageFor } from '../api/request.ts'
import { Button, FormButtons } from './button.tsx'
import { FieldErrors } from './field.tsx'
import { Notice } from './notice.tsx'

/** `fields` has a message per field, `form` one for the whole form; `cause` is the thrown error. */
type FormProblem = { fields: Record<string, string>; form: string | null; cause: unknown }

/** Event dispatched when a form is rejected. */
export const FORM_REFUSED = 'form-refused'

/**
 * Validates a form with `schema` and sends it. `fieldOf` names the field that a server error is about, or null for
 * the whole form. `isDone` holds from a success until the next attempt.
 */
export function useForm<T>(
  schema: ZodType<T>,
  send: (value: T) => Promise<void>,
  fieldOf: (error: unknown) => string | null = () => null,
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

type FormProps = {
  form: Pick<ReturnType<typeof useForm>, 'formRef' | 'problem' | 'isPending' | 'onSubmit'>
  /** Label of the submit button. Without it, the caller renders the buttons. */
  verb?: string
  look?: 'primary'
  /** Adds a Cancel button, and a background, since the form is part of a list or section. */
  onCancel?: () => void
  label?: string
  /** Replaces the form's error. */
  notice?: ReactNode
  className?: string
  children: ReactNode
}

/** Shows the form's error above its fields, the error of a field below it, and the buttons at the end. */
export function Form({ form, verb, look, onCancel, label, notice, className, children }: FormProps) {
  return (
    <form
      ref={form.formRef}
      aria-label={label}
      onSubmit={form.onSubmit}
      noValidate
      className={className ?? `grid grid-cols-1 gap-4 ${onCancel ? 'rounded-lg bg-sunken p-4' : ''}`}
    >
      <FieldErrors value={form.problem?.fields ?? {}}>
        {notice === undefined ? <FormNotice problem={form.problem} /> : notice}
        {children}
      </FieldErrors>
      {verb && onCancel && <FormButtons verb={verb} isPending={form.isPending} onCancel={onCancel} />}
      {verb && !onCancel && (
        <Button type="submit" {...(look && { look })} className="justify-self-start" isPending={form.isPending}>
          {verb}
        </Button>
      )}
    </form>
  )
}

/** Offers a new sign-in when the session has expired or is too old; the form keeps its values. */
export function FormNotice({ problem }: { problem: FormProblem | null }) {
  if (!problem) return null
  if (isSessionTooOld(problem.cause)) return <SignInAgain message={messageOf(problem)} />
  return problem.form && <Notice tone="problem">{problem.form}</Notice>
}

function SignInAgain({ message }: { message: string }) {
  const { href } = useRouter().state.location
  const leaving = useMutation({
    mutationFn: signOut,
    onSettled: () => window.location.assign(`/login?redirect=${encodeURIComponent(href)}`),
  })
  return (
    <Notice tone="warning" role="alert" title="Sign in again">
      <p>{message} You will return to this page.</p>
      <Button className="justify-self-start" isPending={leaving.isPending} onClick={() => leaving.mutate()}>
        Sign in again
      </Button>
    </Notice>
  )
}

function isSessionTooOld(cause: unknown): boolean {
  if (hasCode(cause, 'FRESH_SESSION_REQUIRED')) return true
  return cause instanceof ApiError && cause.status === 401 && /^(unauthorized|not authenticated)/i.test(cause.message)
}

function messageOf({ cause }: FormProblem): string {
  return hasCode(cause, 'FRESH_SESSION_REQUIRED')
    ? 'Confirm your identity to continue: this action requires a recent sign-in.'
    : 'Your session has ended.'
}

/** `password` is the name of the password field in the form. */
export function secretFieldOf(password: string) {
  return (error: unknown): string | null => {
    if (!(error instanceof ApiError) || isSessionTooOld(error)) return null
    if (/password/i.test(error.message)) return password
    return /code/i.test(error.message) ? 'code' : null
  }
}
